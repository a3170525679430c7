//! Envelopes, limits and usage, both ways.

use jiff::Timestamp;

use super::{
    field::{At, within},
    money, name,
};
use crate::{
    domain::{
        draft::PartialAllowance,
        envelope::{Allowance, CALLS_MAX, Landing, Left, Lifetime, SECONDS_MAX, TOKENS_MAX},
        extension::{Extension, Extra},
        fault::Fault,
        ids::{EnvelopeId, TenantId},
        limit::{LimitKind, Owner},
        money::{Amount, Currency},
        outcome::{Bounded, Cut, LimitStatus, Outcome},
        period::to_the_second,
        usage::Usage,
    },
    proto,
};

/// Reads limits of which each may be left out.
pub fn partial_allowance(
    field: &str,
    it: Option<&proto::EnvelopeLimits>,
    currency: Currency,
) -> Result<PartialAllowance, Fault> {
    it.map_or(Ok(PartialAllowance::default()), |it| limits(it, currency)).at(field)
}

/// Reads limits of which calls, seconds and money are required.
pub fn allowance(
    field: &str,
    it: Option<&proto::EnvelopeLimits>,
    currency: Currency,
) -> Result<Allowance, Fault> {
    let it = it.ok_or_else(|| Fault::invalid(field, "is required"))?;
    let limits = limits(it, currency).at(field)?;
    let missing = |part: &str| Fault::invalid(format!("{field}.{part}"), "is required");
    Ok(Allowance {
        calls: limits.calls.ok_or_else(|| missing("calls"))?,
        seconds: limits.seconds.ok_or_else(|| missing("seconds"))?,
        money: limits.money.ok_or_else(|| missing("money"))?,
        tokens: limits.tokens,
        concurrent_calls: limits.concurrent_calls,
        landing: limits.landing,
    })
}

fn limits(it: &proto::EnvelopeLimits, currency: Currency) -> Result<PartialAllowance, Fault> {
    let number = |field: &'static str, value: Option<i64>, max| {
        value.map(|it| within(field, it, 1..=max)).transpose()
    };
    let money = it.money.as_ref().map(|it| money::positive("money", it, currency)).transpose()?;
    let landing = it.landing.as_ref().map(|it| landing(it, money, currency)).transpose();
    Ok(PartialAllowance {
        calls: number("calls", it.calls, CALLS_MAX)?,
        seconds: number("seconds", it.seconds, SECONDS_MAX)?,
        money,
        tokens: number("tokens", it.tokens, TOKENS_MAX)?,
        concurrent_calls: number("concurrent_calls", it.concurrent_calls, CALLS_MAX)?,
        landing: landing.at("landing")?,
    })
}

fn landing(
    it: &proto::Landing,
    money: Option<Amount>,
    currency: Currency,
) -> Result<Landing, Fault> {
    let reserve = it.reserve.as_ref().map(|it| money::amount("reserve", it, currency));
    let reserve = reserve.transpose()?.unwrap_or_default();
    if money.is_some_and(|it| reserve > it) {
        return Err(Fault::invalid("reserve", "must be at most the envelope's money"));
    }
    Ok(Landing { reserve, tokens: within("tokens", it.tokens, 0..=TOKENS_MAX)? })
}

/// All that an envelope's picture on the wire is made of.
#[derive(Debug)]
pub struct View<'a> {
    /// Whose.
    pub tenant: TenantId,
    /// The tenant's.
    pub currency: Currency,
    /// The person, as hosts know them.
    pub user: &'a str,
    /// The server, as hosts know it.
    pub server: &'a str,
    /// The envelope that it stands in.
    pub parent: Option<EnvelopeId>,
    /// Its time.
    pub lifetime: Lifetime,
    /// What it was opened with.
    pub allowance: Allowance,
    /// What is left of it.
    pub left: Left,
    /// Its limits as they stand.
    pub status: &'a [LimitStatus],
    /// The database's time.
    pub now: Timestamp,
}

/// An envelope for the wire.
pub fn to_wire(view: &View<'_>) -> proto::Envelope {
    let View { tenant, currency, user, server, parent, .. } = view;
    let View { lifetime, allowance, left, status, now, .. } = view;
    proto::Envelope {
        name: name::format(*tenant, &lifetime.id),
        user: (*user).to_owned(),
        server: (*server).to_owned(),
        state: state(lifetime, left, *now).into(),
        limits: Some(allowance_to_wire(allowance, *currency)),
        left: Some(left_to_wire(left, *currency)),
        opened_at: to_the_second(lifetime.opened_at),
        closes_at: to_the_second(lifetime.closes_at),
        closed_at: lifetime.closed_at.map_or_else(String::new, to_the_second),
        status: status.iter().map(|it| limit_status(it, *tenant)).collect(),
        parent: parent.map_or_else(String::new, |it| name::format(*tenant, &it)),
        extensions: Vec::new(),
    }
}

/// An extension for the wire. What a person said is always the host's word so far.
pub fn extension(it: &Extension, currency: Currency) -> proto::EnvelopeExtension {
    let Extension { accepted, extra, waited_seconds, given_at, call } = *it;
    let Extra { calls, seconds, money } = extra;
    proto::EnvelopeExtension {
        calls,
        seconds,
        money: Some(money::to_wire(money, currency)),
        waited_seconds,
        given_at: to_the_second(given_at),
        asserted_by: "HOST".to_owned(),
        call: call.to_string(),
        accepted,
    }
}

