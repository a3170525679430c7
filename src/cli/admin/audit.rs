//! `bursar admin audit`.

use clap::Args;

use super::{
    super::{allowance::Listing, describe, stop::Stop},
    Shown,
};
use crate::{
    client::{Client, Error},
    proto::ListAuditEntriesRequest,
};

const COLUMNS: &[&str] = &["time", "credential_display_name", "peer", "method", "resource"];

/// The arguments of `audit`.
#[derive(Debug, Clone, Args)]
pub struct Audit {
    /// Only about this resource, by its full name
    #[arg(long, value_name = "NAME")]
    resource: Option<String>,
    /// Only by this credential
    #[arg(long, value_name = "NAME")]
    credential: Option<String>,
    /// Only by this rpc, such as CreateBudget
    #[arg(long, value_name = "RPC")]
    method: Option<String>,
    /// From this time on, as RFC 3339
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Before this time, as RFC 3339
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    #[command(flatten)]
    listing: Listing,
}

pub(super) async fn list(client: &Client, it: Audit) -> Result<Shown, Stop> {
    let Audit { resource, credential, method, since, until, listing } = it;
    let wanted = ListAuditEntriesRequest {
        resource: resource.unwrap_or_default(),
        credential: credential.unwrap_or_default(),
        method: method.unwrap_or_default(),
        start_time: since.unwrap_or_default(),
        end_time: until.unwrap_or_default(),
        ..ListAuditEntriesRequest::default()
    };
    let page = |page_size, page_token| {
        let mut admin = client.admin();
        let request = ListAuditEntriesRequest { page_size, page_token, ..wanted.clone() };
        async move {
            let page = admin.list_audit_entries(request).await.map_err(Error::from)?.into_inner();
            Ok((page.audit_entries, page.next_page_token))
        }
    };
    let records = listing.collect(page).await?.iter().map(describe::audit_entry).collect();
    Ok(Shown::Many { name: "audit_entries", records, columns: COLUMNS })
}
