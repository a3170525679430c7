//! What went before in a call: attempts that failed with nothing delivered, and what
//! each of them cost.

use std::time::Duration;

use jiff::Timestamp;

use super::{Request, ending::backend_failed, settlement::Settled};
use crate::{
    backend::{self, Cause},
    domain::{
        charge::Split, entry::Certainty, fault::Fault, ids::ModelId, money::Amount, usage::Usage,
    },
};

/// The attempts of a call before the present one; fewer than
/// [`super::policy::ATTEMPTS_MAX`].
#[derive(Debug, Default)]
pub(super) struct Past(Vec<Failed>);

/// An attempt that failed.
#[derive(Debug)]
pub(super) struct Failed {
    model: ModelId,
    alias: String,
    backend: String,
    why: Why,
    bill: Bill,
    /// The call is booked with it as a call.
    is_counted: bool,
    /// When it was booked, by Postgres' time.
    booked_at: Option<Timestamp>,
}

/// Why an attempt failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Why {
    /// None: the backend was silent for too long.
    pub(super) cause: Option<Cause>,
    /// How long the backend asks to be left alone.
    pub(super) retry_after: Option<Duration>,
}

/// What attempts have cost.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bill {
    /// How many attempts.
    pub(super) attempts: u8,
    /// Tokens of all of them.
    pub(super) usage: Usage,
    /// The user's part, and what is beyond every limit.
    pub(super) money: Split,
    /// Our bound for one of them at least.
    pub(super) is_estimated: bool,
}

impl Past {
    /// Which attempt the present one is, from 1.
    pub(super) fn attempt(&self) -> u8 {
        u8::try_from(self.0.len()).unwrap_or(u8::MAX).saturating_add(1)
    }

    /// Whether the call was counted as one by any of them: it is one call, whatever
    /// its attempts.
    pub(super) fn is_counted(&self) -> bool {
        self.0.iter().any(|it| it.is_counted)
    }

    /// When the last of them was booked, by Postgres' time.
    pub(super) fn booked_at(&self) -> Option<Timestamp> {
        self.0.last()?.booked_at
    }

    pub(super) fn push(&mut self, failed: Failed) {
        self.0.push(failed);
    }

    /// What all of them have cost.
    pub(super) fn bill(&self) -> Bill {
        self.0.iter().fold(Bill::default(), |all, it| all.plus(&it.bill))
    }

    /// The error of a call that cannot be tried again; none when nothing went before.
    pub(super) fn fault(&self, request: &Request) -> Option<Fault> {
        Some(backend_failed(request, self.0.last()?.why, &self.bill()))
    }

    /// Why the present attempt, on `model`, is not the first.
    pub(super) fn reasons(&self, model: ModelId) -> impl Iterator<Item = String> {
        self.0.iter().map(move |it| {
            let Failed { alias, backend, why, .. } = it;
            if it.model == model {
                format!("tried again: {why}")
            } else {
                format!("fallback from {alias} on {backend}: {why}")
            }
        })
    }

    /// What was paid for nothing, in words for the host.
    pub(super) fn warnings(&self, request: &Request) -> impl Iterator<Item = String> {
        let currency = request.caller.currency;
        self.0.iter().zip(1_u8..).filter(|(it, _)| !it.bill.is_free()).map(move |(it, attempt)| {
            let (charge, alias, why) = (it.bill.charge(), &it.alias, it.why);
            format!(
                "attempt {attempt} on {alias} failed ({why}) and is part of the charge: \
                 {charge} {currency}, since it may have been billed"
            )
        })
    }
}

impl Failed {
    pub(super) fn of(settled: &Settled, why: Why) -> Self {
        let way = &settled.attempt.way;
        Self {
            model: way.model.id,
            alias: way.model.alias.clone(),
            backend: way.backend_name.clone(),
            why,
            bill: Bill::of(settled),
            is_counted: settled.booking.calls > 0,
            booked_at: settled.booked_at,
        }
    }
}

impl Bill {
    /// What one attempt has cost.
    pub(super) fn of(settled: &Settled) -> Self {
        Self {
            attempts: 1,
            usage: settled.truth.usage,
            money: settled.booking.money,
            is_estimated: settled.pending || settled.truth.certainty != Certainty::Exact,
        }
    }

    pub(super) fn plus(self, other: &Self) -> Self {
        let (a, b) = (self.money, other.money);
        Self {
            attempts: self.attempts.saturating_add(other.attempts),
            usage: self.usage.plus(&other.usage),
            money: Split {
                charge: a.charge.saturating_add(b.charge),
                overrun: a.overrun.saturating_add(b.overrun),
            },
            is_estimated: self.is_estimated || other.is_estimated,
        }
    }

    /// The user's part.
    pub(super) fn charge(&self) -> Amount {
        Amount::from_nanos(self.money.charge)
    }

    fn is_free(&self) -> bool {
        self.money == Split::default()
    }
}

impl Why {
    pub(super) fn of(failure: Option<&backend::Error>) -> Self {
        Self {
            cause: failure.map(|it| it.cause),
            retry_after: failure.and_then(|it| it.retry_after),
        }
    }
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.cause {
            Some(cause) => cause.fmt(f),
            None => f.write_str("the backend was silent for too long"),
        }
    }
}
