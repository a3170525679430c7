//! More for an envelope that has run out, once for each time that a person said so: its
//! limits rise under the locks under which every batch moves them.

use jiff::{SignedDuration, Timestamp};

use super::reserve::Reserve;
use crate::{
    domain::{
        extension::Extra,
        hold::Parties,
        ids::{CallId, CredentialId, EnvelopeId, ExtensionId, GrantId},
        limit::{Limit, LimitKey, LimitKind, Owner},
        money::Amount,
    },
    store::{
        self, Store, envelopes,
        extensions::{self, Fresh},
        limits,
    },
};

/// How often it is tried when others are in the way.
const TRIES_MAX: usize = 3;

/// A person's answer to the question whether an envelope may have more.
#[derive(Debug, Clone)]
pub struct Gift {
    /// The token: good once.
    pub id: ExtensionId,
    /// The envelope, and whose it is.
    pub parties: Parties,
    /// What the envelopes around keep for last calls of their own.
    pub kept: Vec<Reserve>,
    /// The key that the answer came with.
    pub credential: CredentialId,
    /// The consent that lets the person.
    pub grant: GrantId,
    /// How many answers there may be for the envelope.
    pub times_max: i64,
    /// The call that goes on with it.
    pub call: CallId,
    /// What was asked for.
    pub asked: Extra,
    /// When, by Postgres' clock.
    pub asked_at: Timestamp,
    /// What the person gives, at most what was asked for; none: they say no.
    pub given: Option<Extra>,
}

/// What came of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// So much was added. Less than was given where the envelopes around had less left.
    Added(Extra),
    /// The person said no, which is written down; the envelope's time stood still meanwhile.
    Refused,
    /// The token was used before; nothing was added now.
    Before,
    /// There were as many answers as there may be; nothing was added.
    TooOften,
    /// The envelopes around have nothing left to give.
    Nothing,
    /// The envelope or one around it is closed.
    Closed,
}

/// What of `wanted` the envelopes around can still give beside what they keep and what
/// the envelope itself has left.
pub fn part(
    limits: &[Limit],
    envelope: EnvelopeId,
    kept: &[Reserve],
    (wanted, now): (Extra, Timestamp),
) -> Extra {
    let room = |it: &Limit| it.room().saturating_sub(kept_of(it, kept));
    let spare = |kind: LimitKind| {
        let own = limits.iter().find(|it| it.kind == kind && is_of(it, envelope));
        let own = own.map_or(0, Limit::room);
        let around = limits.iter().filter(|it| it.kind == kind && is_around(it, envelope));
        around.map(|it| room(it).saturating_sub(own).max(0)).min().unwrap_or(i64::MAX)
    };
    let starts_at = end(limits, envelope).max(now);
    let seconds = end_around(limits, envelope).map(|it| it.duration_since(starts_at).as_secs());
    wanted.at_most(&Extra {
        calls: spare(LimitKind::Calls),
        seconds: seconds.unwrap_or(i64::MAX).max(0),
        money: Amount::from_nanos(spare(LimitKind::Money)),
    })
}

/// Raises the envelope's own limits by what is given. Its time stood still since
/// `waited_since`, so that it has left what it had then, and the seconds besides; but it
/// ends no later than those around it, and one that had ended before stays so unless
/// seconds are given. Returns the whole seconds by which its end moves, and how many of
/// them are for the wait.
pub fn raise(
    limits: &mut [Limit],
    envelope: EnvelopeId,
    given: &Extra,
    (waited_since, now): (Timestamp, Timestamp),
) -> (i64, i64) {
    let old_end = end(limits, envelope);
    let had_ended = old_end <= waited_since;
    let waited = now.duration_since(waited_since.min(old_end)).max(SignedDuration::ZERO);
    let up = i64::from(waited.subsec_nanos() > 0);
    let waited = waited.as_secs().saturating_add(up);
    let waited = if had_ended && given.seconds == 0 { 0 } else { waited };
    let most = end_around(limits, envelope).map(|it| it.duration_since(old_end).as_secs().max(0));
    let most = most.unwrap_or(i64::MAX);
    let moved = waited.saturating_add(given.seconds).min(most);
    let new_end = old_end.checked_add(SignedDuration::from_secs(moved)).unwrap_or(old_end);
    for it in limits.iter_mut().filter(|it| is_of(it, envelope)) {
        it.closes_at = Some(new_end);
        it.amount = it.amount.saturating_add(match it.kind {
            LimitKind::Calls => given.calls,
            LimitKind::Money => given.money.nanos(),
            LimitKind::Tokens | LimitKind::ConcurrentCalls => 0,
        });
    }
    (moved, waited.min(moved))
}

