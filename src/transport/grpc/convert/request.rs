//! A sampling request: the only way from the wire to a
//! [`SamplingRequest`].

use super::{
    field::{At, id, label, optional},
    name,
    params::{self, Host},
};
use crate::{
    domain::{
        extension::{Resume, Said},
        fault::Fault,
        request::{EnvelopeChoice, Origin, OriginatingCall, Revision, SamplingRequest, Scope},
    },
    proto::{self, InputAction},
};

/// The longest token of a question, in bytes.
const TOKEN_BYTES_MAX: usize = 1_024;

/// The longest answer to one, in bytes.
const CONTENT_BYTES_MAX: usize = 4_096;

/// The longest project root, in bytes.
const ROOT_BYTES_MAX: usize = 2_048;

/// Reads a request. A fault names the first field that is missing, malformed or
/// out of range; fields that are not known are ignored.
pub fn sampling_request(it: proto::CreateMessageRequest) -> Result<SamplingRequest, Fault> {
    let user = id("user", &it.user)?;
    let server = id("server", &it.server)?;
    let conversation = label("conversation", &it.conversation)?;
    let originating = it.originating_call.as_ref().map(originating_call).transpose()?;
    let envelope = envelope_choice(&it.envelope, conversation, originating.as_ref())?;
    let root = project_root("root", &it.root)?;
    let input_key = label("input_key", &it.input_key)?;
    let request_id = label("request_id", &it.request_id)?;
    let resume = resume(&it.resume_token, it.input_answer)?;
    let revision = revision(&it.protocol_revision)?;
    let tools_declared = it.client_capabilities.is_none_or(|it| it.sampling_tools);
    let params = it.params.ok_or_else(|| Fault::invalid("params", "is required"))?;
    let host = Host { revision, tools_declared };
    let (params, warnings) = params::params(params, host).at("params")?;
    Ok(SamplingRequest {
        user,
        server,
        envelope,
        origin: origin(it.origin),
        originating,
        root,
        input_key,
        request_id,
        accepts_input_required: it.accepts_input_required,
        resume: resume.map(Box::new),
        revision,
        params,
        warnings,
    })
}

/// An answer with the question's token. Whether they are any good is seen when the token
/// is opened.
fn resume(token: &str, answer: Option<proto::InputAnswer>) -> Result<Option<Resume>, Fault> {
    let Some(token) = optional("resume_token", token, TOKEN_BYTES_MAX)? else {
        let problem = "is required with input_answer";
        return answer.map_or(Ok(None), |_| Err(Fault::invalid("resume_token", problem)));
    };
    let proto::InputAnswer { action, content_json } = answer.unwrap_or_default();
    let said = match InputAction::try_from(action) {
        Ok(InputAction::Accept) if content_json.len() > CONTENT_BYTES_MAX => {
            let problem = format!("must be at most {CONTENT_BYTES_MAX} bytes");
            return Err(Fault::invalid("input_answer.content_json", problem));
        }
        Ok(InputAction::Accept) => Said::Yes(Some(content_json).filter(|it| !it.is_empty())),
        Ok(InputAction::Decline | InputAction::Cancel | InputAction::Unspecified) => Said::No,
        Err(_) => {
            let problem = "must be ACCEPT, DECLINE, CANCEL or absent";
            return Err(Fault::invalid("input_answer.action", problem));
        }
    };
    Ok(Some(Resume { token, said }))
}

fn originating_call(it: &proto::OriginatingCall) -> Result<OriginatingCall, Fault> {
    Ok(OriginatingCall {
        id: label("originating_call.id", &it.id)?,
        method: label("originating_call.method", &it.method)?,
        name: label("originating_call.name", &it.name)?,
    })
}

fn envelope_choice(
    text: &str,
    conversation: Option<String>,
    originating: Option<&OriginatingCall>,
) -> Result<EnvelopeChoice, Fault> {
    if !text.is_empty() {
        let name = name::parse("envelope", text)?;
        return Ok(EnvelopeChoice::Named { tenant: name.tenant, id: name.id });
    }
    let call = originating.and_then(|it| it.id.clone());
    Ok(EnvelopeChoice::Scoped(match (call, conversation) {
        (Some(call), conversation) => {
            Scope::Call { conversation: conversation.unwrap_or_default(), call }
        }
        (None, Some(conversation)) => Scope::Conversation(conversation),
        (None, None) => Scope::Default,
    }))
}

/// A value that is not known says nothing, like none.
fn origin(number: i32) -> Origin {
    match proto::Origin::try_from(number).unwrap_or_default() {
        proto::Origin::Unspecified => Origin::Unknown,
        proto::Origin::ToolCall => Origin::ToolCall,
        proto::Origin::App => Origin::App,
        proto::Origin::Background => Origin::Background,
    }
}

fn revision(text: &str) -> Result<Revision, Fault> {
    if text.is_empty() {
        return Ok(Revision::R20251125);
    }
    Revision::ALL.into_iter().find(|it| it.as_str() == text).ok_or_else(|| {
        let known = Revision::ALL.map(Revision::as_str).join(", ");
        Fault::invalid("protocol_revision", format!("must be one of {known}"))
    })
}

/// A `file://` URI that does not climb: `..` is looked for after decoding, and
/// between backslashes too. A slash at the end makes no other root of it.
pub fn project_root(field: &str, text: &str) -> Result<Option<String>, Fault> {
    let Some(root) = optional(field, text, ROOT_BYTES_MAX)? else { return Ok(None) };
    let wrong = |problem: &str| Fault::invalid(field, problem);
    let path = root.strip_prefix("file://").ok_or_else(|| wrong("must be a file:// URI"))?;
    let path = percent_decoded(path).ok_or_else(|| wrong("has a malformed percent escape"))?;
    if path.iter().any(u8::is_ascii_control) {
        return Err(wrong("must not contain control characters"));
    }
    if path.split(|it| matches!(it, b'/' | b'\\')).any(|it| it == b"..") {
        return Err(wrong("must not contain .. segments"));
    }
    let bare = root.trim_end_matches('/');
    Ok(Some(if bare.len() > "file://".len() { bare.to_owned() } else { root }))
}

fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut decoded = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|it| it.bytes().all(|b| b.is_ascii_hexdigit()))?;
        decoded.push(u8::from_str_radix(digits, 16).ok()?);
        decoded.extend_from_slice(part.get(2..)?.as_bytes());
    }
    Some(decoded)
}
