//! From a request's metadata to a right. What else the metadata says of tenant,
//! user and server is only compared, never believed.

use http::HeaderMap;
use tonic::{
    Status,
    metadata::{MetadataMap, MetadataValue},
};
use tonic_types::StatusExt;

use super::{peer, state::Services, status::MCP_ERROR_CODE};
use crate::{
    domain::{fault::Fault, ids::TenantId, request::Revision},
    identity::{Caller, authenticate, key::Key},
    proto,
    transport::mcp_headers::{METHOD, Said, disagreement},
};

const AUTHORIZATION: &str = "authorization";
const TENANT: &str = "bursar-tenant";
const USER: &str = "bursar-user";
const SERVER: &str = "bursar-server";

/// The JSON-RPC code of a header that contradicts the body.
const HEADER_MISMATCH: &str = "-32020";

/// Longer than any key.
const HEADER_BYTES_MAX: usize = 256;

/// Who asks, with the right `R` that the rpc needs, unless that comes too fast.
pub async fn right<R>(services: &Services, metadata: &MetadataMap) -> Result<R, Status>
where
    R: TryFrom<Caller, Error = Fault>,
{
    Ok(R::try_from(caller(services, metadata).await?)?)
}

/// Who asks, whatever their role, unless they come too fast. A missing, repeated,
/// malformed, unknown, expired or revoked key all look the same.
pub async fn caller(services: &Services, metadata: &MetadataMap) -> Result<Caller, Status> {
    let mut caller = authenticate(&services.store, bearer(metadata.as_ref())).await?;
    caller.peer = peer::of(metadata);
    services.shed.key(caller.credential.id)?;
    agree(metadata, TENANT, |it| is_tenant(it, caller.tenant.id))?;
    Ok(caller)
}

/// Compares `bursar-user` and `bursar-server`, where they are sent, with the user
/// and the server that the body names.
pub fn parties_agree(metadata: &MetadataMap, user: &str, server: &str) -> Result<(), Status> {
    agree(metadata, USER, |it| it == user.as_bytes())?;
    agree(metadata, SERVER, |it| it == server.as_bytes())
}

/// Compares MCP's headers, where they are sent, with what the request asks for.
pub fn mcp_agrees(
    metadata: &MetadataMap,
    request: &proto::CreateMessageRequest,
) -> Result<(), Status> {
    let revision = request.protocol_revision.as_str();
    let said = Said {
        method: METHOD,
        name: request.originating_call.as_ref().map(|it| it.name.as_str()),
        revision: if revision.is_empty() { Revision::R20251125.as_str() } else { revision },
    };
    match disagreement(metadata.as_ref(), &said) {
        None => Ok(()),
        Some(header) => Err(mismatch(&header)),
    }
}

/// Whether there is a key that could be one, known or not: what can be told before a
/// byte of the body is read.
pub(super) fn bears_a_key(headers: &HeaderMap) -> bool {
    bearer(headers).is_some_and(|it| it.parse::<Key>().is_ok())
}

/// The key, if there is exactly one. The scheme's name may be in any case.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let only = all.next().filter(|_| all.next().is_none())?;
    let (scheme, key) = only.to_str().ok()?.split_once(' ')?;
    let fits = scheme.eq_ignore_ascii_case("bearer") && key.len() <= HEADER_BYTES_MAX;
    fits.then_some(key)
}

fn is_tenant(said: &[u8], tenant: TenantId) -> bool {
    let id = tenant.to_string();
    said.strip_prefix(b"tenants/").unwrap_or(said) == id.as_bytes()
}

/// Every value of a header agrees, if there is any.
fn agree(
    metadata: &MetadataMap,
    header: &str,
    agrees: impl Fn(&[u8]) -> bool,
) -> Result<(), Status> {
    if metadata.get_all(header).iter().all(|it| agrees(it.as_encoded_bytes())) {
        return Ok(());
    }
    Err(mismatch(header))
}

fn mismatch(header: &str) -> Status {
    let problem = "must agree with the credential and the body, or be left out";
    let plain = Status::from(Fault::invalid(header, problem));
    let mut details = plain.get_error_details();
    if let Some(info) = details.error_info().cloned() {
        details.set_error_info("HEADER_MISMATCH", info.domain, info.metadata);
    }
    let mut metadata = plain.metadata().clone();
    metadata.insert(MCP_ERROR_CODE, MetadataValue::from_static(HEADER_MISMATCH));
    Status::with_error_details_and_metadata(plain.code(), plain.message(), details, metadata)
}