/// Writes an answer down and lets the envelope have what is given, once for each token,
/// whichever replica is asked and however often.
pub async fn give(store: &Store, gift: &Gift) -> Result<Given, store::Error> {
    let mut tries = 1;
    loop {
        match try_to_give(store, gift).await {
            Err(it) if it.is_retryable() && tries < TRIES_MAX => tries += 1,
            given => return given,
        }
    }
}

async fn try_to_give(store: &Store, gift: &Gift) -> Result<Given, store::Error> {
    let Parties { tenant, envelope: id, .. } = gift.parties;
    let mut tx = store.call_tx(tenant).await?;
    // The envelope first and then limits, as whoever closes one does.
    let envelope = envelopes::lock(&mut tx, tenant, id).await?;
    let envelope = envelope.ok_or(store::Error::Unreadable("extensions.envelope_id"))?;
    let mut owners = vec![id];
    owners.extend(&envelope.ancestors);
    let mut keys: Vec<LimitKey> = limits::of_envelopes(&mut tx, tenant, &owners)
        .await?
        .into_iter()
        .map(|it| it.key)
        .collect();
    keys.sort_unstable();
    let mut locked = limits::lock(&mut tx, &keys).await?;
    let now = store::now(&mut tx).await?;
    if locked.iter().any(|it| it.closed_at.is_some()) {
        return refuse(tx, Given::Closed).await;
    }
    let wanted = gift.given.unwrap_or_default();
    let mut given = part(&locked, id, &gift.kept, (wanted, now));
    // What two questions waited for at the same time stood still once.
    let waited_since = envelope.extended_at.map_or(gift.asked_at, |it| it.max(gift.asked_at));
    let (moved, waited_seconds) = raise(&mut locked, id, &given, (waited_since, now));
    given.seconds = moved.saturating_sub(waited_seconds);
    let fresh = Fresh {
        id: gift.id,
        parties: &gift.parties,
        credential: gift.credential,
        grant: gift.grant,
        call: gift.call,
        asked: gift.asked,
        asked_at: gift.asked_at,
        given: gift.given.map(|_| given),
        waited_seconds,
    };
    if !extensions::add(&mut tx, &fresh).await? {
        return refuse(tx, Given::Before).await;
    }
    if envelope.extended >= gift.times_max {
        return refuse(tx, Given::TooOften).await;
    }
    if gift.given.is_some() && given.is_nothing() {
        return refuse(tx, Given::Nothing).await;
    }
    envelopes::extend(&mut tx, (tenant, id), &given, moved).await?;
    locked.retain(|it| is_of(it, id));
    limits::raise(&mut tx, &locked).await?;
    store::commit(tx).await?;
    Ok(gift.given.map_or(Given::Refused, |_| Given::Added(given)))
}

async fn refuse(tx: store::Tx, why: Given) -> Result<Given, store::Error> {
    // At once: a dropped transaction would hold its locks until the connection is used.
    store::forget(tx).await?;
    Ok(why)
}

fn is_of(limit: &Limit, envelope: EnvelopeId) -> bool {
    limit.owner == Owner::Envelope(envelope)
}

fn is_around(limit: &Limit, envelope: EnvelopeId) -> bool {
    matches!(limit.owner, Owner::Envelope(it) if it != envelope)
}

/// What is kept of a limit for a last call.
fn kept_of(limit: &Limit, kept: &[Reserve]) -> i64 {
    let kept = kept.iter().filter(|it| it.is_of(limit));
    match limit.kind {
        LimitKind::Calls => i64::from(kept.count() > 0),
        LimitKind::Money => kept.map(|it| it.money.nanos()).fold(0, i64::saturating_add),
        LimitKind::Tokens | LimitKind::ConcurrentCalls => 0,
    }
}

/// When the envelope ends.
fn end(limits: &[Limit], envelope: EnvelopeId) -> Timestamp {
    let own = limits.iter().filter(|it| is_of(it, envelope));
    own.filter_map(|it| it.closes_at).min().unwrap_or(Timestamp::MAX)
}

/// When the first of those around it ends.
fn end_around(limits: &[Limit], envelope: EnvelopeId) -> Option<Timestamp> {
    limits.iter().filter(|it| is_around(it, envelope)).filter_map(|it| it.closes_at).min()
}
