//! `bursar admin budget`.

use clap::{Args, Subcommand, ValueEnum};

use super::{
    super::{allowance::Listing, describe, stop::Stop, words},
    Shown,
    budget_change::{self, Update},
    budget_raise::{self, Raise},
};
use crate::{
    client::{Client, Error},
    proto::{
        Budget, CreateBudgetRequest, DeleteBudgetRequest, ListBudgetsRequest, Money,
        Period as WirePeriod,
    },
};

const COLUMNS: &[&str] = &[
    "name",
    "display_name",
    "user",
    "server",
    "host",
    "root",
    "period",
    "calls",
    "money",
    "currency",
    "tokens",
    "concurrent_calls",
    "server_share_percent",
    "observe_only",
];

/// What can be done with budgets.
#[derive(Debug, Clone, Subcommand)]
pub enum Action {
    /// Bound a scope over a period
    Create(Box<Create>),
    /// Change one, from the next call on
    Update(Box<Update>),
    /// Allow more for a while; it is taken back by itself
    Raise(Box<Raise>),
    /// List them
    List(Listing),
    /// Delete one
    Delete {
        /// Its resource name
        name: String,
    },
}

/// The arguments of `create`. Without user, server, host and root it bounds the whole
/// tenant.
#[derive(Debug, Clone, Args)]
pub struct Create {
    /// What people call it
    #[arg(long, value_name = "TEXT")]
    display_name: Option<String>,
    /// Only this user; with --server: only this user with that server
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// Only this server
    #[arg(long, value_name = "ID")]
    server: Option<String>,
    /// Only this host application, by its name
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Only calls from this project root, such as file:///home/me/project
    #[arg(long, value_name = "URI")]
    root: Option<String>,
    /// How often it starts anew
    #[arg(long)]
    period: Period,
    /// Whose midnight starts a period, such as Europe/Amsterdam [default: UTC]
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// At most this many calls a period
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    calls: Option<i64>,
    /// At most this much money a period, such as 250 or "250 EUR"
    #[arg(
        long,
        value_name = "AMOUNT",
        value_parser = words::money,
        required_unless_present_any = ["calls", "tokens", "concurrent_calls"]
    )]
    money: Option<Money>,
    /// At most this many tokens a period
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    tokens: Option<i64>,
    /// At most this many calls under way at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    concurrent_calls: Option<i64>,
    /// At most this much of it for any one server
    #[arg(long, value_name = "PERCENT", conflicts_with = "server",
          value_parser = clap::value_parser!(i32).range(1..=99))]
    server_share: Option<i32>,
    /// Count, but never refuse
    #[arg(long)]
    observe_only: bool,
}

/// How often a budget starts anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Period {
    /// Every minute
    Minute,
    /// Every hour
    Hour,
    /// Every day
    Day,
    /// Every week
    Week,
    /// Every month
    Month,
    /// Every quarter
    Quarter,
    /// Every year
    Year,
    /// Never
    Lifetime,
}

pub(super) async fn run(client: &Client, action: Action) -> Result<Shown, Stop> {
    let mut admin = client.admin();
    let budget = match action {
        Action::Create(create) => {
            admin.create_budget(CreateBudgetRequest { budget: Some(create.budget()) }).await
        }
        Action::Delete { name } => admin.delete_budget(DeleteBudgetRequest { name }).await,
        Action::Update(it) => return budget_change::update(client, *it).await,
        Action::Raise(it) => return budget_raise::raise(client, *it).await,
        Action::List(listing) => return list(client, listing).await,
    };
    Ok(Shown::One(describe::budget(&budget.map_err(Error::from)?.into_inner())))
}

async fn list(client: &Client, listing: Listing) -> Result<Shown, Stop> {
    let page = |page_size, page_token| {
        let mut admin = client.admin();
        async move {
            let request = ListBudgetsRequest { page_size, page_token };
            let page = admin.list_budgets(request).await.map_err(Error::from)?.into_inner();
            Ok((page.budgets, page.next_page_token))
        }
    };
    let budgets = listing.collect(page).await?;
    let records = budgets.iter().map(describe::budget).collect();
    Ok(Shown::Many { name: "budgets", records, columns: COLUMNS })
}

impl Create {
    fn budget(self) -> Budget {
        Budget {
            display_name: self.display_name.unwrap_or_default(),
            user: self.user.unwrap_or_default(),
            server: self.server.unwrap_or_default(),
            period: WirePeriod::from(self.period).into(),
            time_zone: self.time_zone.unwrap_or_default(),
            calls: self.calls,
            money: self.money,
            tokens: self.tokens,
            host: self.host.unwrap_or_default(),
            root: self.root.unwrap_or_default(),
            concurrent_calls: self.concurrent_calls,
            server_share_percent: self.server_share.unwrap_or_default(),
            observe_only: self.observe_only,
            ..Budget::default()
        }
    }
}

impl From<Period> for WirePeriod {
    fn from(it: Period) -> Self {
        match it {
            Period::Minute => Self::Minute,
            Period::Hour => Self::Hour,
            Period::Day => Self::Day,
            Period::Week => Self::Week,
            Period::Month => Self::Month,
            Period::Quarter => Self::Quarter,
            Period::Year => Self::Year,
            Period::Lifetime => Self::Lifetime,
        }
    }
}
