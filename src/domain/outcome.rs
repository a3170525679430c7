//! How a call ended.

use jiff::Timestamp;

use super::limit::{Limit, LimitKind, Owner};

/// The five ways in which a call ends without being an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The model ended by itself or at the request's own maximum.
    Complete,
    /// Something was delivered and a cut ended it.
    Partial,
    /// No call could be made, or time ended with nothing delivered.
    Exhausted,
    /// No grant, or a policy or a person said no.
    Refused,
    /// A person is asked first.
    InputRequired,
}

impl Outcome {
    /// Its fixed name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Complete => "COMPLETE",
            Self::Partial => "PARTIAL",
            Self::Exhausted => "EXHAUSTED",
            Self::Refused => "REFUSED",
            Self::InputRequired => "INPUT_REQUIRED",
        }
    }
}

/// Why an answer ended before the model did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Whoever asked went away.
    ClientGone,
    /// The earliest of the deadlines that apply.
    Deadline,
    /// The backend was silent for too long.
    Idle,
    /// A limit was used up.
    Budget,
    /// The backend broke off.
    Backend,
    /// The host cancelled.
    Cancelled,
    /// This process is ending.
    Shutdown,
}

impl Cut {
    /// Its fixed name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::ClientGone => "CLIENT_GONE",
            Self::Deadline => "DEADLINE",
            Self::Idle => "IDLE",
            Self::Budget => "BUDGET",
            Self::Backend => "BACKEND",
            Self::Cancelled => "CANCELLED",
            Self::Shutdown => "SHUTDOWN",
        }
    }
}

/// What a bound can be a bound of, time included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bounded {
    /// One of the counted limits.
    Counted(LimitKind),
    /// The envelope's seconds.
    Seconds,
}

/// A limit as it stood when it bound a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitStatus {
    /// Whose.
    pub owner: Owner,
    /// Of what.
    pub kind: Bounded,
    /// Reserved by open holds.
    pub held: i64,
    /// Charged.
    pub settled: i64,
    /// Beyond all limits.
    pub overrun: i64,
    /// The allowance.
    pub limit: i64,
    /// When it starts anew; none: never.
    pub resets_at: Option<Timestamp>,
}

impl From<&Limit> for LimitStatus {
    fn from(it: &Limit) -> Self {
        // An envelope's end is an end; only a budget's window is followed by another.
        let resets_at = match it.owner {
            Owner::Budget(_) | Owner::Share(_) => it.closes_at,
            Owner::Envelope(_) => None,
        };
        Self {
            owner: it.owner,
            kind: Bounded::Counted(it.kind),
            held: it.held,
            settled: it.settled,
            overrun: it.overrun,
            limit: it.amount,
            resets_at,
        }
    }
}

/// Why a request was refused, in a stable word and a sentence. Never says
/// whether a user or a server exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No grant for this user and server, or no such user or server.
    NoGrant,
    /// The grant does not allow tools.
    ToolsNotGranted,
    /// The grant does not allow requests in the background.
    BackgroundNotGranted,
    /// No model that the grant allows can take the request.
    NoModel,
    /// An operator has stopped sampling for this user, this server or the tenant.
    Stopped,
}

impl Refusal {
    /// The stable word.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoGrant => "NO_GRANT",
            Self::ToolsNotGranted => "TOOLS_NOT_GRANTED",
            Self::BackgroundNotGranted => "BACKGROUND_NOT_GRANTED",
            Self::NoModel => "NO_MODEL",
            Self::Stopped => "STOPPED",
        }
    }

    /// A sentence for a person, with the remedy.
    pub const fn message(self) -> &'static str {
        match self {
            Self::NoGrant => {
                "no grant lets this server sample for this user; an operator can add one"
            }
            Self::ToolsNotGranted => "the grant does not allow tools in sampling requests",
            Self::BackgroundNotGranted => "the grant does not allow sampling in the background",
            Self::NoModel => {
                "no model that the grant allows and that has a price can take this request"
            }
            Self::Stopped => "an operator has stopped sampling here; an operator can resume it",
        }
    }
}
