//! Envelopes: opened, found for a call, shown, closed; and holds of hosts that run
//! their own model.

mod nest;
pub mod reserve;
mod scope;
pub mod standing;
pub mod token;

use std::collections::HashMap;

use jiff::Timestamp;
use uuid::Uuid;

pub use standing::{Made, Standing, Stop, stand};

use crate::{
    budget::windows,
    clock::Clock,
    domain::{
        draft::PartialAllowance,
        envelope::{Allowance, Left, Lifetime},
        extension::Extension,
        fault::Fault,
        grant::Grant,
        hold::Parties,
        ids::{EnvelopeId, GrantId, HostId, ServerId, TenantId, UserId},
        limit::{Limit, LimitKind, Owner},
        money::Amount,
        outcome::{Bounded, LimitStatus, Refusal},
    },
    identity::HostCaller,
    store::{self, Store, envelopes, extensions, grants, identity, limits, roots},
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
    /// What a person has answered when asked for more, oldest first; where one envelope
    /// alone is looked at.
    pub extensions: Vec<Extension>,
    /// When this was so.
    pub now: Timestamp,
}

/// What a host wants to open.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The person, as the host knows them.
    pub user: String,
    /// The server, as the host knows it.
    pub server: String,
    /// The bounds; what is left out comes from the grant's default.
    pub allowance: PartialAllowance,
    /// The envelope that it is to stand in, with the tenant that its name tells.
    pub parent: Option<(Option<TenantId>, EnvelopeId)>,
}

/// Opens an envelope inside the grant of a user for a server. More than the grant's
/// maximum is refused with the field's name; inside another envelope it gets at most
/// what that one has left.
pub async fn open(
    store: &Store,
    clock: &Clock,
    host: &HostCaller,
    wish: Wish,
) -> Result<View, Stop> {
    let mut tx = store.call_tx(host.tenant).await?;
    let names = Names { user: &wish.user, server: &wish.server, root: None };
    let (grant, parties) = granted(&mut tx, clock, host, names).await?;
    let wanted = wish.allowance.or(&grant.default_envelope);
    within(&wanted, &grant.max_envelope)?;
    if wish.allowance.landing.is_some() {
        reserve_fits(&wanted)?;
    }
    let (ancestors, allowance) = match wish.parent {
        None => (Vec::new(), wanted),
        Some(parent) => nest::inside(&mut tx, &parties, parent, &wanted).await?,
    };
    let place = (&parties, ancestors.as_slice());
    let (envelope, limits) = create(&mut tx, clock, place, (grant.id, &allowance)).await?;
    store::commit(tx).await?;
    let now = envelope.life.opened_at;
    let extensions = Vec::new();
    Ok(View { envelope, user: wish.user, server: wish.server, limits, extensions, now })
}

/// Whose a call or an envelope is, in the host's words.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// The person.
    pub user: &'a str,
    /// The server.
    pub server: &'a str,
    /// The project root in use.
    pub root: Option<&'a str>,
}

/// The grant in force, and the parties of an envelope that is opened under it. Without
/// a grant the answer is the same whether the user or the server exists or not.
async fn granted(
    tx: &mut store::Tx,
    clock: &Clock,
    host: &HostCaller,
    names: Names<'_>,
) -> Result<(Grant, Parties), Stop> {
    let Names { user, server, root } = names;
    let grant = grants::in_force(tx, host.tenant, (user, server)).await?;
    let grant = grant.ok_or(Refusal::NoGrant)?;
    let root = match root {
        Some(uri) => Some(roots::ensure(tx, host.tenant, (clock.id(), uri)).await?),
        None => None,
    };
    let parties = Parties {
        tenant: host.tenant,
        host: host.host,
        user: grant.user,
        server: grant.server,
        envelope: clock.id(),
        root,
    };
    Ok((grant, parties))
}

/// Writes an envelope and its limits.
async fn create(
    tx: &mut store::Tx,
    clock: &Clock,
    place: (&Parties, &[EnvelopeId]),
    (grant, allowance): (GrantId, &Allowance),
) -> Result<(envelopes::Envelope, Vec<Limit>), store::Error> {
    let envelope = envelopes::open(tx, place, grant, allowance).await?;
    let made = windows::of_envelope(place.0.tenant, &envelope.life, allowance, clock);
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
    let at_once_max = most.concurrent_calls.unwrap_or(i64::MAX);
    if wanted.concurrent_calls.unwrap_or(i64::MAX) > at_once_max {
        return beyond("concurrent_calls");
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

/// Ends an envelope and all that stand in it, once. Running calls settle; new ones find
/// it closed.
pub async fn close(store: &Store, viewer: Viewer, id: EnvelopeId) -> Result<View, Fault> {
    let mut tx = store.report_tx(viewer.tenant).await?;
    visible(&mut tx, viewer, id).await?;
    let closed = envelopes::close(&mut tx, viewer.tenant, id).await?;
    limits::close_envelopes(&mut tx, viewer.tenant, &closed).await?;
    let envelope = visible(&mut tx, viewer, id).await?;
    let view = view(&mut tx, envelope).await?;
    store::commit(tx).await?;
    Ok(view)
}

/// Which envelopes to list; none: all.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Only this person's, as hosts know them.
    pub user: Option<String>,
    /// Only this server's, as hosts know it.
    pub server: Option<String>,
    /// Only those that stand in this one, at first hand.
    pub parent: Option<EnvelopeId>,
}

/// Envelopes before `before`, newest first; a user or a server that does not exist
/// has none.
pub async fn list(
    store: &Store,
    viewer: Viewer,
    wanted: &Wanted,
    page: (Option<Uuid>, i64),
) -> Result<Vec<View>, Fault> {
    let mut tx = store.report_tx(viewer.tenant).await?;
    let mut filter = envelopes::Filter {
        host: viewer.host.map(HostId::uuid),
        user: None,
        server: None,
        parent: wanted.parent.map(EnvelopeId::uuid),
    };
    if let Some(name) = &wanted.user {
        let Some(id) = identity::user(&mut tx, viewer.tenant, name).await? else {
            return Ok(Vec::new());
        };
        filter.user = Some(id.uuid());
    }
    if let Some(name) = &wanted.server {
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
    let id = envelope.life.id;
    let mut views = views(tx, tenant, vec![envelope]).await?;
    let view = views.pop().ok_or(store::Error::Unreadable("envelopes"))?;
    let extensions = extensions::of_envelope(tx, tenant, id).await?;
    Ok(View { extensions, ..view })
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
        extensions: Vec::new(),
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
