//! Bodies of requests, within bounds: each of them, and all together, so that large
//! prompts cannot fill the memory of a replica.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{HeaderMap, header::CONTENT_LENGTH},
};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::entry::Turned;
use crate::proto::mcp_json::INPUT_BYTES_MAX;

/// Bytes are counted in steps of this size.
const STEP: usize = 1_024;

/// How long a body may be silent.
const STALL: Duration = Duration::from_secs(30);

/// The bound of all together. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Bodies(Arc<Semaphore>);

/// The share of it that a request has, for as long as it is kept.
#[derive(Debug)]
pub(super) struct Share(
    #[expect(dead_code, reason = "given back when dropped")] OwnedSemaphorePermit,
);

impl Bodies {
    /// So many mebibytes at most.
    pub(super) fn mebibytes(most: u32) -> Self {
        let steps = usize::try_from(most).unwrap_or(1).saturating_mul(1_024 * 1_024 / STEP);
        Self(Arc::new(Semaphore::new(steps.clamp(1, Semaphore::MAX_PERMITS))))
    }

    /// Reads a body to its end.
    pub(super) async fn read(
        &self,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<(Bytes, Share), Turned> {
        let said = headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
        if said.is_some_and(|it: usize| it > INPUT_BYTES_MAX) {
            return Err(Turned::TooLong(INPUT_BYTES_MAX));
        }
        let mut share = self.take(0)?;
        let mut whole = BytesMut::new();
        let mut parts = body.into_data_stream();
        loop {
            let next = tokio::time::timeout(STALL, parts.next()).await;
            let part = match next.map_err(|_| Turned::CutOff)? {
                None => return Ok((whole.freeze(), Share(share))),
                Some(part) => part.map_err(|_| Turned::CutOff)?,
            };
            if whole.len().saturating_add(part.len()) > INPUT_BYTES_MAX {
                return Err(Turned::TooLong(INPUT_BYTES_MAX));
            }
            share.merge(self.take(part.len())?);
            whole.extend_from_slice(&part);
        }
    }

    fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Turned> {
        let steps = u32::try_from(bytes.div_ceil(STEP)).unwrap_or(u32::MAX);
        let taken = Arc::clone(&self.0).try_acquire_many_owned(steps);
        taken.map_err(|_| Turned::Shed(Duration::from_secs(1)))
    }
}
