//! The answer: the same request once more, with the token and what the person said.

use super::{
    super::{
        Broker, End, Request,
        admission::{Admitted, in_time},
    },
    form,
    token::{self, Asked},
};
use crate::{
    budget::extension::{self, Gift, Given},
    domain::{
        extension::{Extra, Said},
        fault::Fault,
        hold::Parties,
        request::EnvelopeChoice,
    },
    envelope::Standing,
};

/// An answer to a question of ours.
pub(in super::super) struct Answer {
    asked: Asked,
    /// None: no.
    given: Option<Extra>,
}

const TOO_LATE: &str = "the answer came after the question's time; nothing was added";
const OTHER_GRANT: &str = "the grant has changed since the question; nothing was added";
const USED: &str = "the resume_token was used before; nothing was added now";
const TOO_OFTEN: &str = "the envelope has had all answers that its grant allows; nothing was added";
const NOTHING: &str = "the envelopes around have nothing left to give; nothing was added";

/// Opens the token that a request bears, where it bears one. From then on the request is
/// for the envelope that the question was about, whatever that is found by otherwise.
pub(in super::super) fn open(
    broker: &Broker,
    mut request: Request,
) -> Result<(Request, Option<Box<Answer>>), Fault> {
    let Some(resume) = &request.sampling.resume else { return Ok((request, None)) };
    let vault = broker.vault.as_ref();
    let asked = vault.and_then(|it| token::open(it, &request, &resume.token));
    let asked = asked.ok_or_else(|| {
        Fault::invalid("resume_token", "is not of a question to this request; ask without it")
    })?;
    let given = match &resume.said {
        Said::Yes(content) => Some(form::read(content.as_deref(), &asked.extra)?),
        Said::No => None,
    };
    request.sampling.envelope = EnvelopeChoice::Named { tenant: None, id: asked.envelope };
    let given = given.filter(|it| !it.is_nothing());
    Ok((request, Some(Box::new(Answer { asked, given }))))
}

/// Lets the envelope have what a person gave, once. A no, and an answer that was used
/// before, let the call go on with what there is. A yes that comes too late or under
/// another grant adds nothing, but the person may be asked anew.
pub(in super::super) async fn give(
    broker: &Broker,
    admitted: Admitted,
    answer: Option<Box<Answer>>,
) -> Result<Admitted, End> {
    match answer {
        None => Ok(admitted),
        // Apart, for it is seldom: other calls need not have room for it.
        Some(answer) => Box::pin(heed(broker, admitted, *answer)).await,
    }
}

async fn heed(
    broker: &Broker,
    mut admitted: Admitted,
    Answer { asked, given }: Answer,
) -> Result<Admitted, End> {
    let stale = stale(&admitted.standing, &asked);
    admitted.may_ask &= stale.is_some() && given.is_some();
    if let Some(stale) = stale {
        warn(&mut admitted, stale);
        return Ok(admitted);
    }
    let gift = gift(&admitted, &asked, given);
    let given = async { extension::give(&broker.store, &gift).await.map_err(Fault::from) };
    match in_time(given).await? {
        // It finds the limits raised, or the envelope closed.
        Given::Added(_) | Given::Refused | Given::Closed => admitted.look_again(broker).await?,
        Given::Before => warn(&mut admitted, USED),
        Given::TooOften => warn(&mut admitted, TOO_OFTEN),
        Given::Nothing => warn(&mut admitted, NOTHING),
    }
    Ok(admitted)
}

/// Why a yes is worth nothing any more.
fn stale(standing: &Standing, asked: &Asked) -> Option<&'static str> {
    let grant = &standing.grant;
    if standing.now >= asked.expires_at {
        return Some(TOO_LATE);
    }
    let same = grant.id == asked.grant && grant.extension == Some(asked.terms);
    (!same).then_some(OTHER_GRANT)
}

fn warn(admitted: &mut Admitted, text: &str) {
    admitted.request.sampling.warnings.push(text.to_owned());
}

fn gift(admitted: &Admitted, asked: &Asked, given: Option<Extra>) -> Gift {
    let Admitted { request, standing, .. } = admitted;
    Gift {
        id: asked.id,
        parties: Parties { root: None, ..standing.envelope.parties },
        kept: standing.kept(),
        credential: request.caller.credential,
        grant: asked.grant,
        times_max: asked.terms.times,
        call: request.call,
        asked: asked.extra,
        asked_at: asked.at,
        given,
    }
}
