//! Keys that are an envelope: made by the host whose envelope it is, for one grant, for a
//! short while. What a bearer may do is decided where the key is used.

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{Viewer, create, nest, visible};
use crate::{
    clock::Clock,
    domain::{
        envelope::Allowance,
        fault::Fault,
        grant::Grant,
        hold::Parties,
        ids::{EnvelopeId, TokenId},
        outcome::Refusal,
        token::{TOKENS_MAX, Token},
    },
    identity::{HostCaller, TokenKey},
    store::{self, Store, envelopes, grants, identity, limits, tokens},
};

/// What a host wants a token to be.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The envelope.
    pub envelope: EnvelopeId,
    /// How long it is to last, in seconds.
    pub seconds: i64,
    /// Only these aliases; none: all that the grant allows.
    pub models: Vec<String>,
    /// Calls under way at once; none: as many as the envelope allows.
    pub concurrent_calls: Option<i64>,
}

/// Makes a token. The key is returned this once.
pub async fn mint(
    store: &Store,
    clock: &Clock,
    host: &HostCaller,
    wish: Wish,
) -> Result<(Token, TokenKey), Fault> {
    let mut tx = store.call_tx(host.tenant).await?;
    let viewer = Viewer { tenant: host.tenant, host: Some(host.host) };
    let named = visible(&mut tx, viewer, wish.envelope).await?;
    let now = store::now(&mut tx).await?;
    is_open(&named, now)?;
    let (grant, user, server) = consent(&mut tx, &named.parties).await?;
    each_granted(&wish.models, &grant)?;
    if tokens::live(&mut tx, host.tenant, wish.envelope).await? >= TOKENS_MAX {
        let problem = "a hundred tokens of the envelope are not over; revoke those that are done";
        return Err(no("TOO_MANY_TOKENS", problem));
    }
    let (envelope, inside) = match wish.concurrent_calls {
        None => (named, None),
        Some(at_once) => {
            let own = own_envelope(&mut tx, clock, (&named, &grant), at_once).await?;
            (own, Some(named.life.id))
        }
    };
    let token = Token {
        id: clock.id(),
        tenant: host.tenant,
        host: host.host,
        user,
        server,
        envelope: envelope.life.id,
        inside,
        grant: grant.id,
        models: wish.models,
        created_at: now,
        expires_at: until(&envelope, now, wish.seconds),
        revoked_at: None,
    };
    let key = TokenKey::generate(host.tenant);
    tokens::add(&mut tx, &token, &key.key().digest()).await?;
    store::commit(tx).await?;
    Ok((token, key))
}

/// Lets a token last longer, its key unchanged: a server that was started with it goes on.
pub async fn refresh(
    store: &Store,
    host: &HostCaller,
    (id, seconds): (TokenId, i64),
) -> Result<Token, Fault> {
    let mut tx = store.call_tx(host.tenant).await?;
    let viewer = Viewer { tenant: host.tenant, host: Some(host.host) };
    let token = seen(&mut tx, viewer, id).await?;
    let envelope = visible(&mut tx, viewer, token.envelope).await?;
    let now = store::now(&mut tx).await?;
    is_open(&envelope, now)?;
    let until = until(&envelope, now, seconds);
    if !tokens::extend(&mut tx, (host.tenant, id), until).await? {
        return Err(no("TOKEN_ENDED", "the token was revoked or is over; make another one"));
    }
    let token = seen(&mut tx, viewer, id).await?;
    store::commit(tx).await?;
    Ok(token)
}

/// Ends a token at once, and the envelope that was opened for it alone. Running calls
/// settle.
pub async fn revoke(store: &Store, viewer: Viewer, id: TokenId) -> Result<Token, Fault> {
    let mut tx = store.report_tx(viewer.tenant).await?;
    let token = seen(&mut tx, viewer, id).await?;
    tokens::revoke(&mut tx, viewer.tenant, id).await?;
    if token.inside.is_some() {
        let closed = envelopes::close(&mut tx, viewer.tenant, token.envelope).await?;
        limits::close_envelopes(&mut tx, viewer.tenant, &closed).await?;
    }
    let token = seen(&mut tx, viewer, id).await?;
    store::commit(tx).await?;
    Ok(token)
}

