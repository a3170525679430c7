//! `bursar admin backend`, `model`, `price` and `fx`.

use clap::{Args, Subcommand, ValueEnum};

use super::{
    super::{allowance::Listing, describe, stop::Stop},
    Shown, list,
    price::PriceFlags,
};
use crate::{
    client::{Client, Error},
    proto::{
        Backend, BackendKind, BackendProfile, CreateBackendRequest, CreateModelRequest, FxRate,
        Model, ResumeModelRequest, SetFxRateRequest, SetPriceRequest,
    },
};

/// What can be done with backends.
#[derive(Debug, Clone, Subcommand)]
pub enum BackendAction {
    /// Add one
    Create(Box<CreateBackend>),
    /// List them
    List(Listing),
}

/// The arguments of `backend create`.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Clone, Args)]
pub struct CreateBackend {
    /// Its id
    backend: String,
    /// What it speaks
    #[arg(long, default_value = "openai")]
    kind: Kind,
    /// Its address, up to and including /v1
    #[arg(
        long,
        value_name = "URL",
        required_unless_present = "kind",
        required_if_eq_any([("kind", "openai"), ("kind", "anthropic")])
    )]
    base_url: Option<String>,
    /// The service's environment variable with the key: OPENAI_API_KEY, ANTHROPIC_API_KEY or
    /// BURSAR_BACKEND_...
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
    /// A status that certainly costs nothing; several [default: 400, 401, 402, 403, 404, 429]
    #[arg(long = "unbilled-status", value_name = "STATUS")]
    unbilled_statuses: Vec<i32>,
    /// It stops billing when the connection closes
    #[arg(long)]
    stops_on_disconnect: bool,
    /// It wants max_completion_tokens in place of max_tokens
    #[arg(long)]
    max_completion_tokens: bool,
    /// It refuses stream_options
    #[arg(long)]
    no_stream_options: bool,
    /// It refuses temperature
    #[arg(long)]
    no_temperature: bool,
    /// How long it may be silent [default: 30]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(i64).range(1..=3_600))]
    idle_seconds: Option<i64>,
}

/// What a backend speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// The OpenAI-compatible chat API
    Openai,
    /// Anthropic's Messages API
    Anthropic,
    /// The script inside the prompt; for trials
    Scripted,
}

/// What can be done with models.
#[derive(Debug, Clone, Subcommand)]
pub enum ModelAction {
    /// Add one, with its price or that of the price book
    Create(Box<CreateModel>),
    /// List them, with their prices in USD per million tokens
    List(Listing),
    /// Show one, with what was held for prompts against what was counted
    Show {
        /// Its alias
        alias: String,
    },
    /// Use one again that is suspended, since it counted more than its bound
    Resume {
        /// Its alias
        alias: String,
        /// Rely on its vocabulary and its maker's formulas again
        #[arg(long)]
        fine: bool,
    },
}

/// The arguments of `model create`.
#[derive(Debug, Clone, Args)]
pub struct CreateModel {
    /// The name that servers and hints may see
    alias: String,
    /// The backend's id
    #[arg(long, value_name = "ID")]
    backend: String,
    /// What the backend calls it [default: the alias]
    #[arg(long, value_name = "NAME")]
    vendor_model: Option<String>,
    /// Tokens of prompt and answer together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    context_tokens: i64,
    /// Tokens of the answer alone
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    max_output_tokens: i64,
    /// It can call tools
    #[arg(long)]
    tools: bool,
    /// The most tokens that one image counts; 0: it takes none
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(i64).range(0..))]
    image_tokens_max: i64,
    /// The most tokens that one audio clip counts; 0: it takes none
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(i64).range(0..))]
    audio_tokens_max: i64,
    /// How text is bounded: auto, bytes, o200k_base or cl100k_base
    #[arg(long, value_name = "NAME", default_value = "auto")]
    tokenizer: String,
    /// How able it is, 0 to 100
    #[arg(long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(i32).range(0..=100))]
    intelligence: i32,
    /// How fast it is, 0 to 100
    #[arg(long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(i32).range(0..=100))]
    speed: i32,
    /// What it costs.
    #[command(flatten)]
    price: PriceFlags,
}

/// What can be done with prices.
#[derive(Debug, Clone, Subcommand)]
pub enum PriceAction {
    /// Add a version, or let the price book's hold; calls that began before keep theirs
    Set {
        /// The model's alias
        model: String,
        /// What it costs from now on.
        #[command(flatten)]
        price: PriceFlags,
    },
}

