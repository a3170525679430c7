//! Decimals become whole numbers exactly, or not at all.

use bursar::prices::{Scaled, scaled};
use proptest::prelude::*;

const DOLLAR: u64 = 1_000_000_000_000;

fn exact(json: &str, places: i32, value: u64) {
    assert_eq!(scaled(json, places, u64::MAX), Ok(Scaled { value, is_rounded: false }), "{json}");
}

fn rounded(json: &str, places: i32, value: u64) {
    assert_eq!(scaled(json, places, u64::MAX), Ok(Scaled { value, is_rounded: true }), "{json}");
}

#[test]
fn prices_of_a_token_are_pico_dollars() {
    exact("1.25e-06", 12, 1_250_000);
    exact("0.00000125", 12, 1_250_000);
    exact("2.5E-7", 12, 250_000);
    exact("1e-12", 12, 1);
    exact("0", 12, 0);
    exact("0.0", 12, 0);
    exact("0e-20", 12, 0);
    exact("3", 6, 3_000_000);
    exact("0.075", 6, 75_000);
    exact("1.0e1", 6, 10_000_000);
}

#[test]
fn what_is_finer_is_rounded_to_the_even_neighbour() {
    rounded("0.0000005", 6, 0);
    rounded("0.0000015", 6, 2);
    rounded("0.0000025", 6, 2);
    rounded("0.00000250000001", 6, 3);
    rounded("1.9999999", 6, 2_000_000);
    rounded("9.999e-13", 12, 1);
    rounded("1e-60", 12, 0);
}

/// Every way to write what is no price.
#[test]
fn what_is_no_price_is_refused_without_quoting_it() {
    for json in [
        "NaN",
        "\"NaN\"",
        "Infinity",
        "-Infinity",
        "\"-Infinity\"",
        "\"10\"",
        "null",
        "true",
        "[1]",
        "{}",
        "",
        "1.2.3",
        "1e",
        "e5",
        ".",
        ".5",
        "--1",
        "1e5e5",
        "1 0",
        "0x10",
        "١",
    ] {
        assert_eq!(scaled(json, 12, DOLLAR), Err("must be a number"), "{json}");
    }
    for json in ["-1", "-0.0", "-0", "-1e-9"] {
        assert_eq!(scaled(json, 12, DOLLAR), Err("must not be negative"), "{json}");
    }
    for json in ["1e308", "1e400", "1e-308"] {
        assert_eq!(scaled(json, 12, DOLLAR), Err("has an absurd exponent"), "{json}");
    }
    for json in ["1e30", "2", "1.000000000001", "99999999999999999999"] {
        assert_eq!(scaled(json, 12, DOLLAR), Err("is absurdly high"), "{json}");
    }
    let long = format!("0.{}", "1".repeat(100));
    assert_eq!(scaled(&long, 12, DOLLAR), Err("has too many digits"));
    assert_eq!(scaled("1e99999999999", 12, DOLLAR), Err("must be a number"));
}

proptest! {
    #[test]
    fn any_pico_price_survives_every_way_to_write_it(pico in 0..=DOLLAR, shift in -20_i32..20) {
        let (whole, rest) = (pico / DOLLAR, pico % DOLLAR);
        let plain = format!("{whole}.{rest:012}");
        prop_assert_eq!(scaled(&plain, 12, DOLLAR), Ok(Scaled { value: pico, is_rounded: false }));
        let moved = format!("{pico}e{}", shift - 12);
        let read = scaled(&moved, 12 - shift, DOLLAR);
        prop_assert_eq!(read, Ok(Scaled { value: pico, is_rounded: false }));
    }

    /// The text of a float that Python or JavaScript writes for a price is that price.
    #[test]
    fn the_shortest_text_of_a_float_is_exact(micro in 1_u32..200_000_000) {
        let per_token: f64 = format!("{micro}e-12").parse().unwrap();
        let text = format!("{per_token:e}");
        let value = u64::from(micro);
        prop_assert_eq!(scaled(&text, 12, DOLLAR), Ok(Scaled { value, is_rounded: false }));
    }

    #[test]
    fn no_text_breaks_it(text in "\\PC{0,40}", places in -30_i32..30) {
        let _ = scaled(&text, places, u64::MAX);
    }
}
