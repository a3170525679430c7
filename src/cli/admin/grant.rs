//! `bursar admin grant`.

use clap::{Args, Subcommand};

use super::{
    super::{allowance::Listing, describe, stop::Stop, words},
    Shown, list,
};
use crate::{
    client::{Client, Error},
    proto::{CreateGrantRequest, EnvelopeLimits, Grant, GrantExtension, Money},
};

/// What can be done with grants.
#[derive(Debug, Clone, Subcommand)]
pub enum Action {
    /// Let a server sample in a user's name, within bounds
    Create(Box<Create>),
    /// List them, revoked ones too
    List(Listing),
}

/// The arguments of `create`.
#[derive(Debug, Clone, Args)]
pub struct Create {
    /// The user's id
    #[arg(long, value_name = "ID")]
    user: String,
    /// The server's id
    #[arg(long, value_name = "ID")]
    server: String,
    /// A model by its alias; may be given several times; none: every model
    #[arg(long = "model", value_name = "ALIAS")]
    models: Vec<String>,
    /// Calls of the default envelope
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    calls: i64,
    /// Seconds of the default envelope
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(i64).range(1..))]
    seconds: i64,
    /// Money of the default envelope, such as 0.50 or "0.50 EUR"
    #[arg(long, value_name = "AMOUNT", value_parser = words::money)]
    money: Money,
    /// Tokens of the default envelope; without it, not limited
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    tokens: Option<i64>,
    /// Calls under way at once in any envelope; without it, not limited
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    concurrent_calls: Option<i64>,
    /// The most calls of an envelope that a host opens [default: the default envelope's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    max_calls: Option<i64>,
    /// The most seconds of an envelope that a host opens [default: the default envelope's]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(i64).range(1..))]
    max_seconds: Option<i64>,
    /// The most money of an envelope that a host opens [default: the default envelope's]
    #[arg(long, value_name = "AMOUNT", value_parser = words::money)]
    max_money: Option<Money>,
    /// Let requests carry tools
    #[arg(long)]
    tools: bool,
    /// Let requests come while nobody waits
    #[arg(long)]
    background: bool,
    /// Let the server learn the real model
    #[arg(long)]
    reveal_model: bool,
    /// The longest that one call may take [default: 45]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(i64).range(1..=3_600))]
    call_seconds: Option<i64>,
    /// Let the user add at most this many calls to an envelope that has run out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    extend_calls: Option<i64>,
    /// Let the user add at most this many seconds
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(i64).range(1..))]
    extend_seconds: Option<i64>,
    /// Let the user add at most this much money
    #[arg(long, value_name = "AMOUNT", value_parser = words::money)]
    extend_money: Option<Money>,
    /// How often the user may, for one envelope [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=100))]
    extend_times: Option<i32>,
}

pub(super) async fn run(client: &Client, action: Action) -> Result<Shown, Stop> {
    let create = match action {
        Action::Create(it) => it,
        Action::List(listing) => return list::grants(client, listing).await,
    };
    let request = CreateGrantRequest { grant: Some(create.grant()) };
    let made = client.admin().create_grant(request).await.map_err(Error::from)?;
    Ok(Shown::One(describe::grant(&made.into_inner())))
}

impl Create {
    fn grant(self) -> Grant {
        let max = self.max_envelope();
        let extension = self.extension();
        Grant {
            user: self.user,
            server: self.server,
            models: self.models,
            default_envelope: Some(EnvelopeLimits {
                calls: Some(self.calls),
                seconds: Some(self.seconds),
                money: Some(self.money),
                tokens: self.tokens,
                concurrent_calls: self.concurrent_calls,
                landing: None,
            }),
            max_envelope: max,
            tools: self.tools,
            background: self.background,
            reveal_model: self.reveal_model,
            call_seconds: self.call_seconds.unwrap_or_default(),
            extension,
            ..Grant::default()
        }
    }

    /// None where none of it was said: nobody is asked.
    fn extension(&self) -> Option<GrantExtension> {
        let Self { extend_calls, extend_seconds, extend_money, extend_times, .. } = self;
        let any = extend_money.is_some()
            || extend_times.is_some()
            || [extend_calls, extend_seconds].iter().any(|it| it.is_some());
        any.then(|| GrantExtension {
            calls: extend_calls.unwrap_or_default(),
            seconds: extend_seconds.unwrap_or_default(),
            money: extend_money.clone(),
            times: extend_times.unwrap_or_default(),
        })
    }

    /// What was not said is as in the default envelope.
    fn max_envelope(&self) -> Option<EnvelopeLimits> {
        let any =
            self.max_calls.is_some() || self.max_seconds.is_some() || self.max_money.is_some();
        any.then(|| EnvelopeLimits {
            calls: self.max_calls.or(Some(self.calls)),
            seconds: self.max_seconds.or(Some(self.seconds)),
            money: self.max_money.clone().or_else(|| Some(self.money.clone())),
            tokens: self.tokens,
            concurrent_calls: self.concurrent_calls,
            landing: None,
        })
    }
}
