//! The envelope of a call that names none: got or created, atomically.

use jiff::SignedDuration;
use sha2::{Digest, Sha256};

use super::create;
use crate::{
    clock::Clock,
    domain::{grant::Grant, hold::Parties, request::Scope},
    store::{
        self,
        envelopes::{self, Envelope, Scoped},
    },
};

/// How long a conversation's or a default envelope outlives its last use.
const IDLE: SignedDuration = SignedDuration::from_mins(10);

/// The envelope that `scope` stands for, opened by the grant's default if there is
/// none in use. `None` when somebody else opened it at the same time: look again.
pub(super) async fn get_or_open(
    tx: &mut store::Tx,
    clock: &Clock,
    (parties, grant): (&Parties, &Grant),
    scope: &Scope,
) -> Result<Option<Envelope>, store::Error> {
    let digest = digest(scope);
    let found = envelopes::of_scope(tx, parties, &digest).await?;
    let instead_of = match found {
        Some(it) if in_use(&it, scope) => return Ok(Some(it.envelope)),
        Some(it) => Some(it.envelope.life.id),
        None => None,
    };
    let parties = Parties { envelope: clock.id(), ..*parties };
    let outermost = (&parties, [].as_slice());
    let (envelope, _) = create(tx, clock, outermost, (grant.id, &grant.default_envelope)).await?;
    let first = envelopes::point_scope(tx, &parties, &digest, instead_of).await?;
    Ok(first.then_some(envelope))
}

/// An originating call keeps its envelope for good, used up or not. The other two
/// keep theirs until nobody has used it for a while, or the host has closed it;
/// used up is not unused, else N would never bind.
fn in_use(it: &Scoped, scope: &Scope) -> bool {
    match scope {
        Scope::Call { .. } => true,
        Scope::Conversation(_) | Scope::Default => {
            let idle = it.now.duration_since(it.used_at) >= IDLE;
            it.envelope.life.closed_at.is_none() && (it.busy || !idle)
        }
    }
}

/// Names a scope without saying it.
fn digest(scope: &Scope) -> [u8; 32] {
    let (kind, first, second) = match scope {
        Scope::Call { conversation, call } => (b'c', conversation.as_str(), call.as_str()),
        Scope::Conversation(it) => (b'v', it.as_str(), ""),
        Scope::Default => (b'd', "", ""),
    };
    let mut hash = Sha256::new();
    hash.update([kind]);
    for part in [first, second] {
        hash.update(part.len().to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}