/// What can be done with exchange rates.
#[derive(Debug, Clone, Subcommand)]
pub enum FxAction {
    /// Add a rate; calls that began before keep theirs
    Set {
        /// The currency, such as EUR
        currency: String,
        /// How many USD one unit of it buys, such as 1.10
        usd_per_unit: String,
        /// The day of the fixing, YYYY-MM-DD
        #[arg(long, value_name = "DAY")]
        date: String,
    },
}

pub(super) async fn backend(client: &Client, it: BackendAction) -> Result<Shown, Stop> {
    let it = match it {
        BackendAction::Create(it) => it,
        BackendAction::List(listing) => return list::backends(client, listing).await,
    };
    let backend = Backend {
        backend: it.backend,
        kind: BackendKind::from(it.kind).into(),
        base_url: it.base_url.unwrap_or_default(),
        key_env: it.key_env.unwrap_or_default(),
        profile: Some(BackendProfile {
            unbilled_statuses: it.unbilled_statuses,
            stops_on_disconnect: it.stops_on_disconnect,
            max_completion_tokens: it.max_completion_tokens,
            no_stream_options: it.no_stream_options,
            no_temperature: it.no_temperature,
            idle_seconds: it.idle_seconds.unwrap_or_default(),
        }),
        ..Backend::default()
    };
    let request = CreateBackendRequest { backend: Some(backend) };
    let made = client.admin().create_backend(request).await.map_err(Error::from)?;
    Ok(Shown::One(describe::backend(&made.into_inner())))
}

pub(super) async fn model(client: &Client, it: ModelAction) -> Result<Shown, Stop> {
    let it = match it {
        ModelAction::Create(it) => it,
        ModelAction::List(listing) => return list::models(client, listing).await,
        ModelAction::Show { alias } => return list::one_model(client, &alias).await,
        ModelAction::Resume { alias, fine } => return resume(client, alias, fine).await,
    };
    let (price, price_source) = it.price.read()?;
    let model = Model {
        name: String::new(),
        vendor_model: it.vendor_model.unwrap_or_else(|| it.alias.clone()),
        alias: it.alias,
        backend: it.backend,
        context_tokens: it.context_tokens,
        max_output_tokens: it.max_output_tokens,
        tools: it.tools,
        image_tokens_max: it.image_tokens_max,
        audio_tokens_max: it.audio_tokens_max,
        intelligence: it.intelligence,
        speed: it.speed,
        price,
        price_source,
        tokenizer: it.tokenizer,
        bounds: None,
    };
    let request = CreateModelRequest { model: Some(model) };
    let made = client.admin().create_model(request).await.map_err(Error::from)?;
    Ok(Shown::One(describe::model(&made.into_inner())))
}

async fn resume(client: &Client, model: String, fine: bool) -> Result<Shown, Stop> {
    let request = ResumeModelRequest { model, fine };
    let resumed = client.admin().resume_model(request).await.map_err(Error::from)?;
    Ok(Shown::One(describe::model(&resumed.into_inner())))
}

pub(super) async fn set_price(client: &Client, it: PriceAction) -> Result<Shown, Stop> {
    let PriceAction::Set { model, price } = it;
    let (price, price_source) = price.read()?;
    let request = SetPriceRequest { model, price, price_source };
    let set = client.admin().set_price(request).await.map_err(Error::from)?;
    Ok(Shown::One(describe::model(&set.into_inner())))
}

pub(super) async fn set_fx(client: &Client, it: FxAction) -> Result<Shown, Stop> {
    let FxAction::Set { currency, usd_per_unit, date } = it;
    let rate =
        FxRate { name: String::new(), currency_code: currency, usd_per_unit, fixing_date: date };
    let request = SetFxRateRequest { fx_rate: Some(rate) };
    let set = client.admin().set_fx_rate(request).await.map_err(Error::from)?;
    Ok(Shown::One(describe::fx_rate(&set.into_inner())))
}

impl From<Kind> for BackendKind {
    fn from(it: Kind) -> Self {
        match it {
            Kind::Openai => Self::Openai,
            Kind::Anthropic => Self::Anthropic,
            Kind::Scripted => Self::Scripted,
        }
    }
}
