//! The flags of a price.

use clap::Args;

use super::super::stop::Stop;
use crate::proto::{Price, PriceSource, PriceTier};

/// A price: USD per million tokens, as decimals. Free is said as 0. Without any, what the
/// price book lists.
#[derive(Debug, Clone, Args)]
pub struct PriceFlags {
    /// USD per million tokens of input; 0 is free
    #[arg(
        long = "price-input",
        visible_alias = "input",
        value_name = "USD",
        requires = "output",
        conflicts_with = "from"
    )]
    input: Option<String>,
    /// USD per million tokens of output; 0 is free
    #[arg(
        long = "price-output",
        visible_alias = "output",
        value_name = "USD",
        requires = "input",
        conflicts_with = "from"
    )]
    output: Option<String>,
    /// USD per million tokens read from cache [default: as input]
    #[arg(
        long = "price-cache-read",
        visible_alias = "cache-read",
        value_name = "USD",
        requires = "input"
    )]
    cache_read: Option<String>,
    /// USD per million tokens written to cache [default: as input]
    #[arg(
        long = "price-cache-write",
        visible_alias = "cache-write",
        value_name = "USD",
        requires = "input"
    )]
    cache_write: Option<String>,
    /// USD per million tokens of reasoning [default: as output]
    #[arg(
        long = "price-reasoning",
        visible_alias = "reasoning",
        value_name = "USD",
        requires = "input"
    )]
    reasoning: Option<String>,
    /// USD per million tokens of sound in the prompt [default: as input]
    #[arg(long = "price-audio-input", value_name = "USD", requires = "input")]
    audio_input: Option<String>,
    /// USD per million tokens of pictures in the prompt [default: as input]
    #[arg(long = "price-image", value_name = "USD", requires = "input")]
    image: Option<String>,
    /// USD per request [default: none]
    #[arg(
        long = "price-request",
        visible_alias = "request",
        value_name = "USD",
        requires = "input"
    )]
    request: Option<String>,
    /// What a prompt of more than N tokens costs, for all of its tokens, such as
    /// 200000,input=2.50,output=15,cache_read=0.25; several, by rising N
    #[arg(long = "price-above", value_name = "N,CLASS=USD,...", requires = "input")]
    tiers: Vec<String>,
    /// The row of the price book that holds, as PROVIDER/MODEL [default: by the backend's
    /// address and the vendor's model]
    #[arg(long = "price-from", value_name = "ROW")]
    from: Option<String>,
    /// The row's service tier, such as flex or priority
    #[arg(long = "price-service-tier", value_name = "NAME", conflicts_with = "input")]
    service_tier: Option<String>,
}

/// What a request says of a price: at most one of both.
pub(super) type Said = (Option<Price>, Option<PriceSource>);

impl PriceFlags {
    /// As it is sent.
    pub(super) fn read(self) -> Result<Said, Stop> {
        let tiers: Result<Vec<PriceTier>, Stop> = self.tiers.iter().map(|it| tier(it)).collect();
        if let (Some(input), Some(output)) = (self.input, self.output) {
            let price = Price {
                input,
                output,
                cache_read: self.cache_read.unwrap_or_default(),
                cache_write: self.cache_write.unwrap_or_default(),
                reasoning: self.reasoning.unwrap_or_default(),
                request: self.request.unwrap_or_default(),
                audio_input: self.audio_input.unwrap_or_default(),
                image: self.image.unwrap_or_default(),
                tiers: tiers?,
                ..Price::default()
            };
            return Ok((Some(price), None));
        }
        let from = self.from.as_deref().map(|it| {
            let problem = "--price-from: must be PROVIDER/MODEL";
            it.split_once('/').ok_or_else(|| Stop::new(problem))
        });
        let (provider, model) = from.transpose()?.unwrap_or_default();
        let source = PriceSource {
            provider: provider.to_owned(),
            model: model.to_owned(),
            service_tier: self.service_tier.unwrap_or_default(),
        };
        Ok((None, Some(source)))
    }
}

fn tier(text: &str) -> Result<PriceTier, Stop> {
    let wrong = || Stop::new("--price-above: must be such as 200000,input=2.50,output=15");
    let mut parts = text.split(',');
    let above = parts.next().and_then(|it| it.parse().ok()).ok_or_else(wrong)?;
    let mut tier = PriceTier { above_tokens: above, ..PriceTier::default() };
    for part in parts {
        let (class, usd) = part.split_once('=').ok_or_else(wrong)?;
        let place = match class {
            "input" => &mut tier.input,
            "output" => &mut tier.output,
            "cache_read" => &mut tier.cache_read,
            "cache_write" => &mut tier.cache_write,
            "reasoning" => &mut tier.reasoning,
            "audio_input" => &mut tier.audio_input,
            "audio_output" => &mut tier.audio_output,
            "image" => &mut tier.image,
            _ => return Err(wrong()),
        };
        usd.clone_into(place);
    }
    Ok(tier)
}
