//! When an envelope has run out and its grant lets a person give it more: the question to
//! them, and what comes of their answer.
//!
//! Nothing is held while a person thinks, and nothing of it is kept here: what was asked
//! is in the token, sealed, and an answer that was used is a row.

mod form;
mod give;
mod question;
mod token;

use sha2::{Digest, Sha256};

pub(super) use self::{
    give::{give, open},
    question::{ask, is_first, may_ask, offer},
};
pub use self::{question::Question, token::Body};

impl Body {
    /// `asks`: what is asked, in bytes that are the same whenever it is the same.
    pub fn of(asks: &[u8]) -> Self {
        Self(Sha256::digest(asks).into())
    }
}
