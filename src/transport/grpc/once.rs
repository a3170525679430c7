//! Requests that bear an id, as the wire has them.

use std::mem;

use prost::Message;

use crate::{
    call::{Body, replay::Keep},
    proto::{self, CreateMessageRequest, CreateMessageResponse, OpenEnvelopeRequest},
};

/// A request that may bear an id.
pub(super) trait Identified: Message {
    /// Keeps requests of different methods apart.
    const METHOD: u8;
    /// What may differ when the same is asked again.
    type Apart;
    /// The id; empty: none.
    fn id(&self) -> &str;
    /// Leaves empty what may differ, and returns it.
    fn take(&mut self) -> Self::Apart;
    /// Puts it back.
    fn put(&mut self, apart: Self::Apart);
}

impl Identified for CreateMessageRequest {
    /// Streamed or not: the same request.
    const METHOD: u8 = 1;
    /// With an answer to a question or without: the same request.
    type Apart = (String, String, Option<proto::InputAnswer>);

    fn id(&self) -> &str {
        &self.request_id
    }

    fn take(&mut self) -> Self::Apart {
        let token = mem::take(&mut self.resume_token);
        (mem::take(&mut self.request_id), token, self.input_answer.take())
    }

    fn put(&mut self, apart: Self::Apart) {
        (self.request_id, self.resume_token, self.input_answer) = apart;
    }
}

impl Identified for OpenEnvelopeRequest {
    const METHOD: u8 = 2;
    type Apart = String;

    fn id(&self) -> &str {
        &self.request_id
    }

    fn take(&mut self) -> String {
        mem::take(&mut self.request_id)
    }

    fn put(&mut self, apart: String) {
        self.request_id = apart;
    }
}

/// What a request asks, in bytes that are the same whenever it is the same.
pub(super) fn asks<T: Identified>(request: &mut T) -> Vec<u8> {
    let apart = request.take();
    let mut asks = vec![T::METHOD];
    asks.append(&mut request.encode_to_vec());
    request.put(apart);
    asks
}

/// The id of a request that has one, and what it asks.
pub(super) fn identified<T: Identified>(request: &mut T) -> Option<(String, Vec<u8>)> {
    let id = Some(request.id().to_owned()).filter(|it| !it.is_empty())?;
    Some((id, asks(request)))
}

/// What makes a request the same when it comes again with its user's answer; none where
/// no answer comes or could come.
pub(super) fn body(
    request: &mut CreateMessageRequest,
    identified: Option<&(String, Vec<u8>)>,
) -> Option<Body> {
    if !request.accepts_input_required && request.resume_token.is_empty() {
        return None;
    }
    Some(identified.map_or_else(|| Body::of(&asks(request)), |(_, asks)| Body::of(asks)))
}

impl Keep for CreateMessageResponse {
    fn to_bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Self::decode(bytes).ok()
    }

    fn is_final(&self) -> bool {
        self.outcome() != proto::Outcome::InputRequired
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
