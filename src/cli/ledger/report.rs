//! `bursar ledger report`: where the money went.

use clap::{Args, ValueEnum};

use super::{
    month::{Month, instant},
    render::{self, Format, Shown},
};
use crate::{
    cli::{output::Output, stop::Stop},
    client::{Client, Error},
    proto::{
        EntryKind, ReportDimension, ReportEntriesRequest, ReportEntriesResponse, ReportFilter,
        ReportGrain,
    },
};

/// The largest page that the service gives.
const PAGE_ROWS_MAX: i32 = 500;

/// The arguments of `report`.
#[derive(Debug, Clone, Args)]
pub struct Report {
    /// This month, in UTC; without it, the present one
    #[arg(long, value_name = "YYYY-MM", value_parser = Month::parse, conflicts_with_all = ["from", "to"])]
    month: Option<Month>,
    /// From this day or instant
    #[arg(long, value_name = "TIME", value_parser = instant, requires = "to")]
    from: Option<String>,
    /// Until just before this day or instant
    #[arg(long, value_name = "TIME", value_parser = instant, requires = "from")]
    to: Option<String>,
    /// What to part it by
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_value = "server,user")]
    by: Vec<By>,
    /// Part time, too
    #[arg(long)]
    grain: Option<Grain>,
    /// Only the dearest N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    top: Option<u32>,
    /// Show what the period before came to
    #[arg(long, conflicts_with = "grain")]
    compare: bool,
    /// How to print it; --json is short for json
    #[arg(long, default_value = "text")]
    format: Format,
    /// Which entries.
    #[command(flatten)]
    only: Only,
}

/// Which entries count.
#[derive(Debug, Clone, Default, Args)]
pub struct Only {
    /// Only this user's
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// Only this server's
    #[arg(long, value_name = "ID")]
    server: Option<String>,
    /// Only this host application's
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Only this model's
    #[arg(long, value_name = "ALIAS")]
    model: Option<String>,
    /// Only this backend's
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// Only this project root's
    #[arg(long, value_name = "URI")]
    root: Option<String>,
    /// Only this envelope's
    #[arg(long, value_name = "NAME")]
    envelope: Option<String>,
    /// Only entries of this kind
    #[arg(long)]
    kind: Option<Kind>,
}

/// What a report can be parted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The person
    User,
    /// The MCP server
    Server,
    /// The client application
    Host,
    /// The model
    Model,
    /// The backend
    Backend,
    /// The project root
    Root,
    /// The sub-agent's allowance
    Envelope,
    /// Why entries were written
    Kind,
    /// Nothing: one row
    None,
}

/// How finely time is parted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Grain {
    /// Hours
    Hour,
    /// Days
    Day,
    /// Weeks from Monday
    Week,
    /// Months
    Month,
}

/// Why an entry was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A hold was used
    Settle,
    /// Certainly nothing was used
    Void,
    /// Nobody resolved a hold in time
    Expire,
    /// A truth that came later
    LateSettle,
    /// A correction by hand
    Correction,
}

pub(super) async fn run(
    client: &Client,
    report: Report,
    (json, output): (bool, &mut Output<'_>),
) -> Result<(), Stop> {
    let format = if json { Format::Json } else { report.format };
    let top = report.top.and_then(|it| usize::try_from(it).ok()).unwrap_or(usize::MAX);
    let by: Vec<By> = report.by.iter().copied().filter(|it| *it != By::None).collect();
    let has_grain = report.grain.is_some();
    let compare = report.compare;
    let found = read(client, request(report)?, top).await?;
    let shown = Shown { by: &by, has_grain, compare, report: &found };
    output.write(&render::render(&shown, format)?)
}

/// All pages of a report as one, or as many rows as are wanted.
async fn read(
    client: &Client,
    mut request: ReportEntriesRequest,
    top: usize,
) -> Result<ReportEntriesResponse, Stop> {
    let mut ledger = client.ledger();
    let mut whole: Option<ReportEntriesResponse> = None;
    loop {
        let have = whole.as_ref().map_or(0, |it| it.rows.len());
        request.page_size =
            i32::try_from(top.saturating_sub(have)).unwrap_or(i32::MAX).min(PAGE_ROWS_MAX);
        let page = ledger.report_entries(request.clone()).await.map_err(Error::from)?;
        let page = page.into_inner();
        let (next, stuck) = (page.next_page_token.clone(), page.rows.is_empty());
        match &mut whole {
            None => whole = Some(page),
            Some(it) => it.rows.extend(page.rows),
        }
        let have = whole.as_ref().map_or(0, |it| it.rows.len());
        if next.is_empty() || stuck || have >= top {
            return Ok(whole.unwrap_or_default());
        }
        request.page_token = next;
    }
}

fn request(report: Report) -> Result<ReportEntriesRequest, Stop> {
    let Report { month, from, to, by, grain, compare, only, .. } = report;
    let span = match month {
        Some(it) => it.span().map_err(|it| Stop::new(format!("--month {it}")))?,
        None => (from.unwrap_or_default(), to.unwrap_or_default()),
    };
    Ok(ReportEntriesRequest {
        dimensions: by.into_iter().filter_map(dimension).map(Into::into).collect(),
        grain: grain.map_or(ReportGrain::Unspecified, self::grain).into(),
        start_time: span.0,
        end_time: span.1,
        filter: Some(filter(only)),
        compare,
        page_size: 0,
        page_token: String::new(),
    })
}

fn filter(only: Only) -> ReportFilter {
    let Only { user, server, host, model, backend, root, envelope, kind } = only;
    ReportFilter {
        user: user.unwrap_or_default(),
        server: server.unwrap_or_default(),
        host: host.unwrap_or_default(),
        model: model.unwrap_or_default(),
        backend: backend.unwrap_or_default(),
        root: root.unwrap_or_default(),
        envelope: envelope.unwrap_or_default(),
        kind: kind.map_or(EntryKind::Unspecified, self::kind).into(),
    }
}

const fn dimension(it: By) -> Option<ReportDimension> {
    Some(match it {
        By::User => ReportDimension::User,
        By::Server => ReportDimension::Server,
        By::Host => ReportDimension::Host,
        By::Model => ReportDimension::Model,
        By::Backend => ReportDimension::Backend,
        By::Root => ReportDimension::Root,
        By::Envelope => ReportDimension::Envelope,
        By::Kind => ReportDimension::Kind,
        By::None => return None,
    })
}

const fn grain(it: Grain) -> ReportGrain {
    match it {
        Grain::Hour => ReportGrain::Hour,
        Grain::Day => ReportGrain::Day,
        Grain::Week => ReportGrain::Week,
        Grain::Month => ReportGrain::Month,
    }
}

const fn kind(it: Kind) -> EntryKind {
    match it {
        Kind::Settle => EntryKind::Settle,
        Kind::Void => EntryKind::Void,
        Kind::Expire => EntryKind::Expire,
        Kind::LateSettle => EntryKind::LateSettle,
        Kind::Correction => EntryKind::Correction,
    }
}
