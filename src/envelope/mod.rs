//! Envelopes: opened, found for a call, shown, closed; and holds of hosts that run
//! their own model.

pub mod reserve;
mod scope;
pub mod standing;

use std::collections::HashMap;

use jiff::Timestamp;
use uuid::Uuid;

pub use standing::{Standing, Stop, stand};

use crate::{
    budget::windows,
    clock::Clock,
    domain::{
        draft::PartialAllowance,
        envelope::{Allowance, Left, Lifetime},
        fault::Fault,
        grant::Grant,
        hold::Parties,
        ids::{EnvelopeId, GrantId, HostId, ServerId, TenantId, UserId},
        limit::{Limit, LimitKind, Owner},
        money::Amount,
        outcome::{Bounded, LimitStatus, Refusal},
    },
    identity::HostCaller,
    store::{self, Store, envelopes, grants, identity, limits},
};

/// An envelope with its counters, to be shown.
#[derive(Debug, Clone)]
pub struct View {
    /// The envelope.
    pub envelope: envelopes::Envelope,
    /// The user, as hosts know them.
    pub user: String,
    /// The server, as hosts know it.
    pub server: String,
    /// Its own limits.
    pub limits: Vec<Limit>,
    /// When this was so.
    pub now: Timestamp,
}

/// Opens an envelope inside the grant of a user for a server. What the wish leaves
/// out comes from the grant's default; more than the grant's maximum is refused
/// with the field's name.
pub async fn open(
    store: &Store,
    clock: &Clock,
    host: &HostCaller,
    (user, server): (&str, &str),
    wish: &PartialAllowance,
) -> Result<View, Stop> {
    let mut tx = store.call_tx(host.tenant).await?;
    let (grant, parties) = granted(&mut tx, clock, host, (user, server)).await?;
    let allowance = wish.or(&grant.default_envelope);
    within(&allowance, &grant.max_envelope)?;
    if wish.landing.is_some() {
        reserve_fits(&allowance)?;
    }
    let (envelope, limits) = create(&mut tx, clock, &parties, (grant.id, &allowance)).await?;
    store::commit(tx).await?;
    let now = envelope.life.opened_at;
    Ok(View { envelope, user: user.to_owned(), server: server.to_owned(), limits, now })
}

/// The grant in force, and the parties of an envelope that is opened under it. Without
/// a grant the answer is the same whether the user or the server exists or not.
async fn granted(
    tx: &mut store::Tx,
    clock: &Clock,
    host: &HostCaller,
    names: (&str, &str),
) -> Result<(Grant, Parties), Stop> {
    let grant = grants::in_force(tx, host.tenant, names).await?.ok_or(Refusal::NoGrant)?;
    let parties = Parties {
        tenant: host.tenant,
        host: host.host,
        user: grant.user,
        server: grant.server,
        envelope: clock.id(),
    };
    Ok((grant, parties))
}

/// Writes an envelope and its limits.
async fn create(
    tx: &mut store::Tx,
    clock: &Clock,
    parties: &Parties,
    (grant, allowance): (GrantId, &Allowance),
) -> Result<(envelopes::Envelope, Vec<Limit>), store::Error> {
    let envelope = envelopes::open(tx, parties, grant, allowance).await?;
    let made = windows::of_envelope(parties.tenant, &envelope.life, allowance, clock);
    limits::create(tx, &made).await?;
    Ok((envelope, made))
}

/// Refuses an allowance beyond what the grant lets a host open.
fn within(wanted: &Allowance, most: &Allowance) -> Result<(), Fault> {
    let beyond = |field: &str| {
        let problem = "is more than the grant allows a host to open".to_owned();
        Err(Fault::invalid(format!("limits.{field}"), problem))
    };
    let tokens_max = most.tokens.unwrap_or(i64::MAX);
    if wanted.calls > most.calls {
        return beyond("calls");
    }
    if wanted.seconds > most.seconds {
        return beyond("seconds");
    }
    if wanted.money > most.money {
        return beyond("money");
    }
    if wanted.tokens.unwrap_or(i64::MAX) > tokens_max {
        return beyond("tokens");
    }
    Ok(())
}

/// Refuses to keep more for a last call than there is. Where the host named no landing it
/// is the grant's, which its own default can pay for.
fn reserve_fits(wanted: &Allowance) -> Result<(), Fault> {
    if wanted.landing.is_none_or(|it| it.reserve <= wanted.money) {
        return Ok(());
    }
    Err(Fault::invalid("limits.landing.reserve", "must be at most the envelope's money"))
}

/// Who looks at envelopes.
#[derive(Debug, Clone, Copy)]
pub struct Viewer {
    /// The organisation.
    pub tenant: TenantId,
    /// Only this host's envelopes; none: every host's.
    pub host: Option<HostId>,
}

/// One envelope; somebody else's looks missing.
pub async fn get(store: &Store, viewer: Viewer, id: EnvelopeId) -> Result<View, Fault> {
    let mut tx = store.report_tx(viewer.tenant).await?;
    let envelope = visible(&mut tx, viewer, id).await?;
    let view = view(&mut tx, envelope).await?;
    store::commit(tx).await?;
    Ok(view)
}

