//! Operators' requests to drafts: one file a resource.

mod backend;
mod budget;
mod grant;
mod model;

pub use backend::backend;
pub use budget::budget;
pub use grant::grant;
pub use model::{fx_rate, model, new_tariff};
