//! Pure types and decisions: no async, no wire formats, no SQL. Knows nobody.

pub mod answer;
pub mod balance;
pub mod budget;
pub mod charge;
pub mod credential;
pub mod draft;
pub mod entry;
pub mod envelope;
pub mod estimate;
pub mod fault;
pub mod fx;
pub mod grant;
pub mod hold;
pub mod ids;
pub mod limit;
pub mod message;
pub mod model;
pub mod money;
pub mod outcome;
pub mod period;
pub mod preferences;
pub mod price;
pub mod request;
pub mod stop;
pub mod tenant;
pub mod usage;
