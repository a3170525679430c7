//! What the model is made of: a database, two replicas with a lane each, a few calls.

/// One call's own limit or several calls', and one that is everybody's.
pub(super) const LIMITS: usize = 2;

pub(super) const REPLICAS: usize = 2;

pub(super) type Rows = [Row; LIMITS];

/// A limit's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Row {
    pub(super) settled: i8,
    pub(super) overrun: i8,
    pub(super) held: i8,
    pub(super) revision: i8,
}

/// What the user is charged, and what is beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Parts {
    pub(super) charge: i8,
    pub(super) overrun: i8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Settle,
    Void,
    Expire,
    Late,
}

/// Who wants a hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum By {
    Caller,
    Reaper,
    /// The lane itself: nobody waits for the hold any more.
    Lane,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct End {
    pub(super) call: usize,
    pub(super) kind: Kind,
    pub(super) truth: i8,
    pub(super) by: By,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Command {
    Hold(usize),
    End(End),
}

impl Command {
    pub(super) const fn call(self) -> usize {
        match self {
            Self::Hold(call) | Self::End(End { call, .. }) => call,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Decided {
    Take,
    Short,
    Closed,
    End(Parts),
    Gone,
}

/// Decisions about a batch, and the move that they make of each row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    pub(super) decided: Vec<(Command, Decided)>,
    pub(super) before: Rows,
    pub(super) after: Rows,
    pub(super) moves: [bool; LIMITS],
    /// The time of its statement, which decides the window.
    pub(super) sent_at: u8,
}

impl Plan {
    pub(super) fn grants_all(&self) -> bool {
        self.decided.iter().all(|(_, it)| matches!(it, Decided::Take | Decided::End(_)))
    }

    pub(super) fn writes(&self) -> bool {
        self.moves.contains(&true)
    }
}

/// How far a lane is with its batch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum At {
    /// Written by compare-and-set, not answered.
    Sent(Plan),
    /// About to lock.
    Waiting,
    /// Written under locks, not answered.
    Locked(Plan),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Work {
    pub(super) commands: Vec<Command>,
    pub(super) at: At,
    /// Sent earlier, never answered.
    pub(super) uncertain: Vec<Plan>,
    /// Holds as they were looked up before locking, where that rule is broken.
    pub(super) looked: Option<Vec<bool>>,
}

/// The memory of a replica.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Replica {
    /// Ends first.
    pub(super) queue: Vec<Command>,
    pub(super) known: [Option<Row>; LIMITS],
    pub(super) work: Option<Work>,
    /// The expired hold that its reaper is at.
    pub(super) reaps: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    pub(super) parts: Parts,
}

/// A write whose sender heard no answer: it may still land.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Stray {
    pub(super) plan: Plan,
    /// Its transaction holds the locks until it ends.
    pub(super) locks: bool,
}

/// What outlives every replica.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Database {
    pub(super) rows: Rows,
    /// When the hold of each call expires.
    pub(super) holds: Vec<Option<u8>>,
    pub(super) entries: Vec<Vec<Entry>>,
    pub(super) strays: Vec<Stray>,
}

/// What a caller was told last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Told {
    /// A limit has no room, or its window is over.
    Refused,
    Booked(Parts),
    /// Somebody else ended the hold, and there is no more to say.
    Resolved,
    /// The database could not be reached for too long.
    Failed,
    /// Nothing: it left, or its replica did.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    Idle,
    Asked,
    Held,
    Dispatched,
    Ending,
    /// Somebody else ended the hold: the truth comes late.
    Late,
    Over(Told),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Call {
    pub(super) stage: Stage,
    /// Which replica it talks to.
    pub(super) at: usize,
    /// Nobody waits for the answer of its order any more.
    pub(super) left: bool,
    /// Something reached the backend.
    pub(super) dispatched: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) db: Database,
    pub(super) replicas: [Replica; REPLICAS],
    pub(super) calls: Vec<Call>,
    pub(super) now: u8,
    /// Faults that may still come.
    pub(super) breaks: u8,
    pub(super) crashes: u8,
    pub(super) leaves: u8,
    /// Something happened that must not, and leaves no trace elsewhere.
    pub(super) wrong: Option<&'static str>,
}
