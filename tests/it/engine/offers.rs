//! Clamping, exchange and prices: whole numbers that never round in the caller's favour.

use bursar::{
    budget::offer::{Offer, Room, Size, USEFUL_TOKENS},
    domain::{
        fx::FxQuote,
        hold::Terms,
        limit::LimitKind,
        money::Amount,
        price::{Price, Prices},
        rates::Rates,
        usage::Usage,
    },
};
use proptest::prelude::*;
use uuid::Uuid;

use super::world::terms;

fn quote(rate: u64, buffer: u32) -> FxQuote {
    FxQuote {
        rate: Uuid::from_u128(1).into(),
        usd_nanos_per_unit: rate,
        buffer_basis_points: buffer,
    }
}

fn quotes() -> impl Strategy<Value = FxQuote> {
    let rate = prop_oneof![
        Just(1_u64),
        Just(1_100_000_000),
        1_u64..3_000_000_000,
        1_u64..=10_000_000_000_000
    ];
    (rate, prop_oneof![Just(0_u32), Just(200), 0_u32..5_000]).prop_map(|(rate, it)| quote(rate, it))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_clamp_fits_and_one_token_more_would_not(
        // Coarser, and what nobody limits would not fit an amount.
        fx in quotes().prop_filter("a rate of some worth", |it| it.usd_nanos_per_unit >= 10_000),
        prompt in 0_u64..500,
        prompt_pico in 0_i128..2_000_000_000,
        price in prop_oneof![Just(0_u64), 0_u64..20_000_000],
        wanted in prop_oneof![0_u64..40, 0_u64..5_000, Just(999_999_999)],
        money in proptest::option::of(0_i64..20_000_000),
        tokens in proptest::option::of(0_i64..3_000),
    ) {
        let offer = Offer {
            route: None,
            terms: Terms { fx, ..terms() },
            size: Size::Clampable {
                prompt_tokens: prompt,
                prompt_pico_usd: prompt_pico,
                answer_price: Price::from_pico_usd(price),
                answer_tokens: wanted,
            },
        };
        let need = |answer: u64| {
            fx.bound(prompt_pico + i128::from(price) * i128::from(answer)).unwrap().nanos()
        };
        let fits = |answer: u64| {
            let of_money = money.is_none_or(|it| need(answer) == 0 || need(answer) <= it);
            of_money && tokens.is_none_or(|it| i128::from(prompt + answer) <= i128::from(it))
        };
        let least = wanted.clamp(1, USEFUL_TOKENS);
        if let Some(fit) = offer.fit(Room { money, tokens }) {
            prop_assert!(fits(fit.answer_tokens));
            prop_assert!((least..=wanted).contains(&fit.answer_tokens));
            prop_assert!(fit.answer_tokens == wanted || !fits(fit.answer_tokens + 1));
            prop_assert_eq!(fit.clamped_by.is_some(), fit.answer_tokens < wanted);
            prop_assert_eq!(fit.money.nanos(), need(fit.answer_tokens));
            prop_assert_eq!(i128::from(fit.tokens), i128::from(prompt + fit.answer_tokens));
        } else if wanted > 0 {
            prop_assert!(!fits(least));
            // The limit that is named is one that is short.
            let by_tokens = tokens.is_some_and(|it| i128::from(prompt + least) > i128::from(it));
            let kind = if by_tokens { LimitKind::Tokens } else { LimitKind::Money };
            prop_assert_eq!(offer.short_of(Room { money, tokens }), Some(kind));
        }
    }

    #[test]
    fn what_an_amount_affords_is_the_most_whose_bound_it_covers(fx in quotes(), nanos in 0_i64..=1_000_000_000_000_000) {
        let amount = Amount::from_nanos(nanos);
        let most = fx.affords(amount);
        prop_assert!(fx.bound(most).unwrap() <= amount);
        prop_assert!(fx.bound(most + 1).unwrap() > amount);
    }

    #[test]
    fn a_cost_never_exceeds_its_bound_and_its_parts_are_the_whole(fx in quotes(), pico in 0_i128..1_000_000_000_000_000) {
        let (bound, cost) = (fx.bound(pico), fx.cost(pico));
        let (Ok(bound), Ok(cost)) = (bound, cost) else {
            // Beyond an amount for one is beyond it for both, but for the rounding.
            prop_assert!(fx.bound(pico).is_err());
            return Ok(());
        };
        prop_assert!(cost.total <= bound);
        prop_assert!(bound.nanos() - cost.total.nanos() <= 1);
        prop_assert_eq!(cost.provider.plus(cost.buffer).unwrap(), cost.total);
        prop_assert!(cost.provider.nanos() >= 0 && cost.buffer.nanos() >= 0);
        if fx.buffer_basis_points == 0 {
            prop_assert!(cost.buffer.is_zero());
        }
    }
}

fn prices(input: &str, cache_read: &str, cache_write: &str, output: &str) -> Prices {
    let price = |it: &str| it.parse::<Price>().unwrap();
    let flat = Prices::of(price(input), price(output));
    let base =
        Rates { cache_read: price(cache_read), cache_write: price(cache_write), ..flat.base };
    Prices { base, ..flat }
}

/// Pico-USD of a plain decimal of USD.
fn pico(usd: &str) -> i128 {
    bursar::domain::money::scaled_decimal(usd, 12, i128::MAX).unwrap()
}

#[test]
fn cached_tokens_are_priced_once() {
    let usage =
        Usage { input: 262_960 - 257_955, cache_read: 257_955, output: 1_744, ..Usage::default() };
    assert_eq!(prices("1.25", "0.625", "1.25", "10").cost(&usage), pico("0.184918125"));
    let usage = Usage { input: 3, cache_write: 12_304, output: 550, ..Usage::default() };
    assert_eq!(prices("3", "0.3", "3.75", "15").cost(&usage), pico("0.054399"));
    let usage = Usage { input: 1, cache_read: 27_146, output: 351, ..Usage::default() };
    assert_eq!(prices("1.4", "0.26", "1.4", "4.4").cost(&usage), pico("0.00860376"));
}
