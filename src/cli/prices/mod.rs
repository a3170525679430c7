//! `bursar prices`: price books, from a file to what calls are priced by.

mod show;

use std::{io::Read, path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand, ValueEnum};

use super::{
    allowance::Listing,
    output::Output,
    stop::Stop,
    target::{Common, Role},
};
use crate::{
    client::{Client, Error},
    prices::BYTES_MAX,
    proto::{
        ApprovePriceBookRequest, ImportPricesRequest, ListPriceBooksRequest, ListPricesRequest,
        ListedPrice, PriceBook, PriceFormat, RevertPriceBookRequest,
    },
};

/// The arguments of `prices`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  bursar prices import data.json --format genai-prices --dry-run
  bursar prices import negotiated.txt --format table --yes
  bursar prices show gpt-5
  bursar prices list --platform

With an operator's key it is about the tenant's own book, which goes before the
platform's; with a platform key about the platform's, which is everybody's.")]
pub struct Prices {
    /// Where to, and how to print.
    #[command(flatten)]
    pub common: Common,
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done with price books.
#[derive(Debug, Clone, Subcommand)]
pub enum Action {
    /// Read a list into a version, and say what it would change
    Import(Import),
    /// Put a version into effect
    Approve {
        /// Its name, as import and list show it
        name: String,
        /// Accept changes that need an explicit yes
        #[arg(long)]
        yes: bool,
    },
    /// Take a version out of effect: the one before counts again
    Revert {
        /// Its name
        name: String,
    },
    /// List versions, newest first
    List {
        /// The platform's
        #[arg(long)]
        platform: bool,
        /// How many.
        #[command(flatten)]
        listing: Listing,
    },
    /// Show what models cost, whose names hold a text
    Show(Show),
}

/// The arguments of `import`.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Clone, Args)]
pub struct Import {
    /// The list; - for standard input
    #[arg(required_unless_present = "shipped", conflicts_with = "shipped")]
    file: Option<PathBuf>,
    /// How it is written
    #[arg(long, required_unless_present = "shipped", conflicts_with = "shipped")]
    format: Option<Format>,
    /// The table that came with the program, in place of a file
    #[arg(long)]
    shipped: bool,
    /// From when on it counts: a day, or an RFC 3339 time [default: its approval]
    #[arg(long, value_name = "DATE")]
    effective: Option<String>,
    /// The day that the list speaks of, YYYY-MM-DD [default: today]
    #[arg(long, value_name = "DAY")]
    as_of: Option<String>,
    /// Keep rows that the list does not name
    #[arg(long)]
    keep_missing: bool,
    /// Take rows that cost nothing at all too
    #[arg(long)]
    free: bool,
    /// Only say what would change
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Approve at once, changes that need an explicit yes included
    #[arg(long)]
    yes: bool,
}

/// The arguments of `show`.
#[derive(Debug, Clone, Args)]
pub struct Show {
    /// A part of the model's name
    model: String,
    /// Only this provider's
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Of this version [default: those in effect, the tenant's own and the platform's]
    #[arg(long, value_name = "NAME")]
    book: Option<String>,
    /// How many.
    #[command(flatten)]
    listing: Listing,
}

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The JSON of genai-prices
    GenaiPrices,
    /// The api.json of models.dev
    ModelsDev,
    /// LiteLLM's map of models
    Litellm,
    /// A line a model: PROVIDER MODEL INPUT OUTPUT, then what differs
    Table,
}

