//! `bursar admin budget raise`.

use clap::Args;

use super::{
    super::{describe, stop::Stop, words},
    Shown,
};
use crate::{
    client::{Client, Error},
    proto::{Money, RaiseBudgetRequest},
};

/// The arguments of `raise`. It is taken back by itself.
#[derive(Debug, Clone, Args)]
#[command(group(clap::ArgGroup::new("more").required(true).multiple(true)))]
pub struct Raise {
    /// The budget's resource name
    name: String,
    /// So many calls more
    #[arg(long, value_name = "N", group = "more", value_parser = clap::value_parser!(i64).range(1..))]
    calls: Option<i64>,
    /// So much money more
    #[arg(long, value_name = "AMOUNT", group = "more", value_parser = words::money)]
    money: Option<Money>,
    /// So many tokens more
    #[arg(long, value_name = "N", group = "more", value_parser = clap::value_parser!(i64).range(1..))]
    tokens: Option<i64>,
    /// For so many minutes, at most a week
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=10_080))]
    minutes: i64,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(super) async fn raise(client: &Client, it: Raise) -> Result<Shown, Stop> {
    let request = RaiseBudgetRequest {
        name: it.name,
        calls: it.calls,
        money: it.money,
        tokens: it.tokens,
        seconds: it.minutes.saturating_mul(60),
        reason: it.reason,
    };
    let raised = client.admin().raise_budget(request).await.map_err(Error::from)?;
    Ok(Shown::One(describe::budget(&raised.into_inner())))
}
