//! Requests that bear an id of the host's: the same one again gets the same reply,
//! costs nothing and books nothing.
//!
//! A request is claimed in the tables before anything is held, and bears the id of its
//! call, so that what became of it can be told even if its process died: by then it was
//! either booked, or will be, or never cost anything.

mod running;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use self::running::{End, Entered, First, Follower, Running};
use crate::{
    clock::Clock,
    domain::{fault::Fault, ids::CallId},
    identity::HostCaller,
    store::{
        self, Store,
        requests::{self, Claim, Ended, Key, Row},
    },
    vault::Vault,
};

/// The longest that any grant lets a call take.
pub const CALL_TIME_MAX: Duration = Duration::from_hours(1);

/// How long a claim outlives its call's deadline: as long as its hold does.
const GRACE: Duration = Duration::from_mins(1);

/// Requests of this process that wait for one that runs.
const WAITERS_MAX: usize = 1_024;

/// The largest reply that is kept, in bytes.
const REPLY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How long the end of a request may take to be written. Its reply does not wait longer.
const WRITE: Duration = Duration::from_secs(3);

/// How often a claim is tried when others are in the way.
const TRIES_MAX: usize = 3;

/// Rows purged at a time.
pub const PURGE_MAX: u64 = 500;

/// Between two looks when there was little to purge.
const PURGE_PAUSE: Duration = Duration::from_secs(10);

/// A reply that can be kept as bytes.
pub trait Keep: Sized {
    /// The whole of it.
    fn to_bytes(&self) -> Vec<u8>;
    /// None: no reply.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
    /// Whether it is an answer. A question is not: nothing was done, and the same request
    /// comes again with what was said to it.
    fn is_final(&self) -> bool {
        true
    }
}

/// A reply, and whether it was made for this request.
#[derive(Debug, Clone, PartialEq)]
pub enum Once<T> {
    /// It was.
    New(T),
    /// It was made for an earlier one.
    Again(T),
}

/// A request with an id.
#[derive(Debug, Clone)]
pub struct Asked {
    key: Key,
    body: [u8; 32],
    call: CallId,
    deadline: Instant,
    gone: CancellationToken,
    forsaken: CancellationToken,
}

/// Answers each request once. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Requests {
    store: Store,
    clock: Clock,
    vault: Option<Vault>,
    running: Running,
    waiters: Arc<Semaphore>,
}

/// What a claim comes to, unless it fails.
enum Claimed {
    /// The request is this call's to answer.
    Mine,
    /// It was answered.
    Kept(Vec<u8>),
}

impl Asked {
    /// `body`: what is asked, in bytes that are the same whenever it is the same.
    /// `until`: when this request's call must end, and by when whoever asks wants to know.
    pub fn new(
        caller: &HostCaller,
        (id, body): (&str, &[u8]),
        call: CallId,
        (until, gone): (Instant, CancellationToken),
    ) -> Self {
        let request = Sha256::digest(id.as_bytes()).into();
        let key = Key { tenant: caller.tenant, host: caller.host, request };
        let (body, forsaken) = (Sha256::digest(body).into(), CancellationToken::new());
        Self { key, body, call, deadline: until, gone, forsaken }
    }

    /// Set when the caller is gone, and with it everybody else who asked the same here.
    pub fn forsaken(&self) -> CancellationToken {
        self.forsaken.clone()
    }

    /// What a sealed reply is about.
    fn about(&self) -> Vec<u8> {
        let Key { tenant, host, request } = &self.key;
        [tenant.uuid().as_bytes().as_slice(), host.uuid().as_bytes(), request].concat()
    }
}

impl<T> Once<T> {
    /// The reply.
    pub fn into_inner(self) -> T {
        match self {
            Self::New(it) | Self::Again(it) => it,
        }
    }
}

impl Requests {
    /// Without a vault replies are not kept: a repeated request is then refused, and
    /// is not made again either.
    pub fn new(store: Store, clock: Clock, vault: Option<Vault>) -> Self {
        let waiters = Arc::new(Semaphore::new(WAITERS_MAX));
        Self { store, clock, vault, running: Running::default(), waiters }
    }

