//! `bursar admin budget update`.

use clap::{Args, ValueEnum};

use super::{
    super::{describe, stop::Stop, words},
    Shown,
};
use crate::{
    client::{Client, Error},
    proto::{Budget, FieldMask, Money, UpdateBudgetRequest},
};

/// The arguments of `update`. What is not named stays; what was counted stays counted.
#[derive(Debug, Clone, Args)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true)))]
pub struct Update {
    /// Its resource name
    name: String,
    /// What people call it
    #[arg(long, value_name = "TEXT", group = "what")]
    display_name: Option<String>,
    /// At most this many calls a period
    #[arg(long, value_name = "N", group = "what", value_parser = clap::value_parser!(i64).range(1..))]
    calls: Option<i64>,
    /// At most this much money a period
    #[arg(long, value_name = "AMOUNT", group = "what", value_parser = words::money)]
    money: Option<Money>,
    /// At most this many tokens a period
    #[arg(long, value_name = "N", group = "what", value_parser = clap::value_parser!(i64).range(1..))]
    tokens: Option<i64>,
    /// At most this many calls under way at once
    #[arg(long, value_name = "N", group = "what", value_parser = clap::value_parser!(i64).range(1..))]
    concurrent_calls: Option<i64>,
    /// At most this much of it for any one server
    #[arg(long, value_name = "PERCENT", group = "what",
          value_parser = clap::value_parser!(i32).range(1..=99))]
    server_share: Option<i32>,
    /// Whether it only counts and never refuses
    #[arg(long, value_name = "BOOL", group = "what")]
    observe_only: Option<bool>,
    /// Bound this no more
    #[arg(long, value_name = "FIELD", group = "what", value_delimiter = ',')]
    unset: Vec<Unset>,
    /// Only if it has not changed since this etag was read
    #[arg(long, value_name = "ETAG")]
    etag: Option<String>,
    /// Show what would come of it, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// What a budget may do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Unset {
    /// Calls
    Calls,
    /// Money
    Money,
    /// Tokens
    Tokens,
    /// Calls at once
    ConcurrentCalls,
    /// The part of any one server
    ServerShare,
}

pub(super) async fn update(client: &Client, it: Update) -> Result<Shown, Stop> {
    let request = it.request();
    let changed = client.admin().update_budget(request).await.map_err(Error::from)?;
    Ok(Shown::One(describe::budget(&changed.into_inner())))
}

impl Update {
    fn request(self) -> UpdateBudgetRequest {
        let is_set = [
            ("display_name", self.display_name.is_some()),
            ("calls", self.calls.is_some()),
            ("money", self.money.is_some()),
            ("tokens", self.tokens.is_some()),
            ("concurrent_calls", self.concurrent_calls.is_some()),
            ("server_share_percent", self.server_share.is_some()),
            ("observe_only", self.observe_only.is_some()),
        ];
        let set = is_set.into_iter().filter(|(_, it)| *it).map(|(field, _)| field);
        let paths = set.chain(self.unset.iter().map(|it| it.field())).map(str::to_owned).collect();
        UpdateBudgetRequest {
            budget: Some(Budget {
                name: self.name,
                display_name: self.display_name.unwrap_or_default(),
                calls: self.calls,
                money: self.money,
                tokens: self.tokens,
                concurrent_calls: self.concurrent_calls,
                server_share_percent: self.server_share.unwrap_or_default(),
                observe_only: self.observe_only.unwrap_or_default(),
                etag: self.etag.unwrap_or_default(),
                ..Budget::default()
            }),
            update_mask: Some(FieldMask { paths }),
            validate_only: self.dry_run,
        }
    }
}

impl Unset {
    const fn field(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Money => "money",
            Self::Tokens => "tokens",
            Self::ConcurrentCalls => "concurrent_calls",
            Self::ServerShare => "server_share_percent",
        }
    }
}