/// Tokens before `before`, newest first, of one envelope or of all.
pub async fn list(
    store: &Store,
    viewer: Viewer,
    envelope: Option<EnvelopeId>,
    page: (Option<Uuid>, i64),
) -> Result<Vec<Token>, Fault> {
    let mut tx = store.report_tx(viewer.tenant).await?;
    let filter = tokens::Filter { host: viewer.host, envelope };
    let found = tokens::list(&mut tx, viewer.tenant, filter, page).await?;
    store::commit(tx).await?;
    Ok(found)
}

/// A token; somebody else's looks missing.
async fn seen(tx: &mut store::Tx, viewer: Viewer, id: TokenId) -> Result<Token, Fault> {
    let found = tokens::find(tx, viewer.tenant, id).await?;
    let mine = |it: &Token| viewer.host.is_none_or(|host| host == it.host);
    found.filter(mine).ok_or(Fault::NotFound { what: "token" })
}

fn is_open(envelope: &envelopes::Envelope, now: Timestamp) -> Result<(), Fault> {
    if envelope.life.closed_at.is_some() {
        return Err(no("ENVELOPE_CLOSED", "the envelope is closed; open another one"));
    }
    if envelope.life.closes_at <= now {
        return Err(no("ENVELOPE_EXHAUSTED", "the envelope's seconds are over; open another one"));
    }
    Ok(())
}

/// The grant in force for the people of an envelope, and what hosts call them.
async fn consent(tx: &mut store::Tx, parties: &Parties) -> Result<(Grant, String, String), Fault> {
    let Parties { tenant, user, server, .. } = *parties;
    let user = identity::user_names(tx, tenant, &[user]).await?.into_values().next();
    let server = identity::server_names(tx, tenant, &[server]).await?.into_values().next();
    let missing = || no(Refusal::NoGrant.reason(), Refusal::NoGrant.message());
    let (user, server) = user.zip(server).ok_or_else(missing)?;
    let grant = grants::in_force(tx, tenant, (&user, &server)).await?;
    Ok((grant.ok_or_else(missing)?, user, server))
}

/// A token narrows its grant and never widens it.
fn each_granted(models: &[String], grant: &Grant) -> Result<(), Fault> {
    let beyond = |it: &String| !(grant.models.is_empty() || grant.models.contains(it));
    match models.iter().position(beyond) {
        None => Ok(()),
        Some(at) => Err(Fault::invalid(format!("models[{at}]"), "is not what the grant allows")),
    }
}

/// An envelope for the token alone, of all that the named one has left: what bounds its
/// calls at once is then a limit like any other, the same on every replica.
async fn own_envelope(
    tx: &mut store::Tx,
    clock: &Clock,
    (named, grant): (&envelopes::Envelope, &Grant),
    at_once: i64,
) -> Result<envelopes::Envelope, Fault> {
    // The reserve stays with the named one, whose last call this cannot be.
    let wanted = Allowance { concurrent_calls: Some(at_once), landing: None, ..named.allowance };
    let parties = Parties { envelope: clock.id(), ..named.parties };
    let parent = (None, named.life.id);
    let (ancestors, allowance) = nest::inside(tx, &parties, parent, &wanted).await?;
    let place = (&parties, ancestors.as_slice());
    let (envelope, _) = create(tx, clock, place, (grant.id, &allowance)).await?;
    Ok(envelope)
}

/// When a token is over: never after its envelope.
fn until(envelope: &envelopes::Envelope, now: Timestamp, seconds: i64) -> Timestamp {
    let closes_at = envelope.life.closes_at;
    now.checked_add(SignedDuration::from_secs(seconds)).map_or(closes_at, |it| it.min(closes_at))
}

fn no(reason: &'static str, problem: &str) -> Fault {
    Fault::Precondition { reason, problem: problem.to_owned() }
}
