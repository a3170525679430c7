//! Requests that bear an id, as the wire has them.

use std::mem;

use prost::Message;

use crate::{
    call::replay::Keep,
    proto::{self, CreateMessageRequest, CreateMessageResponse, OpenEnvelopeRequest},
};

/// A request that may bear an id.
pub(super) trait Identified: Message {
    /// Keeps requests of different methods apart.
    const METHOD: u8;
    /// Where the id is.
    fn id(&mut self) -> &mut String;
}

impl Identified for CreateMessageRequest {
    /// Streamed or not: the same request.
    const METHOD: u8 = 1;

    fn id(&mut self) -> &mut String {
        &mut self.request_id
    }
}

impl Identified for OpenEnvelopeRequest {
    const METHOD: u8 = 2;

    fn id(&mut self) -> &mut String {
        &mut self.request_id
    }
}

/// The id of a request that has one, and what it asks: its canonical bytes without it.
pub(super) fn identified<T: Identified>(request: &mut T) -> Option<(String, Vec<u8>)> {
    if request.id().is_empty() {
        return None;
    }
    let id = mem::take(request.id());
    let mut asks = vec![T::METHOD];
    // A vector grows as it has to, so this does not fail.
    request.encode(&mut asks).ok()?;
    request.id().clone_from(&id);
    Some((id, asks))
}

impl Keep for CreateMessageResponse {
    fn to_bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Self::decode(bytes).ok()
    }
}

impl Keep for proto::Envelope {
    fn to_bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Self::decode(bytes).ok()
    }
}
