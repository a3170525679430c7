//! What a question bears until it comes back: sealed, about one request of one key, and
//! good for a while.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use uuid::Uuid;

use super::super::Request;
use crate::{
    domain::{
        extension::{Extra, Terms},
        ids::{EnvelopeId, ExtensionId, GrantId},
        money::Amount,
    },
    vault::Vault,
};

/// What tokens of this form begin with; also sealed in.
const FORM: &str = "rt1_";

/// Names a request's content: the same request has the same, whoever answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body(pub(super) [u8; 32]);

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    /// The token's own.
    pub(super) id: ExtensionId,
    pub(super) envelope: EnvelopeId,
    /// The consent that let us ask, and its terms: other ones are another version.
    pub(super) grant: GrantId,
    pub(super) terms: Terms,
    /// How much was asked for.
    pub(super) extra: Extra,
    /// Both by Postgres' clock.
    pub(super) at: Timestamp,
    pub(super) expires_at: Timestamp,
}

/// Seals what was asked about a request; none where there is nothing to seal it with.
pub(super) fn seal(vault: &Vault, request: &Request, asked: &Asked) -> Option<String> {
    let sealed = vault.seal(&about(request)?, &asked.to_bytes()).ok()?;
    Some(format!("{FORM}{}", URL_SAFE_NO_PAD.encode(sealed)))
}

/// Opens a token; none where it is of another request, key, host or tenant, was changed,
/// or was never ours: nobody learns which.
pub(super) fn open(vault: &Vault, request: &Request, token: &str) -> Option<Asked> {
    let sealed = URL_SAFE_NO_PAD.decode(token.strip_prefix(FORM)?).ok()?;
    Asked::from_bytes(&vault.open(&about(request)?, &sealed)?)
}

/// Whose request it is, and which. User and server are part of the body.
fn about(request: &Request) -> Option<Vec<u8>> {
    let caller = &request.caller;
    let ids = [caller.tenant.uuid(), caller.host.uuid(), caller.credential.uuid()];
    let mut about = FORM.as_bytes().to_vec();
    for id in ids {
        about.extend_from_slice(id.as_bytes());
    }
    about.extend_from_slice(&request.body?.0);
    Some(about)
}

impl Asked {
    fn to_bytes(self) -> Vec<u8> {
        let Self { id, envelope, grant, terms, extra, at, expires_at } = self;
        let mut bytes = Vec::new();
        for id in [id.uuid(), envelope.uuid(), grant.uuid()] {
            bytes.extend_from_slice(id.as_bytes());
        }
        let Terms { extra: most, times } = terms;
        for extra in [most, extra] {
            for number in [extra.calls, extra.seconds, extra.money.nanos()] {
                bytes.extend_from_slice(&number.to_be_bytes());
            }
        }
        for number in [times, at.as_microsecond(), expires_at.as_microsecond()] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// None: nothing that we have sealed.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut id = || {
            let (first, others) = rest.split_first_chunk::<16>()?;
            rest = others;
            Some(Uuid::from_bytes(*first))
        };
        let (own, envelope, grant) = (id()?, id()?, id()?);
        let mut number = || {
            let (first, others) = rest.split_first_chunk::<8>()?;
            rest = others;
            Some(i64::from_be_bytes(*first))
        };
        let mut extra = || {
            let (calls, seconds) = (number()?, number()?);
            Some(Extra { calls, seconds, money: Amount::from_nanos(number()?) })
        };
        let (most, extra) = (extra()?, extra()?);
        let times = number()?;
        let (at, expires_at) = (number()?, number()?);
        let asked = Self {
            id: own.into(),
            envelope: envelope.into(),
            grant: grant.into(),
            terms: Terms { extra: most, times },
            extra,
            at: Timestamp::from_microsecond(at).ok()?,
            expires_at: Timestamp::from_microsecond(expires_at).ok()?,
        };
        rest.is_empty().then_some(asked)
    }
}
