//! What operators and hosts ask to be made: well-formed and within limits, without
//! ids, and with names still to be looked up.

use jiff::civil::Date;

use super::{
    envelope::{Allowance, Landing},
    extension::Terms,
    model::{BackendKind, Profile},
    money::{Amount, Currency},
    period::Period,
    price::Prices,
    vocabulary::Tokenizer,
};

/// An allowance with parts left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartialAllowance {
    /// See [`Allowance::calls`].
    pub calls: Option<i64>,
    /// See [`Allowance::seconds`].
    pub seconds: Option<i64>,
    /// See [`Allowance::money`].
    pub money: Option<Amount>,
    /// See [`Allowance::tokens`].
    pub tokens: Option<i64>,
    /// See [`Allowance::concurrent_calls`].
    pub concurrent_calls: Option<i64>,
    /// See [`Allowance::landing`].
    pub landing: Option<Landing>,
}

impl PartialAllowance {
    /// What is left out comes from `default`. An inherited landing reserve never
    /// exceeds the money it is kept from.
    pub fn or(&self, default: &Allowance) -> Allowance {
        let money = self.money.unwrap_or(default.money);
        let inherited = default.landing.map(|it| Landing { reserve: it.reserve.min(money), ..it });
        Allowance {
            calls: self.calls.unwrap_or(default.calls),
            seconds: self.seconds.unwrap_or(default.seconds),
            money,
            tokens: self.tokens.or(default.tokens),
            concurrent_calls: self.concurrent_calls.or(default.concurrent_calls),
            landing: self.landing.or(inherited),
        }
    }
}

/// A consent to be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The person, as hosts know them.
    pub user: String,
    /// The server, as hosts know it.
    pub server: String,
    /// Aliases that may be used; empty: all of the tenant's.
    pub models: Vec<String>,
    /// The envelope of a call that names none.
    pub default_envelope: Allowance,
    /// The largest that a host may open; holds the default one.
    pub max_envelope: Allowance,
    /// Whether requests may carry tools.
    pub tools: bool,
    /// Whether requests in the background are allowed.
    pub background: bool,
    /// Whether the server may learn the real model.
    pub reveal_model: bool,
    /// The longest that one call may take, in seconds.
    pub call_seconds: u64,
    /// What a person may add to an envelope that has run out; none: nobody is asked.
    pub extension: Option<Terms>,
}

/// Whom a budget binds: calls that are of all that is named. Nothing named: the whole
/// tenant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    /// One person, as hosts know them.
    pub user: Option<String>,
    /// One server, as hosts know it.
    pub server: Option<String>,
    /// One host application, by its name.
    pub host: Option<String>,
    /// One project root, a `file://` URI.
    pub root: Option<String>,
}

/// A budget to be set. It has at least one amount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// For people; may be empty.
    pub display_name: String,
    /// Whom it binds.
    pub scope: Scope,
    /// How often it starts anew.
    pub period: Period,
    /// The IANA name of the time zone it starts in.
    pub time_zone: String,
    /// Calls, at least one.
    pub calls: Option<i64>,
    /// Money, above zero.
    pub money: Option<Amount>,
    /// Tokens, at least one.
    pub tokens: Option<i64>,
    /// Calls at once, at least one.
    pub concurrent_calls: Option<i64>,
    /// One server's part of it, 1 to 99 in a hundred; not where it names a server.
    pub server_share_percent: Option<u8>,
    /// Counts but never refuses.
    pub observe_only: bool,
}

/// A change of a budget; none: it stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BudgetChange {
    /// The state that is to be changed; none: any.
    pub etag: Option<String>,
    /// For people.
    pub display_name: Option<String>,
    /// Calls, or no bound.
    pub calls: Option<Option<i64>>,
    /// Money, or no bound.
    pub money: Option<Option<Amount>>,
    /// Tokens, or no bound.
    pub tokens: Option<Option<i64>>,
    /// Calls at once, or no bound.
    pub concurrent_calls: Option<Option<i64>>,
    /// One server's part, or all of it.
    pub server_share_percent: Option<Option<u8>>,
    /// Counts but never refuses.
    pub observe_only: Option<bool>,
    /// Nothing is to change.
    pub validate_only: bool,
}

/// A raise of a budget: at least one amount, each above zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetRaise {
    /// Calls.
    pub calls: Option<i64>,
    /// Money.
    pub money: Option<Amount>,
    /// Tokens.
    pub tokens: Option<i64>,
    /// Why.
    pub reason: String,
    /// For how long.
    pub time: std::time::Duration,
}

/// A backend to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    /// The operator's name for it.
    pub name: String,
    /// What it speaks.
    pub kind: BackendKind,
    /// Without a slash at its end; empty for the scripted one.
    pub base_url: String,
    /// The environment variable that holds its key; empty: no key is sent.
    pub key_env: String,
    /// Its ways.
    pub profile: Profile,
}

/// A model to be offered, priced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// What servers and hints call it.
    pub alias: String,
    /// The operator's name of the backend that serves it.
    pub backend: String,
    /// What the backend calls it.
    pub vendor_model: String,
    /// Tokens of prompt and answer together.
    pub context_tokens: u64,
    /// Tokens of an answer, at most those of the context.
    pub max_output_tokens: u64,
    /// Whether it can call tools.
    pub tools: bool,
    /// The most tokens that one image counts; 0: it takes none.
    pub image_tokens_max: u64,
    /// The most tokens that one audio clip counts; 0: it takes none.
    pub audio_tokens_max: u64,
    /// How its text is counted.
    pub tokenizer: Tokenizer,
    /// 0 to 100.
    pub intelligence: u8,
    /// 0 to 100.
    pub speed: u8,
    /// What it costs.
    pub tariff: Tariff,
}

/// What prices a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tariff {
    /// Prices of its own.
    Own(Box<Prices>),
    /// A row of the price book.
    Listed(Listed),
}

/// A row of the price book, as far as it is said which.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listed {
    /// Who bills; none: whom the backend's address says.
    pub provider: Option<String>,
    /// The provider's model; none: what the backend calls it.
    pub model: Option<String>,
    /// How it is served; none: as standard.
    pub service_tier: Option<String>,
}

/// An exchange rate to be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FxRate {
    /// The tenant's currency.
    pub currency: Currency,
    /// Nano-USD that one unit of it buys; above zero.
    pub usd_nanos_per_unit: u64,
    /// The day of the fixing.
    pub fixing_date: Date,
}
