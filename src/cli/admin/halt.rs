//! `bursar admin stop`, `resume` and `stops`.

use clap::Args;

use super::{
    super::{allowance::Listing, describe, stop::Stop},
    Shown,
};
use crate::{
    client::{Client, Error},
    proto::{ListStopsRequest, ResumeSamplingRequest, StopSamplingRequest},
};

const COLUMNS: &[&str] =
    &["name", "user", "server", "reason", "stop_time", "stopped_by", "lift_time"];

/// The arguments of `stop`.
#[derive(Debug, Clone, Args)]
#[command(group(clap::ArgGroup::new("whom").required(true).multiple(true)))]
pub struct Halt {
    /// Stop this user; with --server: this user with that server
    #[arg(long, value_name = "ID", group = "whom")]
    user: Option<String>,
    /// Stop this server
    #[arg(long, value_name = "ID", group = "whom")]
    server: Option<String>,
    /// Stop everybody
    #[arg(long, group = "whom", conflicts_with_all = ["user", "server"])]
    whole_tenant: bool,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// The arguments of `stops`.
#[derive(Debug, Clone, Args)]
pub struct List {
    /// Those too that were lifted
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    listing: Listing,
}

pub(super) async fn stop(client: &Client, it: Halt) -> Result<Shown, Stop> {
    let request = StopSamplingRequest {
        user: it.user.unwrap_or_default(),
        server: it.server.unwrap_or_default(),
        whole_tenant: it.whole_tenant,
        reason: it.reason.unwrap_or_default(),
    };
    let made = client.admin().stop_sampling(request).await.map_err(Error::from)?;
    Ok(Shown::One(describe::stop(&made.into_inner())))
}

pub(super) async fn resume(client: &Client, name: String) -> Result<Shown, Stop> {
    let lifted = client.admin().resume_sampling(ResumeSamplingRequest { name }).await;
    Ok(Shown::One(describe::stop(&lifted.map_err(Error::from)?.into_inner())))
}

pub(super) async fn list(client: &Client, it: List) -> Result<Shown, Stop> {
    let List { all, listing } = it;
    let page = |page_size, page_token| {
        let mut admin = client.admin();
        async move {
            let request = ListStopsRequest { page_size, page_token, with_lifted: all };
            let page = admin.list_stops(request).await.map_err(Error::from)?.into_inner();
            Ok((page.stops, page.next_page_token))
        }
    };
    let records = listing.collect(page).await?.iter().map(describe::stop).collect();
    Ok(Shown::Many { name: "stops", records, columns: COLUMNS })
}
