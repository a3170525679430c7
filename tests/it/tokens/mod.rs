//! What a prompt may count in tokens, before anybody has counted it.

mod compare;
mod media;
mod text;
