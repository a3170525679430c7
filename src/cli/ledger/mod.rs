//! `bursar ledger`: what was booked, and the proof that it adds up.

pub mod export;
pub mod finance;
pub mod month;
pub mod render;
pub mod report;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::cli::{
    allowance::Listing,
    describe,
    output::{Output, Tone, plain},
    record::Record,
    stop::Stop,
    target::{Common, Role},
};
use crate::{
    client::{Client, Error},
    ledger,
    proto::{Entry, ListEntriesRequest, VerifyLedgerRequest, VerifyLedgerResponse},
    store::{self, Store},
};

/// The attempts of a call bear its id and a number each; `--call` lists them alone.
const COLUMNS: &[&str] = &[
    "booked_at",
    "kind",
    "user",
    "server",
    "model",
    "charge",
    "currency",
    "estimated",
    "call",
    "attempt",
];

/// The arguments of `ledger`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  bursar ledger query --user alice --limit 10
  bursar ledger report --month 2026-11 --by user,model --compare
  bursar ledger explain ENTRY
  bursar ledger export --format focus-1.2 --month 2026-11 --out november.csv
  bursar ledger close --month 2026-11
  bursar ledger verify --json

Exit status of verify: 0 when all adds up, 1 when it does not, 2 when it could not be checked.")]
pub struct Ledger {
    /// Where to, and how to print.
    #[command(flatten)]
    pub common: Common,
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done with the ledger.
#[derive(Debug, Clone, Subcommand)]
pub enum Action {
    /// Prove that entries balance, counters equal the ledger and holds add up
    Verify(Verify),
    /// List entries, newest first
    Query(Query),
    /// Sum up a month by server and user, or a period by anything
    Report(Box<report::Report>),
    /// Say how an entry's amount came about, and make it anew from its parts
    Explain {
        /// The entry's name or id
        #[arg(value_name = "ENTRY")]
        name: String,
    },
    /// Write a month to a file, with a manifest beside it
    Export(export::Export),
    /// Close a month for good, if every check passes
    Close(finance::Close),
}

/// The arguments of `verify`.
#[derive(Debug, Clone, Args)]
pub struct Verify {
    /// Verify every tenant of this database directly, without a service
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    database_url: Option<String>,
    /// Verify an exported journal by itself and its manifest, without a service
    #[arg(long, value_name = "FILE", conflicts_with = "database_url")]
    export: Option<std::path::PathBuf>,
}

/// The arguments of `query`.
#[derive(Debug, Clone, Args)]
pub struct Query {
    /// Only this user's
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// Only this server's
    #[arg(long, value_name = "ID")]
    server: Option<String>,
    /// Only this envelope's
    #[arg(long, value_name = "NAME")]
    envelope: Option<String>,
    /// Only this call's
    #[arg(long, value_name = "ID")]
    call: Option<String>,
    /// How many.
    #[command(flatten)]
    listing: Listing,
}

pub(super) async fn run(args: Ledger, output: &mut Output<'_>) -> Result<ExitCode, Stop> {
    if let Action::Verify(Verify { export: Some(file), .. }) = &args.action {
        let verified = verified(export::verify(file)?);
        return show_verified(&verified, args.common.json, output);
    }
    if let Action::Verify(Verify { database_url: Some(url), .. }) = &args.action
        && args.common.target.endpoint.is_none()
    {
        return verify_database(url, args.common.json, output).await;
    }
    let (client, _resolved) = args.common.target.connect(Role::Finance).await?;
    match args.action {
        Action::Verify(_) => {
            let mut ledger = client.ledger();
            let verified =
                ledger.verify_ledger(VerifyLedgerRequest {}).await.map_err(Error::from)?;
            show_verified(&verified.into_inner(), args.common.json, output)
        }
        Action::Report(it) => {
            report::run(&client, *it, (args.common.json, output)).await?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Explain { name } => {
            finance::explain(&client, name, (args.common.json, output)).await
        }
        Action::Close(it) => finance::close(&client, it, (args.common.json, output)).await,
        Action::Export(it) => {
            export::run(&client, it, (args.common.json, output)).await?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Query(query) => {
            let entries = list(&client, &query).await?;
            let records = entries.iter().map(describe::entry).collect();
            output.records("entries", records, (args.common.json, COLUMNS))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Verifies every tenant of a database, whether a service runs or not.
async fn verify_database(url: &str, json: bool, output: &mut Output<'_>) -> Result<ExitCode, Stop> {
    let failed = |it: store::Error| Stop::new(format!("verifying the database: {it}"));
    let settings =
        store::Settings { url: url.to_owned(), call_connections: 1, report_connections: 2 };
    let store = Store::open(&settings).map_err(failed)?;
    let verified = ledger::verify_all(&store)
        .await
        .map_err(|it| Stop::new(format!("verifying the database: {it}")))?;
    store.close().await;
    show_verified(&self::verified(verified), json, output)
}

fn verified(it: ledger::Verification) -> VerifyLedgerResponse {
    let ledger::Verification { entries, problems } = it;
    VerifyLedgerResponse { ok: problems.is_empty(), entries, problems }
}

/// Shows what a verification found, whoever made it; exit status 0 or 1.
pub fn show_verified(
    verified: &VerifyLedgerResponse,
    json: bool,
    output: &mut Output<'_>,
) -> Result<ExitCode, Stop> {
    let VerifyLedgerResponse { ok, entries, problems } = verified;
    if json {
        let record = Record::new()
            .with("ok", *ok)
            .with("entries", *entries)
            .with("problems", problems.clone());
        output.json(&record)?;
    } else if *ok {
        let good = output.toned(Tone::Good, "the ledger adds up");
        output.write(&format!("{good}: {entries} entries, no problems\n"))?;
    } else {
        let bad = output.toned(Tone::Bad, "the ledger does not add up");
        output.write(&format!("{bad}: {entries} entries, {} problems\n", problems.len()))?;
        for problem in problems {
            output.write(&format!("  {}\n", plain(problem)))?;
        }
    }
    Ok(if *ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn list(client: &Client, query: &Query) -> Result<Vec<Entry>, Stop> {
    let given = |it: &Option<String>| it.clone().unwrap_or_default();
    let page = |page_size, page_token| {
        let mut ledger = client.ledger();
        let request = ListEntriesRequest {
            page_size,
            page_token,
            user: given(&query.user),
            server: given(&query.server),
            envelope: given(&query.envelope),
            call: given(&query.call),
        };
        async move {
            let page = ledger.list_entries(request).await.map_err(Error::from)?.into_inner();
            Ok((page.entries, page.next_page_token))
        }
    };
    query.listing.collect(page).await
}