    /// Does `work` unless the same was asked before, and keeps its reply. A request
    /// without an id is simply done. Not to be dropped while it runs.
    pub async fn once<T: Keep>(
        &self,
        asked: Option<&Asked>,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<Once<T>, Fault> {
        let Some(asked) = asked else { return work.await.map(Once::New) };
        match self.running.enter(asked) {
            Entered::First(first) => self.first(asked, first, work).await,
            Entered::Again(other) => {
                // The request's body is not needed while it waits.
                drop(work);
                self.wait(asked, other).await
            }
        }
    }

    async fn first<T: Keep>(
        &self,
        asked: &Asked,
        first: First,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<Once<T>, Fault> {
        let reply = match self.claim(asked).await {
            Ok(Claimed::Mine) => {
                let alone = async {
                    first.forsaken(asked).await;
                    asked.forsaken.cancel();
                    std::future::pending().await
                };
                tokio::select! {
                    reply = work => reply.map(Once::New),
                    never = alone => never,
                }
            }
            Ok(Claimed::Kept(bytes)) => {
                let reply = T::from_bytes(&bytes).map(Once::Again).ok_or(Fault::Internal);
                first.end(reply.as_ref().map_or_else(fault, |_| End::Reply(bytes.into())));
                return reply;
            }
            Err(it) => {
                first.end(End::Fault(it.clone()));
                return Err(it);
            }
        };
        let end = match &reply {
            Ok(Once::New(it) | Once::Again(it)) if !it.is_final() => {
                End::Question(it.to_bytes().into())
            }
            Ok(Once::New(it) | Once::Again(it)) => End::Reply(it.to_bytes().into()),
            Err(it) => End::Fault(it.clone()),
        };
        self.end(asked, &end).await;
        first.end(end);
        reply
    }

    /// Waits for the same request that runs in this process.
    async fn wait<T: Keep>(&self, asked: &Asked, mut other: Follower) -> Result<Once<T>, Fault> {
        let Ok(_place) = self.waiters.try_acquire() else { return Err(in_flight()) };
        let until = asked.deadline.min(other.deadline);
        let end = tokio::select! {
            end = other.end() => end,
            () = tokio::time::sleep_until(until.into()) => None,
            () = asked.gone.cancelled() => None,
        };
        match end {
            Some(End::Reply(bytes) | End::Question(bytes)) => {
                T::from_bytes(&bytes).map(Once::Again).ok_or(Fault::Internal)
            }
            Some(End::Fault(it)) => Err(it),
            None => Err(in_flight()),
        }
    }

    async fn claim(&self, asked: &Asked) -> Result<Claimed, Fault> {
        let time = asked.deadline.saturating_duration_since(self.clock.monotonic());
        let time = time.min(CALL_TIME_MAX).saturating_add(GRACE);
        let claim = Claim { body: asked.body, call: asked.call, time };
        for _ in 0..TRIES_MAX {
            match self.try_claim(asked, &claim).await {
                Ok(Some(it)) => return it,
                // Freed, purged or taken over meanwhile.
                Ok(None) => {}
                Err(it) if it.is_retryable() => {}
                Err(it) => return Err(it.into()),
            }
        }
        Err(in_flight())
    }

    async fn try_claim(
        &self,
        asked: &Asked,
        claim: &Claim,
    ) -> Result<Option<Result<Claimed, Fault>>, store::Error> {
        let key = &asked.key;
        let mut tx = self.store.call_tx(key.tenant).await?;
        if requests::claim(&mut tx, key, claim).await? {
            store::commit(tx).await?;
            return Ok(Some(Ok(Claimed::Mine)));
        }
        let Some(row) = requests::find(&mut tx, key).await? else { return Ok(None) };
        let dead = row.call;
        if !row.is_due {
            if let Some(ended) = row.ended {
                return Ok(Some(self.ended(asked, row.body, ended)));
            }
            let trace = requests::trace(&mut tx, key.tenant, dead).await?;
            if let Some(why_not) = still_claimed(asked, &row, trace) {
                return Ok(Some(Err(why_not)));
            }
        }
        let mine = requests::take_over(&mut tx, key, dead, claim).await?;
        store::commit(tx).await?;
        Ok(mine.then_some(Ok(Claimed::Mine)))
    }

    /// What a request gets that was answered before.
    fn ended(&self, asked: &Asked, body: [u8; 32], ended: Ended) -> Result<Claimed, Fault> {
        if body != asked.body {
            return Err(reused());
        }
        match ended {
            Ended::Kept(sealed) => {
                let vault = self.vault.as_ref();
                let opened = vault.and_then(|it| it.open(&asked.about(), &sealed));
                opened.map(Claimed::Kept).ok_or_else(not_kept)
            }
            Ended::Unkept => Err(not_kept()),
            Ended::Lost => Err(outcome_lost()),
        }
    }

    /// Writes how a request ended. When that fails the claim runs out, and until the
    /// purge what was booked can still be told.
    async fn end(&self, asked: &Asked, end: &End) {
        let writing = tokio::time::timeout(WRITE, self.write(asked, end));
        match writing.await {
            Ok(Ok(())) => {}
            Ok(Err(it)) => {
                tracing::warn!(call = %asked.call, error = %it, "a reply could not be kept");
            }
            Err(_) => tracing::warn!(call = %asked.call, "a reply could not be kept in time"),
        }
    }

    async fn write(&self, asked: &Asked, end: &End) -> Result<(), store::Error> {
        let (key, call) = (&asked.key, asked.call);
        let mut tx = self.store.call_tx(key.tenant).await?;
        match end {
            End::Reply(bytes) => {
                let ended = self.seal(asked, bytes).map_or(Ended::Unkept, Ended::Kept);
                requests::end(&mut tx, key, call, ended).await?;
            }
            End::Fault(_) if requests::trace(&mut tx, key.tenant, call).await?.has_cost => {
                requests::end(&mut tx, key, call, Ended::Lost).await?;
            }
            End::Question(_) | End::Fault(_) => requests::free(&mut tx, key, call).await?,
        }
        store::commit(tx).await
    }

    fn seal(&self, asked: &Asked, bytes: &[u8]) -> Option<Vec<u8>> {
        let vault = self.vault.as_ref().filter(|_| bytes.len() <= REPLY_BYTES_MAX)?;
        vault.seal(&asked.about(), bytes).ok()
    }
}

/// Purges for ever. Several replicas may.
pub async fn purge(store: Store, clock: Clock) {
    let mut failing = false;
    loop {
        match sweep(&store).await {
            Ok(purged) if purged >= PURGE_MAX => continue,
            Ok(_) => failing = false,
            // Once for each time that it begins to fail: the rest is the same news.
            Err(it) => {
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(error = %it, "the purge of kept replies failed");
                }
            }
        }
        clock.sleep(PURGE_PAUSE).await;
    }
}

/// Deletes at most [`PURGE_MAX`] requests that need not be known any more, of any
/// tenant, and returns how many.
pub async fn sweep(store: &Store) -> Result<u64, store::Error> {
    requests::purge(store, PURGE_MAX).await
}

/// Why a claim of which nobody said how it ended still stands; none when its call is
/// over and cost nothing.
fn still_claimed(asked: &Asked, row: &Row, trace: requests::Trace) -> Option<Fault> {
    let is_over = row.is_over || trace.is_over;
    if is_over && !trace.has_cost {
        return None;
    }
    Some(match (row.body == asked.body, is_over) {
        (false, _) => reused(),
        (true, true) => outcome_lost(),
        (true, false) => in_flight(),
    })
}

fn fault(it: &Fault) -> End {
    End::Fault(it.clone())
}

fn aborted(reason: &'static str, problem: &str, retry_after: Option<Duration>) -> Fault {
    Fault::Aborted { reason, problem: problem.to_owned(), retry_after }
}

fn in_flight() -> Fault {
    let problem = "the same request is still being answered; repeat it a little later";
    aborted("REQUEST_IN_FLIGHT", problem, Some(Duration::from_secs(1)))
}

fn reused() -> Fault {
    let problem = "this request_id was used for another request; use a fresh one for each";
    aborted("REQUEST_ID_REUSED", problem, None)
}

fn not_kept() -> Fault {
    let problem = "this request was answered before and its reply was not kept; \
                   the ledger has what it cost";
    aborted("REQUEST_REPLY_NOT_KEPT", problem, None)
}

fn outcome_lost() -> Fault {
    let problem = "this request was made before and has no reply; the ledger has what it cost. \
                   To make it again, use a fresh request_id";
    aborted("REQUEST_OUTCOME_LOST", problem, None)
}
