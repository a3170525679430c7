//! `bursar admin`: operators' writes, one at a time.

mod audit;
mod budget;
mod catalogue;
mod directory;
mod grant;
mod halt;
mod list;
mod platform;
mod price;
mod tenant;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::{
    allowance::Listing,
    output::Output,
    record::Record,
    stop::Stop,
    target::{Common, Role},
};

/// The arguments of `admin`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  bursar admin user create alice
  bursar admin server create files
  bursar admin grant create --user alice --server files --calls 20 --seconds 120 --money 0.50 \
    --extend-calls 10 --extend-money 0.50
  bursar admin budget create --period month --money 250
  bursar admin credential create --role host --host desktop")]
pub struct Admin {
    /// Where to, and how to print.
    #[command(flatten)]
    pub common: Common,
    /// On what.
    #[command(subcommand)]
    pub subject: Subject,
}

/// What can be administered.
#[derive(Debug, Clone, Subcommand)]
pub enum Subject {
    /// People on whose behalf hosts sample
    #[command(subcommand)]
    User(User),
    /// MCP servers that hosts sample for
    #[command(subcommand)]
    Server(Server),
    /// Consents that a server may sample in a user's name
    #[command(subcommand)]
    Grant(grant::Action),
    /// Allowances over a scope and a period
    #[command(subcommand)]
    Budget(budget::Action),
    /// Where models run
    #[command(subcommand)]
    Backend(catalogue::BackendAction),
    /// What backends serve
    #[command(subcommand)]
    Model(catalogue::ModelAction),
    /// What models cost
    #[command(subcommand)]
    Price(catalogue::PriceAction),
    /// What a currency is worth in USD
    #[command(subcommand)]
    Fx(catalogue::FxAction),
    /// API keys
    #[command(subcommand)]
    Credential(tenant::CredentialAction),
    /// The organisation itself
    #[command(subcommand)]
    Tenant(tenant::TenantAction),
    /// Stop sampling at once, on every replica; running calls are cut
    Stop(halt::Halt),
    /// Lift a stop
    Resume {
        /// The stop's resource name
        name: String,
    },
    /// List the stops in force
    Stops(halt::List),
    /// List who changed what, when and from where, newest first
    Audit(audit::Audit),
    /// Make a key that can create tenants, straight in the database
    PlatformKey(platform::PlatformKey),
}

/// What can be done with users.
#[derive(Debug, Clone, Subcommand)]
pub enum User {
    /// Create one
    Create {
        /// The id that hosts assert
        user: String,
    },
    /// List them
    List(Listing),
}

/// What can be done with servers.
#[derive(Debug, Clone, Subcommand)]
pub enum Server {
    /// Create one
    Create {
        /// The id that hosts assert
        server: String,
    },
    /// List them
    List(Listing),
}

/// What an action leaves to be shown.
enum Shown {
    One(Record),
    Many { name: &'static str, records: Vec<Record>, columns: &'static [&'static str] },
}

pub(super) async fn run(args: Admin, output: &mut Output<'_>) -> Result<ExitCode, Stop> {
    if let Subject::PlatformKey(it) = args.subject {
        let record = platform::make(&it).await?;
        output.record(&record, args.common.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (client, _resolved) = args.common.target.connect(Role::Operator).await?;
    let shown = match args.subject {
        Subject::User(it) => directory::user(&client, it).await,
        Subject::Server(it) => directory::server(&client, it).await,
        Subject::Grant(it) => grant::run(&client, it).await,
        Subject::Budget(it) => budget::run(&client, it).await,
        Subject::Backend(it) => catalogue::backend(&client, it).await,
        Subject::Model(it) => catalogue::model(&client, it).await,
        Subject::Price(it) => catalogue::set_price(&client, it).await,
        Subject::Fx(it) => catalogue::set_fx(&client, it).await,
        Subject::Credential(it) => tenant::credential(&client, it).await,
        Subject::Tenant(it) => tenant::tenant(&client, it).await,
        Subject::Stop(it) => halt::stop(&client, it).await,
        Subject::Resume { name } => halt::resume(&client, name).await,
        Subject::Stops(it) => halt::list(&client, it).await,
        Subject::Audit(it) => audit::list(&client, it).await,
        // Made above, without a service.
        Subject::PlatformKey(it) => platform::make(&it).await.map(Shown::One),
    }?;
    match shown {
        Shown::One(record) => output.record(&record, args.common.json)?,
        Shown::Many { name, records, columns } => {
            output.records(name, records, (args.common.json, columns))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
