//! How an amount came about, in words and numbers, and made anew from its parts.

use uuid::Uuid;

use super::{Entry, export::focus::decimal};
use crate::{
    domain::{
        entry::EntryKind,
        fault::Fault,
        fx::{Cost, FxQuote},
        ids::EntryId,
        money::{Amount, Currency},
        price::{Price, Prices},
        tenant::Tenant,
        usage::Usage,
    },
    store::{
        self, Store,
        explain::{Grounds, grounds},
        ledger::{Filter, page},
    },
};

/// Other entries of the call that are named, at most.
const RELATED_MAX: i64 = 50;

/// An explanation.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The entry.
    pub entry: Entry,
    /// What it is made of: a label and a sentence each, in order.
    pub lines: Vec<(&'static str, String)>,
    /// What is booked: charged and overrun.
    pub booked: Amount,
    /// The same made anew from tokens, prices, rate and buffer, or from the hold; none
    /// where no way leads there.
    pub recomputed: Option<Amount>,
    /// Whether every part is equal, to the nano-unit and the pico-USD.
    pub matches: bool,
    /// Other entries of the same call, newest first.
    pub related: Vec<Entry>,
}

/// A way to an amount.
struct Way {
    words: &'static str,
    pico_usd: i128,
    cost: Cost,
}

/// Explains an entry.
pub async fn explain(store: &Store, tenant: &Tenant, id: EntryId) -> Result<Explanation, Fault> {
    const WHAT: Fault = Fault::NotFound { what: "entry" };
    let mut tx = store.report_tx(tenant.id).await?;
    let ground = grounds(&mut tx, tenant.id, id).await?.ok_or(WHAT)?;
    let after = Uuid::from_u128(id.uuid().as_u128().saturating_add(1));
    let filter = Filter { call: Some(ground.call), ..Filter::default() };
    let found = page(&mut tx, tenant.id, &filter, (Some(after), 1)).await?;
    let entry = found.into_iter().find(|it| it.id == id).ok_or(WHAT)?;
    let mut related = page(&mut tx, tenant.id, &filter, (None, RELATED_MAX)).await?;
    store::commit(tx).await?;
    related.retain(|it| it.id != id);
    let fx = FxQuote {
        rate: entry.fx_rate,
        usd_nanos_per_unit: u64::try_from(ground.usd_nanos_per_unit).unwrap_or(0),
        buffer_basis_points: u32::try_from(ground.fx_buffer_bp).unwrap_or(0),
    };
    let way = ways(&entry, &ground, &fx).find(|it| leads_to(it, &entry, &ground));
    let booked = i128::from(entry.money.charge) + i128::from(entry.money.overrun);
    let booked = Amount::try_from(booked).map_err(|_| Fault::Internal)?;
    let (_, _, provider, buffer) = ground.before;
    let recomputed = way.as_ref().map(|it| it.cost.total.nanos() - provider - buffer);
    let recomputed = recomputed.map(Amount::from_nanos);
    let lines = lines(&entry, &ground, way.as_ref(), tenant.currency);
    let matches = recomputed == Some(booked);
    Ok(Explanation { entry, lines, booked, recomputed, matches, related })
}

/// Whether a way, less what was booked before, is the entry in each part.
fn leads_to(way: &Way, entry: &Entry, ground: &Grounds) -> bool {
    let (_, pico, provider, buffer) = ground.before;
    way.pico_usd - pico == entry.pico_usd
        && way.cost.provider.nanos() - provider == entry.cost.provider.nanos()
        && way.cost.buffer.nanos() - buffer == entry.cost.buffer.nanos()
}

/// Every way in which a cost is ever made, the usual one first.
fn ways<'a>(
    entry: &'a Entry,
    ground: &'a Grounds,
    fx: &'a FxQuote,
) -> impl Iterator<Item = Way> + 'a {
    let nothing = (entry.kind == EntryKind::Void).then(|| Way {
        words: "certainly nothing was used",
        pico_usd: 0,
        cost: Cost::default(),
    });
    let tokens = ground.prices.and_then(|(_, prices)| {
        let pico_usd = prices.cost(&entry.usage);
        let cost = fx.cost(pico_usd).ok()?;
        Some(Way { words: "tokens times prices, and the fee", pico_usd, cost })
    });
    let hold = fx.split(entry.hold).ok().map(|cost| {
        let pico_usd = fx.affords(entry.hold);
        Way { words: "the whole hold, for want of a count", pico_usd, cost }
    });
    let (_, pico, provider, buffer) = ground.before;
    let all = entry.pico_usd.saturating_add(pico);
    let bound = fx.cost(all).ok().map(|cost| Way {
        words: "a cost in USD that was bounded or reported, and is kept on the entry",
        pico_usd: all,
        cost,
    });
    let total = entry.cost.total.nanos().saturating_add(provider).saturating_add(buffer);
    let total = Amount::from_nanos(total);
    let said = fx.split(total).ok().filter(|_| entry.by_host).map(|cost| Way {
        words: "an amount that the host reported",
        pico_usd: fx.affords(total),
        cost,
    });
    [nothing, tokens, hold, bound, said].into_iter().flatten()
}

