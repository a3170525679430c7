//! The flags of an allowance, and the lists that are read page by page.

use std::future::Future;

use clap::Args;

use super::{stop::Stop, words};
use crate::proto::{EnvelopeLimits, Money};

/// The largest page that the service gives.
const PAGE_ITEMS_MAX: usize = 500;

/// The bounds of an envelope; what is left out comes from the grant.
#[derive(Debug, Clone, Default, Args)]
pub struct Allowance {
    /// At most this many calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub calls: Option<i64>,
    /// Ends this many seconds after opening
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(i64).range(1..))]
    pub seconds: Option<i64>,
    /// At most this much money, such as 0.50 or "0.50 EUR"
    #[arg(long, value_name = "AMOUNT", value_parser = words::money)]
    pub money: Option<Money>,
    /// At most this many tokens, input and output together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub tokens: Option<i64>,
    /// At most this many calls under way at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub concurrent_calls: Option<i64>,
}

/// How many to list.
#[derive(Debug, Clone, Copy, Args)]
pub struct Listing {
    /// List at most this many
    #[arg(long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(u16).range(1..=10_000))]
    limit: u16,
}

impl Allowance {
    /// The bounds, if any was given.
    pub fn limits(&self) -> Option<EnvelopeLimits> {
        let Self { calls, seconds, money, tokens, concurrent_calls } = self;
        let counts = [calls, seconds, tokens, concurrent_calls];
        let any = money.is_some() || counts.iter().any(|it| it.is_some());
        any.then(|| EnvelopeLimits {
            calls: *calls,
            seconds: *seconds,
            money: money.clone(),
            tokens: *tokens,
            concurrent_calls: *concurrent_calls,
            landing: None,
        })
    }
}

impl Listing {
    /// As many as can be listed.
    pub(super) const ALL: Self = Self { limit: 10_000 };

    /// Reads pages until there are enough, or no more. `page` is given a page's
    /// size and token and returns its items and the next token.
    pub(super) async fn collect<T, F>(
        self,
        mut page: impl FnMut(i32, String) -> F,
    ) -> Result<Vec<T>, Stop>
    where
        F: Future<Output = Result<(Vec<T>, String), Stop>>,
    {
        let limit = usize::from(self.limit);
        let (mut items, mut token) = (Vec::new(), String::new());
        loop {
            let size = (limit - items.len()).min(PAGE_ITEMS_MAX);
            let (more, next) = page(i32::try_from(size).unwrap_or(i32::MAX), token).await?;
            // A page without items but with a token would go on for ever.
            let stuck = more.is_empty();
            items.extend(more.into_iter().take(size));
            if next.is_empty() || stuck || items.len() >= limit {
                return Ok(items);
            }
            token = next;
        }
    }
}
