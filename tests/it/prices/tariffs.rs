//! What calls cost: exclusive classes, cliffs, and never more than the bound.

use bursar::domain::{
    price::{Price, Prices},
    rates::{NotTiers, Rates, Tier, Tiers},
    usage::Usage,
};
use proptest::prelude::*;

fn usd(text: &str) -> Price {
    text.parse().unwrap()
}

/// Pico-USD of a plain decimal of USD.
fn pico(usd: &str) -> i128 {
    bursar::domain::money::scaled_decimal(usd, 12, i128::MAX).unwrap()
}

/// Input 1.25, output 10, cached 0.125; beyond 200,000 tokens 2.50, 15 and 0.25.
fn tiered() -> Prices {
    let rates = |input, output, cache_read| Rates {
        cache_read: usd(cache_read),
        ..Rates::of(usd(input), usd(output))
    };
    let tier = Tier { above: 200_000, rates: rates("2.50", "15", "0.25") };
    let tiers = Tiers::new(&[tier]).unwrap();
    Prices { base: rates("1.25", "10", "0.125"), tiers, request: 0 }
}

#[test]
fn past_a_threshold_every_token_takes_the_higher_price() {
    let prices = tiered();
    let cost = |input, cache_read, output| {
        prices.cost(&Usage { input, cache_read, output, ..Usage::default() })
    };
    assert_eq!(cost(200_000, 0, 1_000), pico("0.26"));
    // One token more, and all of them are dearer.
    assert_eq!(cost(200_001, 0, 1_000), pico("0.5150025"));
    // Cached tokens count towards the threshold, and have a higher price beyond it too.
    assert_eq!(cost(100_000, 100_000, 0), pico("0.1375"));
    assert_eq!(cost(100_000, 100_001, 0), pico("0.27500025"));
    // The length of the answer does not count.
    assert_eq!(cost(10, 0, 400_000), pico("4.0000125"));
}

#[test]
fn a_bound_takes_the_dearest_tier_that_the_prompt_may_reach() {
    let prices = tiered();
    assert_eq!(prices.prompt_ceiling(200_000), pico("0.25"));
    assert_eq!(prices.dearest_answer_token(200_000), usd("10"));
    assert_eq!(prices.prompt_ceiling(200_001), pico("0.5000025"));
    assert_eq!(prices.dearest_answer_token(200_001), usd("15"));
    assert_eq!(prices.ceiling(200_001, 100), pico("0.5015025"));
    // A tier that is cheaper does not make the bound less: the prompt may be shorter.
    let cheaper = Tier { above: 10, rates: Rates::of(usd("0.10"), usd("0.10")) };
    let prices = Prices { tiers: Tiers::new(&[cheaper]).unwrap(), ..tiered() };
    assert_eq!(prices.prompt_ceiling(20), pico("0.000025"));
    assert_eq!(prices.dearest_answer_token(20), usd("10"));
}

#[test]
fn tiers_are_few_and_rise() {
    let tier = |above| Tier { above, rates: Rates::of(Price::FREE, Price::FREE) };
    assert_eq!(Tiers::new(&[tier(0)]), Err(NotTiers::Order));
    assert_eq!(Tiers::new(&[tier(5), tier(5)]), Err(NotTiers::Order));
    assert_eq!(Tiers::new(&[tier(5), tier(4)]), Err(NotTiers::Order));
    assert_eq!(Tiers::new(&[1, 2, 3, 4, 5].map(tier)), Err(NotTiers::TooMany));
    assert_eq!(Tiers::new(&[1, 2, 3, 4].map(tier)).unwrap().iter().count(), 4);
}

#[test]
fn a_million_tiny_calls_sum_exactly() {
    let prices = Prices::of(Price::from_pico_usd(100_000), Price::FREE);
    let one = prices.cost(&Usage { input: 1, ..Usage::default() });
    assert_eq!((0..1_000_000).map(|_| one).sum::<i128>(), pico("0.1"));
}

fn rates() -> impl Strategy<Value = Rates> {
    prop::array::uniform8(0_u64..1_000_000_000).prop_map(|it| {
        let [input, cache_read, cache_write, output, reasoning, audio_input, audio_output, image] =
            it.map(Price::from_pico_usd);
        Rates {
            input,
            cache_read,
            cache_write,
            output,
            reasoning,
            audio_input,
            audio_output,
            image,
        }
    })
}

fn prices() -> impl Strategy<Value = Prices> {
    let steps = prop::collection::vec((1_u64..300_000, rates()), 0..=4);
    (rates(), steps, 0_u64..1_000_000_000).prop_map(|(base, steps, request)| {
        let mut above = 0;
        let tier = |(step, rates): (u64, Rates)| {
            above += step;
            Tier { above, rates }
        };
        let tiers: Vec<Tier> = steps.into_iter().map(tier).collect();
        Prices { base, tiers: Tiers::new(&tiers).unwrap(), request }
    })
}

fn usage() -> impl Strategy<Value = Usage> {
    prop::array::uniform5(0_u64..400_000).prop_map(
        |[input, cache_read, cache_write, output, reasoning]| Usage {
            input,
            cache_read,
            cache_write,
            output,
            reasoning,
        },
    )
}

proptest! {
    /// Whatever the tariff, and whatever is counted within the bound: the hold covers it.
    #[test]
    fn no_usage_within_the_bound_costs_more_than_the_bound(
        prices in prices(), usage in usage(), slack in 0_u64..1_000,
    ) {
        let answer = usage.output + usage.reasoning;
        let bound = prices.ceiling(usage.prompt() + slack, answer);
        prop_assert!(prices.cost(&usage) <= bound);
    }

    /// A longer prompt is never bounded by less.
    #[test]
    fn the_bound_grows_with_the_prompt(prices in prices(), prompt in 0_u64..900_000) {
        prop_assert!(prices.prompt_ceiling(prompt) <= prices.prompt_ceiling(prompt + 1));
        let answer = |prompt| prices.dearest_answer_token(prompt);
        prop_assert!(answer(prompt) <= answer(prompt + 1));
    }

    /// Where each tier is dearer than the one before, one more token never costs less.
    #[test]
    fn rising_cliffs_make_a_cost_that_rises(
        base in rates(), steps in prop::collection::vec(1_u64..200_000, 0..=4), usage in usage(),
    ) {
        let mut above = 0;
        let mut rates = base;
        let tiers: Vec<Tier> = steps.into_iter().map(|step| {
            above += step;
            rates = Rates {
                input: Price::from_pico_usd(rates.input.pico_usd() + 1),
                cache_read: Price::from_pico_usd(rates.cache_read.pico_usd() + 7),
                ..rates
            };
            Tier { above, rates }
        }).collect();
        let prices = Prices { base, tiers: Tiers::new(&tiers).unwrap(), request: 0 };
        let more = Usage { input: usage.input + 1, ..usage };
        prop_assert!(prices.cost(&usage) <= prices.cost(&more));
    }
}
