//! Operators' requests to drafts: one file a resource.

mod backend;
mod budget;
mod budget_change;
mod grant;
mod model;
mod raise;

pub use backend::backend;
pub use budget::budget;
pub use budget_change::budget_change;
pub use grant::grant;
pub use model::{fx_rate, model, new_tariff};
pub use raise::budget_raise;