pub(super) async fn run(args: Prices, output: &mut Output<'_>) -> Result<ExitCode, Stop> {
    let role = match args.action {
        Action::Show(_) | Action::List { .. } => Role::Finance,
        Action::Import(_) | Action::Approve { .. } | Action::Revert { .. } => Role::Operator,
    };
    let (client, _resolved) = args.common.target.connect(role).await?;
    let json = args.common.json;
    match args.action {
        Action::Import(it) => import(&client, it, (json, output)).await?,
        Action::Approve { name, yes } => {
            let book = approve(&client, name, yes).await?;
            output.record(&show::book(&book), json)?;
        }
        Action::Revert { name } => {
            let request = RevertPriceBookRequest { name };
            let book = client.prices().revert_price_book(request).await.map_err(Error::from)?;
            output.record(&show::book(&book.into_inner()), json)?;
        }
        Action::List { platform, listing } => {
            let books = books(&client, platform, listing).await?;
            let records = books.iter().map(show::book).collect();
            output.records("books", records, (json, show::BOOKS))?;
        }
        Action::Show(it) => {
            let prices = prices(&client, it).await?;
            let records = prices.iter().map(show::listed).collect();
            output.records("prices", records, (json, show::PRICES))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn import(
    client: &Client,
    it: Import,
    (json, output): (bool, &mut Output<'_>),
) -> Result<(), Stop> {
    let format = it.format.map_or(PriceFormat::Shipped, PriceFormat::from);
    let (content, source) = match &it.file {
        Some(path) => (read(path)?, path.display().to_string()),
        None => (Vec::new(), String::new()),
    };
    let request = ImportPricesRequest {
        format: format.into(),
        content,
        source,
        source_date: it.as_of.unwrap_or_default(),
        effective_time: it.effective.map(start_of_day).unwrap_or_default(),
        keep_missing: it.keep_missing,
        validate_only: it.dry_run,
        include_free: it.free,
    };
    let made = client.prices().import_prices(request).await.map_err(Error::from)?;
    let mut made = made.into_inner();
    let name = made.book.as_ref().map(|it| it.name.clone()).unwrap_or_default();
    if it.yes {
        made.book = Some(approve(client, name.clone(), true).await?);
    }
    if json {
        return output.json(&show::imported(&made));
    }
    output.write(&show::summary(&made))?;
    for (title, table) in show::tables(&made) {
        output.write(&format!("\n{title}\n"))?;
        output.records(table.name, table.records, (false, table.columns))?;
    }
    if !it.dry_run && !it.yes {
        let yes = if made.flagged > 0 { " --yes" } else { "" };
        output.write(&format!("\nIt awaits approval: bursar prices approve {name}{yes}\n"))?;
    }
    Ok(())
}

async fn approve(client: &Client, name: String, yes: bool) -> Result<PriceBook, Stop> {
    let request = ApprovePriceBookRequest { name, accept_flagged: yes };
    let book = client.prices().approve_price_book(request).await.map_err(Error::from)?;
    Ok(book.into_inner())
}

async fn books(client: &Client, platform: bool, listing: Listing) -> Result<Vec<PriceBook>, Stop> {
    let page = |page_size, page_token| {
        let mut prices = client.prices();
        async move {
            let request = ListPriceBooksRequest { page_size, page_token, platform };
            let page = prices.list_price_books(request).await.map_err(Error::from)?.into_inner();
            Ok((page.books, page.next_page_token))
        }
    };
    listing.collect(page).await
}

async fn prices(client: &Client, it: Show) -> Result<Vec<ListedPrice>, Stop> {
    // The tenant's own first, for they go before the platform's.
    let places: &[bool] = if it.book.is_some() { &[false] } else { &[false, true] };
    let mut found = Vec::new();
    for platform in places {
        let request = ListPricesRequest {
            book: it.book.clone().unwrap_or_default(),
            platform: *platform,
            provider: it.provider.clone().unwrap_or_default(),
            model: it.model.clone(),
            ..ListPricesRequest::default()
        };
        let page = |page_size, page_token| {
            let mut prices = client.prices();
            let request = ListPricesRequest { page_size, page_token, ..request.clone() };
            async move {
                let page = prices.list_prices(request).await.map_err(Error::from)?.into_inner();
                Ok((page.prices, page.next_page_token))
            }
        };
        found.extend(it.listing.collect(page).await?);
    }
    found.dedup_by(|a, b| version(a) == version(b));
    Ok(found)
}

fn version(it: &ListedPrice) -> Option<&str> {
    it.price.as_ref().map(|it| it.version.as_str())
}

/// A day as the instant of its beginning in UTC; anything else as it is.
fn start_of_day(text: String) -> String {
    if text.parse::<jiff::civil::Date>().is_ok() && text.len() == "2026-07-28".len() {
        return format!("{text}T00:00:00Z");
    }
    text
}

/// A whole file, or standard input, within what is taken.
fn read(path: &PathBuf) -> Result<Vec<u8>, Stop> {
    let failed = |cause: std::io::Error| Stop::new(format!("reading {}: {cause}", path.display()));
    let most = u64::try_from(BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut content = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().take(most).read_to_end(&mut content).map_err(failed)?;
    } else {
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(most).read_to_end(&mut content).map_err(failed)?;
    }
    if content.len() > BYTES_MAX {
        return Err(Stop::new(format!("{} is larger than 24 MiB", path.display())));
    }
    Ok(content)
}

impl From<Format> for PriceFormat {
    fn from(it: Format) -> Self {
        match it {
            Format::GenaiPrices => Self::GenaiPrices,
            Format::ModelsDev => Self::ModelsDev,
            Format::Litellm => Self::Litellm,
            Format::Table => Self::Table,
        }
    }
}
