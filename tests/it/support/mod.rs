//! What several areas lean on.

pub(crate) mod vendor;