fn state(lifetime: &Lifetime, left: &Left, now: Timestamp) -> proto::EnvelopeState {
    if lifetime.closed_at.is_some() {
        return proto::EnvelopeState::Closed;
    }
    let used_up = left.calls <= 0 || left.money <= Amount::ZERO || left.tokens == Some(0);
    if used_up || now >= lifetime.closes_at {
        return proto::EnvelopeState::Exhausted;
    }
    proto::EnvelopeState::Open
}

/// An allowance for the wire.
pub fn allowance_to_wire(it: &Allowance, currency: Currency) -> proto::EnvelopeLimits {
    let Allowance { calls, seconds, money, tokens, concurrent_calls, landing } = *it;
    proto::EnvelopeLimits {
        calls: Some(calls),
        seconds: Some(seconds),
        money: Some(money::to_wire(money, currency)),
        tokens,
        concurrent_calls,
        landing: landing.map(|Landing { reserve, tokens }| proto::Landing {
            reserve: Some(money::to_wire(reserve, currency)),
            tokens,
        }),
    }
}

/// What is left, for the wire.
pub fn left_to_wire(it: &Left, currency: Currency) -> proto::EnvelopeLeft {
    let Left { calls, seconds, money, tokens } = *it;
    let money = Some(money::to_wire(money, currency));
    proto::EnvelopeLeft { calls, seconds, money, tokens }
}

/// A limit as it stood, for the wire, under its owner's name.
/// Money stands without its code: it is in the tenant's currency.
pub fn limit_status(it: &LimitStatus, tenant: TenantId) -> proto::LimitStatus {
    let LimitStatus { owner, kind, held, settled, overrun, limit, resets_at } = *it;
    let decimal = |value: i64| match kind {
        Bounded::Counted(LimitKind::Money) => Amount::from_nanos(value).to_string(),
        Bounded::Counted(LimitKind::Calls | LimitKind::Tokens | LimitKind::ConcurrentCalls)
        | Bounded::Seconds => value.to_string(),
    };
    proto::LimitStatus {
        name: match owner {
            Owner::Envelope(id) => name::format(tenant, &id),
            Owner::Budget(id) | Owner::Share(id) => name::format(tenant, &id),
        },
        kind: limit_kind(kind).into(),
        held: decimal(held),
        settled: decimal(settled),
        overrun: decimal(overrun),
        limit: decimal(limit),
        resets_at: resets_at.map_or_else(String::new, to_the_second),
        share: matches!(owner, Owner::Share(_)),
    }
}

/// The kind of a limit, for the wire.
pub const fn limit_kind(it: Bounded) -> proto::LimitKind {
    match it {
        Bounded::Counted(LimitKind::Calls) => proto::LimitKind::Calls,
        Bounded::Counted(LimitKind::Money) => proto::LimitKind::Money,
        Bounded::Counted(LimitKind::Tokens) => proto::LimitKind::Tokens,
        Bounded::Counted(LimitKind::ConcurrentCalls) => proto::LimitKind::ConcurrentCalls,
        Bounded::Seconds => proto::LimitKind::Seconds,
    }
}

/// A cut, for the wire; none is unspecified.
pub const fn cut(it: Option<Cut>) -> proto::Cut {
    match it {
        None => proto::Cut::Unspecified,
        Some(Cut::ClientGone) => proto::Cut::ClientGone,
        Some(Cut::Deadline) => proto::Cut::Deadline,
        Some(Cut::Idle) => proto::Cut::Idle,
        Some(Cut::Budget) => proto::Cut::Budget,
        Some(Cut::Backend) => proto::Cut::Backend,
        Some(Cut::Cancelled) => proto::Cut::Cancelled,
        Some(Cut::Shutdown) => proto::Cut::Shutdown,
    }
}

/// An outcome, for the wire.
pub const fn outcome(it: Outcome) -> proto::Outcome {
    match it {
        Outcome::Complete => proto::Outcome::Complete,
        Outcome::Partial => proto::Outcome::Partial,
        Outcome::Exhausted => proto::Outcome::Exhausted,
        Outcome::Refused => proto::Outcome::Refused,
        Outcome::InputRequired => proto::Outcome::InputRequired,
    }
}

/// Usage for the wire; a class beyond the type is shown as its greatest number.
pub fn usage_to_wire(it: &Usage) -> proto::Usage {
    let class = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
    let Usage { input, cache_read, cache_write, output, reasoning } = *it;
    proto::Usage {
        input: class(input),
        cache_read: class(cache_read),
        cache_write: class(cache_write),
        output: class(output),
        reasoning: class(reasoning),
    }
}

/// Reads usage that a host reports: each class 0 to [`TOKENS_MAX`].
pub fn usage(field: &str, it: &proto::Usage) -> Result<Usage, Fault> {
    let class = |part: &'static str, value| super::field::count(part, value, 0..=TOKENS_MAX);
    let read = || {
        Ok(Usage {
            input: class("input", it.input)?,
            cache_read: class("cache_read", it.cache_read)?,
            cache_write: class("cache_write", it.cache_write)?,
            output: class("output", it.output)?,
            reasoning: class("reasoning", it.reasoning)?,
        })
    };
    read().at(field)
}