/// Ends an envelope, once. Running calls settle; new ones find it closed.
pub async fn close(store: &Store, viewer: Viewer, id: EnvelopeId) -> Result<View, Fault> {
    let mut tx = store.report_tx(viewer.tenant).await?;
    visible(&mut tx, viewer, id).await?;
    envelopes::close(&mut tx, viewer.tenant, id).await?;
    limits::close(&mut tx, viewer.tenant, Owner::Envelope(id)).await?;
    let envelope = visible(&mut tx, viewer, id).await?;
    let view = view(&mut tx, envelope).await?;
    store::commit(tx).await?;
    Ok(view)
}

/// Envelopes before `before`, newest first; a user or a server that does not exist
/// has none.
pub async fn list(
    store: &Store,
    viewer: Viewer,
    (user, server): (Option<&str>, Option<&str>),
    page: (Option<Uuid>, i64),
) -> Result<Vec<View>, Fault> {
    let mut tx = store.report_tx(viewer.tenant).await?;
    let mut filter =
        envelopes::Filter { host: viewer.host.map(HostId::uuid), user: None, server: None };
    if let Some(name) = user {
        let Some(id) = identity::user(&mut tx, viewer.tenant, name).await? else {
            return Ok(Vec::new());
        };
        filter.user = Some(id.uuid());
    }
    if let Some(name) = server {
        let Some(id) = identity::server(&mut tx, viewer.tenant, name).await? else {
            return Ok(Vec::new());
        };
        filter.server = Some(id.uuid());
    }
    let found = envelopes::list(&mut tx, viewer.tenant, filter, page).await?;
    let views = views(&mut tx, viewer.tenant, found).await?;
    store::commit(tx).await?;
    Ok(views)
}

async fn visible(
    tx: &mut store::Tx,
    viewer: Viewer,
    id: EnvelopeId,
) -> Result<envelopes::Envelope, Fault> {
    let found = envelopes::find(tx, viewer.tenant, id).await?;
    found
        .filter(|it| viewer.host.is_none_or(|host| host == it.parties.host))
        .ok_or(Fault::NotFound { what: "envelope" })
}

async fn view(tx: &mut store::Tx, envelope: envelopes::Envelope) -> Result<View, store::Error> {
    let tenant = envelope.parties.tenant;
    let mut views = views(tx, tenant, vec![envelope]).await?;
    views.pop().ok_or(store::Error::Unreadable("envelopes"))
}

/// Envelopes of a tenant with all that is shown of them, however many, in one look at
/// each table.
async fn views(
    tx: &mut store::Tx,
    tenant: TenantId,
    found: Vec<envelopes::Envelope>,
) -> Result<Vec<View>, store::Error> {
    let users: Vec<UserId> = found.iter().map(|it| it.parties.user).collect();
    let servers: Vec<ServerId> = found.iter().map(|it| it.parties.server).collect();
    let ids: Vec<EnvelopeId> = found.iter().map(|it| it.life.id).collect();
    let users = identity::user_names(tx, tenant, &users).await?;
    let servers = identity::server_names(tx, tenant, &servers).await?;
    let mut limits: HashMap<Owner, Vec<Limit>> = HashMap::new();
    for it in limits::of_envelopes(tx, tenant, &ids).await? {
        limits.entry(it.owner).or_default().push(it);
    }
    let now = store::now(tx).await?;
    // Erased people and servers leave their envelopes behind.
    let known = |name: Option<&String>| name.cloned().unwrap_or_else(|| "(erased)".to_owned());
    let view = |envelope: envelopes::Envelope| View {
        user: known(users.get(&envelope.parties.user)),
        server: known(servers.get(&envelope.parties.server)),
        limits: limits.remove(&Owner::Envelope(envelope.life.id)).unwrap_or_default(),
        envelope,
        now,
    };
    Ok(found.into_iter().map(view).collect())
}

/// An envelope's seconds, as a limit.
pub fn seconds(envelope: &envelopes::Envelope, now: Timestamp) -> LimitStatus {
    let limit = envelope.allowance.seconds;
    LimitStatus {
        owner: Owner::Envelope(envelope.life.id),
        kind: Bounded::Seconds,
        held: 0,
        settled: now.duration_since(envelope.life.opened_at).as_secs().clamp(0, limit),
        overrun: 0,
        limit,
        resets_at: None,
    }
}

/// What is left of an envelope whose limits stand like this.
pub fn left(life: &Lifetime, limits: &[Limit], now: Timestamp) -> Left {
    let room = |kind| {
        let own = limits.iter().find(|it| it.owner == Owner::Envelope(life.id) && it.kind == kind);
        own.map(Limit::room)
    };
    let end = life.closed_at.unwrap_or(life.closes_at).min(life.closes_at);
    Left {
        calls: room(LimitKind::Calls).unwrap_or(0),
        seconds: end.duration_since(now).as_secs().max(0),
        money: Amount::from_nanos(room(LimitKind::Money).unwrap_or(0)),
        tokens: room(LimitKind::Tokens),
    }
}