fn usd(pico: i128) -> String {
    format!("{} USD", decimal(pico.saturating_mul(1_000_000)))
}

type Lines = Vec<(&'static str, String)>;

fn lines(entry: &Entry, ground: &Grounds, way: Option<&Way>, currency: Currency) -> Lines {
    let mut lines = Lines::new();
    if let Some((version, prices)) = &ground.prices {
        let since = ground.effective_at.map(crate::domain::period::to_the_second);
        let since = since.unwrap_or_default();
        lines.push(("prices", format!("version {version}, in effect since {since}")));
        by_class(&entry.usage, prices, &mut lines);
    } else {
        lines.push(("prices", "none: the host ran its own model".to_owned()));
    }
    lines.push(("way", way.map_or("no way leads to this amount", |it| it.words).to_owned()));
    if let Some(way) = way {
        lines.push(("provider", format!("{} in all", usd(way.pico_usd))));
    }
    lines.extend(rate(entry, ground, currency));
    let amount = |it: Amount| format!("{it} {currency}");
    if let Some(way) = way {
        let Cost { total, provider, buffer } = way.cost;
        lines.push((
            "rounding",
            format!(
                "rounded half-even to the nano, once: {}, of which {} the provider's and {} buffer",
                amount(total),
                amount(provider),
                amount(buffer)
            ),
        ));
    }
    let (count, _, provider, buffer) = ground.before;
    if count > 0 {
        let before = amount(Amount::from_nanos(provider.saturating_add(buffer)));
        let words = "entries before it booked of the same hold; this one is the difference";
        lines.push(("before", format!("{before}, which {count} {words}")));
    }
    lines.push(("hold", format!("{} was held", amount(entry.hold))));
    lines.push((
        "charge",
        format!("{} to the user", amount(Amount::from_nanos(entry.money.charge))),
    ));
    if entry.money.overrun != 0 {
        let overrun = amount(Amount::from_nanos(entry.money.overrun));
        lines.push(("overrun", format!("{overrun} to the tenant: beyond every limit")));
    }
    if entry.estimated {
        let words = "a bound of ours, not the provider's count; a later truth corrects it";
        lines.push(("certainty", words.to_owned()));
    }
    if let Some(corrects) = entry.corrects {
        lines.push(("corrects", format!("entry {corrects}")));
    }
    lines
}

fn by_class(usage: &Usage, prices: &Prices, lines: &mut Lines) {
    let Usage { input, cache_read, cache_write, output, reasoning } = *usage;
    let rates = prices.at(usage.prompt());
    if let Some(tier) = prices.tiers.iter().find(|it| it.rates == *rates && *rates != prices.base) {
        lines.push(("tier", format!("that of prompts of more than {} tokens", tier.above)));
    }
    for (class, tokens, price) in [
        ("input", input, rates.input),
        ("cache_read", cache_read, rates.cache_read),
        ("cache_write", cache_write, rates.cache_write),
        ("output", output, rates.output),
        ("reasoning", reasoning, rates.reasoning),
    ] {
        if tokens > 0 {
            lines.push((class, class_line(tokens, price)));
        }
    }
    if prices.request > 0 {
        lines.push(("request", format!("{} a request", usd(i128::from(prices.request)))));
    }
}

fn class_line(tokens: u64, price: Price) -> String {
    let cost = usd(i128::from(tokens) * i128::from(price.pico_usd()));
    format!("{tokens} tokens at {price} USD per million: {cost}")
}

fn rate(entry: &Entry, ground: &Grounds, currency: Currency) -> Lines {
    let per_unit = Amount::from_nanos(ground.usd_nanos_per_unit);
    let fixed = ground.fixing_date.map_or_else(String::new, |it| format!(", fixed on {it}"));
    let rate = format!("1 {currency} = {per_unit} USD{fixed} ({})", entry.fx_rate);
    let bp = ground.fx_buffer_bp;
    let buffer = if bp == 0 {
        "none: the rate was fresh".to_owned()
    } else {
        format!("{}.{:02} % for the rate's age", bp / 100, bp % 100)
    };
    vec![("rate", rate), ("buffer", buffer)]
}
