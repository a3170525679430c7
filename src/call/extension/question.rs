//! The question: when it is asked, and for how much.

use std::mem;

use jiff::Timestamp;

use super::{
    super::{Broker, End, Request, hold, reply::Reply, route::Routed},
    form,
    token::{self, Asked},
};
use crate::{
    budget::{
        decide::{self, Book},
        extension,
    },
    domain::{
        extension::{Extra, Terms},
        message::JsonText,
        outcome::{LimitStatus, Outcome, Refusal},
    },
    envelope::{self, Standing},
};

/// A question to a user.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// In words; it names the server.
    pub message: String,
    /// The params of MCP's `elicitation/create`, in form mode.
    pub elicitation: JsonText,
    /// The server, as the host knows it.
    pub server: String,
    /// To be sent back with the answer.
    pub token: String,
    /// Until when.
    pub expires_at: Timestamp,
}

const NO_VAULT: &str = "the grant lets a person extend the envelope, but this service has no \
                        vault_key to seal the question with, so nobody was asked";

/// Whether a person may be asked for more in a request's name: its host can ask, and the
/// grant has something left to ask for.
pub(in super::super) fn may_ask(request: &Request, standing: &Standing) -> bool {
    request.sampling.accepts_input_required && terms_left(standing).is_some()
}

/// Whether nothing was tried yet: who has already paid for a try is not asked any more.
pub(in super::super) fn is_first(routed: &Routed) -> bool {
    routed.past.attempt() == 1
}

/// Asks, where it would help: the error is the question. False: nobody may be asked, or
/// was asked before. True: nobody is asked after all, and the call is to end, or to land,
/// as if there were nobody.
pub(in super::super) async fn ask(
    broker: &Broker,
    routed: &mut Routed,
    limit: &LimitStatus,
) -> Result<bool, End> {
    let may_ask = mem::replace(&mut routed.admitted.may_ask, false);
    if !(may_ask && is_first(routed)) {
        return Ok(false);
    }
    // Apart, for it is seldom: other calls need not have room for it.
    Box::pin(put(broker, routed, limit)).await?;
    Ok(true)
}

/// The question as the error, where there is one to be put.
async fn put(broker: &Broker, routed: &mut Routed, limit: &LimitStatus) -> Result<(), End> {
    // What was looked up may be old, and nobody is asked on account of that.
    routed.admitted.look_again(broker).await?;
    let Some((terms, extra)) = offer(routed) else { return Ok(()) };
    let Some(vault) = &broker.vault else {
        routed.admitted.request.sampling.warnings.push(NO_VAULT.to_owned());
        return Ok(());
    };
    let Standing { envelope, grant, now, .. } = &routed.admitted.standing;
    let asked = Asked {
        id: broker.clock.id(),
        envelope: envelope.life.id,
        grant: grant.id,
        terms,
        extra,
        at: *now,
        expires_at: now.checked_add(broker.question_time).unwrap_or(*now),
    };
    match token::seal(vault, &routed.admitted.request, &asked) {
        Some(token) => Err(End::Reply(Box::new(reply(routed, &asked, (*limit, token))))),
        None => Ok(()),
    }
}

/// What to ask for: what the grant lets a person give, within what the envelopes around
/// have left. None where that would not let the call be made as an ordinary one, so where
/// it would still be short of something else.
pub(in super::super) fn offer(routed: &mut Routed) -> Option<(Terms, Extra)> {
    let standing = &routed.admitted.standing;
    let (id, now) = (standing.envelope.life.id, standing.now);
    let terms = terms_left(standing)?;
    let extra = extension::part(&standing.limits, id, &standing.kept(), (terms.extra, now));
    if extra.is_nothing() {
        return None;
    }
    let mut raised = standing.clone();
    let (moved, _) = extension::raise(&mut raised.limits, id, &extra, (now, now));
    let life = &mut raised.envelope.life;
    let moved = jiff::SignedDuration::from_secs(moved);
    life.closes_at = life.closes_at.checked_add(moved).unwrap_or(life.closes_at);
    let mut book: Book = raised.limits.iter().map(|it| (it.key, it.clone())).collect();
    // The same order as it would be then.
    let as_is = mem::replace(&mut routed.admitted.standing, raised);
    let ask = hold::order(routed, std::time::Duration::ZERO).ask;
    routed.admitted.standing = as_is;
    let fits = decide::hold(&mut book, &ask, Some(now)).is_ok_and(|it| !it.is_landing);
    fits.then_some((terms, extra))
}

/// The terms of the grant, while the envelope has not had all its extensions.
fn terms_left(standing: &Standing) -> Option<Terms> {
    standing.grant.extension.filter(|it| standing.envelope.extended < it.times)
}

fn reply(routed: &Routed, asked: &Asked, (limit, token): (LimitStatus, String)) -> Reply {
    let admitted = &routed.admitted;
    let (request, standing) = (&admitted.request, &admitted.standing);
    let currency = request.caller.currency;
    let message = form::message(&request.sampling.server, &limit, (&asked.extra, currency));
    let schema = form::schema(&asked.extra, currency, request.sampling.revision);
    let life = &standing.envelope.life;
    Reply {
        outcome: Outcome::InputRequired,
        limit: Some(limit),
        left: Some(envelope::left(life, &standing.limits, standing.now)),
        envelope: Some(life.id),
        warnings: request.sampling.warnings.clone(),
        refusal: None,
        question: Some(Box::new(Question {
            elicitation: form::params(&message, schema, request.sampling.revision),
            message,
            server: request.sampling.server.clone(),
            token,
            expires_at: asked.expires_at,
        })),
        ..Reply::refused(Refusal::NoGrant)
    }
}
