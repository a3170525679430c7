//! From the bytes of a JSON-RPC request to a request of the wire.

use axum::http::HeaderMap;
use serde_json::value::RawValue;

use super::problem::Problem;
use crate::{
    domain::request::Revision,
    proto::{
        self,
        mcp_json::{
            self, check_bounds,
            node::{Node, Object},
            params_from_json,
        },
    },
    transport::mcp_headers::{METHOD, Said, disagreement, value},
};

/// What the params' `_meta` says of the call.
const USER: &str = "dev.bursar/user";
const SERVER: &str = "dev.bursar/server";
const ENVELOPE: &str = "dev.bursar/envelope";
const CONVERSATION: &str = "dev.bursar/conversation";
const ORIGINATING: &str = "dev.bursar/originatingCall";
const ROOT: &str = "dev.bursar/root";
/// MCP's own.
const REVISION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The longest id of a request, in bytes.
const ID_BYTES_MAX: usize = 256;

/// The revision of a request that names none.
const DEFAULT: Revision = Revision::R20251125;

/// A request once its frame was read.
pub(super) struct Frame<'a> {
    /// As it was written.
    pub(super) id: Box<RawValue>,
    method: String,
    params: Node<'a>,
}

/// What is asked.
pub(super) struct Asked {
    pub(super) request: proto::CreateMessageRequest,
    pub(super) revision: Revision,
}

/// Reads the frame: JSON-RPC 2.0, one request, with an id.
pub(super) fn frame(text: &str) -> Result<Frame<'_>, Problem> {
    check_bounds(text).map_err(|it| Problem::unreadable(&it))?;
    let document = Node::document(text).map_err(|it| Problem::unreadable(&it))?;
    let read = || {
        let it = document.object()?;
        let version = it.need("jsonrpc")?;
        if version.string()? != "2.0" {
            return Err(version.problem("must be 2.0"));
        }
        let id = it.need("id")?;
        let text = id.any_json();
        let kind = text.bytes().next();
        let fine = kind.is_some_and(|it| it == b'"' || it == b'-' || it.is_ascii_digit());
        if !fine || text.len() > ID_BYTES_MAX {
            return Err(id.problem("must be a string or a number of at most 256 bytes"));
        }
        let id = RawValue::from_string(text).map_err(|_| id.problem("must be JSON"))?;
        Ok(Frame { id, method: it.string("method")?, params: it.need("params")? })
    };
    read().map_err(|it| Problem::no_request(&it))
}

impl Frame<'_> {
    /// Reads what is asked, once every header agrees with it.
    pub(super) fn asked(&self, headers: &HeaderMap) -> Result<Asked, Problem> {
        let params = self.params.object().map_err(|it| of_params(&it))?;
        let meta = params.get("_meta").map(|it| it.object()).transpose();
        let meta = meta.map_err(|it| of_params(&it))?;
        let (stated, request) = match &meta {
            Some(it) => stated(it).map_err(|it| of_params(&it))?,
            None => (None, proto::CreateMessageRequest::default()),
        };
        // What a header alone says is what is executed; what the body says is compared.
        let revision = stated.or_else(|| value(headers, "mcp-protocol-version"));
        let known = |text: &str| Revision::ALL.into_iter().find(|it| it.as_str() == text);
        let executed = revision.as_deref().map_or(Some(DEFAULT), known);
        let said = Said {
            method: &self.method,
            name: request.originating_call.as_ref().map(|it| it.name.as_str()),
            revision: revision.as_deref().unwrap_or(DEFAULT.as_str()),
        };
        if let Some(header) = disagreement(headers, &said) {
            return Err(Problem::mismatch(&header));
        }
        let revision = executed.ok_or_else(Problem::no_such_revision)?;
        if self.method != METHOD {
            return Err(Problem::no_such_method());
        }
        let params = params_from_json(&self.params.any_json()).map_err(|it| in_params(&it))?;
        let declared = request.client_capabilities.is_none_or(|it| it.sampling_tools);
        let has_tools = !params.tools.is_empty() || params.tool_choice.is_some();
        if has_tools && revision.has_tools() && !declared {
            return Err(Problem::no_tools_declared());
        }
        let protocol_revision = revision.as_str().to_owned();
        let request =
            proto::CreateMessageRequest { protocol_revision, params: Some(params), ..request };
        Ok(Asked { request, revision })
    }
}

/// What the `_meta` says: the revision, and all of the request but its params.
fn stated(
    meta: &Object<'_>,
) -> Result<(Option<String>, proto::CreateMessageRequest), mcp_json::Problem> {
    let originating_call = meta.get(ORIGINATING).map(|it| originating(&it)).transpose()?;
    let capabilities = meta.get(CAPABILITIES).map(|it| capabilities(&it)).transpose()?;
    let request = proto::CreateMessageRequest {
        user: meta.string_or_empty(USER)?,
        server: meta.string_or_empty(SERVER)?,
        envelope: meta.string_or_empty(ENVELOPE)?,
        conversation: meta.string_or_empty(CONVERSATION)?,
        root: meta.string_or_empty(ROOT)?,
        originating_call,
        client_capabilities: capabilities,
        ..Default::default()
    };
    let revision = meta.get(REVISION).map(|it| it.string()).transpose()?;
    Ok((revision, request))
}

fn originating(node: &Node<'_>) -> Result<proto::OriginatingCall, mcp_json::Problem> {
    let it = node.object()?;
    let id = match it.get("id") {
        // Request ids are numbers as a rule, and calls are told apart by their text.
        Some(id) if !id.any_json().starts_with('"') => id.integer()?.to_string(),
        Some(id) => id.string()?,
        None => String::new(),
    };
    Ok(proto::OriginatingCall {
        id,
        method: it.string_or_empty("method")?,
        name: it.string_or_empty("name")?,
    })
}

fn capabilities(node: &Node<'_>) -> Result<proto::ClientCapabilities, mcp_json::Problem> {
    let sampling = node.object()?.get("sampling").map(|it| it.object()).transpose()?;
    let has = |name| sampling.as_ref().is_some_and(|it| it.get(name).is_some());
    Ok(proto::ClientCapabilities {
        sampling: sampling.is_some(),
        sampling_tools: has("tools"),
        sampling_context: has("context"),
        ..Default::default()
    })
}

/// A problem whose path begins with the params.
fn of_params(it: &mcp_json::Problem) -> Problem {
    Problem::invalid(&it.path, &it.problem)
}

/// A problem whose path begins within them.
fn in_params(it: &mcp_json::Problem) -> Problem {
    let path = if it.path.is_empty() { "params".to_owned() } else { format!("params.{}", it.path) };
    Problem::invalid(&path, &it.problem)
}
