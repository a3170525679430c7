//! Price lists that others publish, read into rows of the price book. Pure: bytes in,
//! rows out. A row that makes no sense is refused by name and costs no other row.

mod card;
mod genai;
mod litellm;
mod models_dev;
mod names;
mod number;
mod own;
mod source;

pub use names::provider_at;
pub use number::{Scaled, scaled};
pub use own::{SHIPPED, SHIPPED_DATE};

use crate::domain::book::{Key, Listing, Refused};

/// The largest file that is read, in bytes.
pub const BYTES_MAX: usize = 24 * 1024 * 1024;

/// Rows that one file may list.
pub const ROWS_MAX: usize = 30_000;

/// Refused rows that are kept by name.
const REFUSED_MAX: usize = 10_000;

/// The longest names, in bytes.
const PROVIDER_BYTES_MAX: usize = 64;
const MODEL_BYTES_MAX: usize = 256;
const TIER_BYTES_MAX: usize = 32;

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The JSON of the project genai-prices: USD per million tokens, with dates, tiers
    /// and variants.
    GenaiPrices,
    /// The `api.json` of models.dev: USD per million tokens.
    ModelsDev,
    /// LiteLLM's map of models: USD per token.
    Litellm,
    /// Our own table: a line a model, USD per million tokens.
    Table,
}

/// What a list says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct List {
    /// Its rows, each key and day once, in their order.
    pub rows: Vec<Listing>,
    /// Rows that are not taken, at most [`REFUSED_MAX`] of them.
    pub refused: Vec<Refused>,
    /// Models that have no price per token, such as those for pictures or speech alone.
    pub passed_over: usize,
}

/// A file that is not a list of prices at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Too large.
    #[error("must be at most 24 MiB")]
    TooLarge,
    /// Too many rows.
    #[error("must list at most {ROWS_MAX} prices")]
    TooMany,
    /// No text.
    #[error("must be UTF-8")]
    NotText,
    /// No JSON, or of another shape.
    #[error("is not of this format: line {line}, column {column}")]
    Json {
        /// Where, from 1.
        line: usize,
        /// Where in the line, from 1.
        column: usize,
    },
    /// Nothing in it has a price.
    #[error("lists no price")]
    Empty,
}

// === impl Format ===

impl Format {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::GenaiPrices, Self::ModelsDev, Self::Litellm, Self::Table];

    /// The word in the table and on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::GenaiPrices => "genai-prices",
            Self::ModelsDev => "models-dev",
            Self::Litellm => "litellm",
            Self::Table => "table",
        }
    }
}

/// Reads a list.
pub fn read(format: Format, content: &[u8]) -> Result<List, Unreadable> {
    if content.len() > BYTES_MAX {
        return Err(Unreadable::TooLarge);
    }
    let text = std::str::from_utf8(content).map_err(|_| Unreadable::NotText)?;
    let mut found = Found::default();
    match format {
        Format::GenaiPrices => genai::read(&source::mended(text), &mut found)?,
        Format::ModelsDev => models_dev::read(&source::mended(text), &mut found)?,
        Format::Litellm => litellm::read(&source::mended(text), &mut found)?,
        Format::Table => own::read(text, &mut found),
    }
    found.list()
}

/// What has been found so far.
#[derive(Debug, Default)]
struct Found {
    rows: Vec<Listing>,
    refused: Vec<Refused>,
    passed_over: usize,
}

// === impl Found ===

impl Found {
    /// Takes a row, or refuses it.
    fn add(&mut self, row: Result<Listing, card::Wrong>, key: &Key) {
        match row.and_then(named) {
            Ok(it) => self.rows.push(it),
            Err(wrong) => self.refuse(key.to_string(), wrong),
        }
    }

    fn refuse(&mut self, row: String, (field, problem): card::Wrong) {
        if self.refused.len() < REFUSED_MAX {
            // A name may be of any length and hold anything.
            let row = row.chars().filter(|it| !it.is_control()).take(MODEL_BYTES_MAX).collect();
            self.refused.push(Refused { row, field, problem });
        }
    }

    fn list(self) -> Result<List, Unreadable> {
        let Self { mut rows, mut refused, passed_over } = self;
        if rows.len() > ROWS_MAX {
            return Err(Unreadable::TooMany);
        }
        rows.sort_by(|a, b| (&a.key, a.from).cmp(&(&b.key, b.from)));
        // One key listed twice: which of both is meant cannot be known.
        let mut kept: Vec<Listing> = Vec::with_capacity(rows.len());
        let mut doubtful: Option<(Key, Option<jiff::civil::Date>)> = None;
        for row in rows {
            let place = (row.key.clone(), row.from);
            let last = kept.last().filter(|it| (&it.key, it.from) == (&row.key, row.from));
            match last.map(|it| it.prices == row.prices) {
                Some(true) => {}
                None if doubtful.as_ref() == Some(&place) => {}
                None => kept.push(row),
                Some(false) => {
                    let problem = "is listed twice with different prices";
                    let row = row.key.to_string();
                    let field = "model".to_owned();
                    refused.push(Refused { row, field, problem: problem.to_owned() });
                    kept.pop();
                    doubtful = Some(place);
                }
            }
        }
        if kept.is_empty() {
            return Err(Unreadable::Empty);
        }
        Ok(List { rows: kept, refused, passed_over })
    }
}

/// A row whose names the book can keep.
fn named(row: Listing) -> Result<Listing, card::Wrong> {
    let Key { provider, model, service_tier } = &row.key;
    for (field, name, most) in [
        ("provider", provider, PROVIDER_BYTES_MAX),
        ("model", model, MODEL_BYTES_MAX),
        ("service_tier", service_tier, TIER_BYTES_MAX),
    ] {
        if name.is_empty() || name.len() > most || name.chars().any(char::is_control) {
            let problem = format!("must be 1 to {most} bytes without control characters");
            return Err((field.to_owned(), problem));
        }
    }
    Ok(row)
}
