//! Each format, on small lists of our own.

use bursar::{
    domain::{price::Price, rates::Class},
    prices::{Format, SHIPPED, Unreadable, read},
};
use proptest::prelude::*;

use super::{list, refusals, row};

fn usd(text: &str) -> Price {
    text.parse().unwrap()
}

const GENAI: &str = r#"[
  {"id": "acme", "name": "Acme", "models": [
    {"id": "flat", "match": {"or": [{"equals": "flat"}, {"equals": "flat-2026-01-01"}, {"equals": "long"}, {"starts_with": "f"}]}, "prices":
      {"input_mtok": 1.4, "cache_read_mtok": 0.26, "output_mtok": 4.4, "web_searches_kcount": 10}},
    {"id": "long", "prices": {
      "input_mtok": {"base": 1.25, "tiers": [{"start": 200000, "price": 2.5}]},
      "cache_write_mtok": 3.75,
      "output_mtok": {"base": 10, "tiers": [{"start": 200000, "price": 15}, {"start": 500000, "price": 20}]},
      "input_audio_mtok": 7, "requests_kcount": 5}},
    {"id": "dated", "prices": [
      {"prices": {"input_mtok": 10, "output_mtok": 30}},
      {"constraint": {"start_date": "2026-03-13"}, "prices": {"input_mtok": 2.5, "output_mtok": 10}},
      {"constraint": {"start_date": "2026-01-01"}, "prices": {"input_mtok": 5, "output_mtok": 15}}]},
    {"id": "by-night", "prices": [
      {"prices": {"input_mtok": 0.135, "output_mtok": 0.55}},
      {"constraint": {"start_time": "00:30:00Z", "end_time": "16:30:00Z"},
       "prices": {"input_mtok": 0.27, "output_mtok": 0.5}}]},
    {"id": "served", "prices": {"input_mtok": {"base": 2, "tiers": [{"start": 100, "price": 4}]},
       "output_mtok": 8, "cache_read_mtok": 0.5},
     "price_variants": [
      {"when": {"service_tier": "default"}, "prices": {}},
      {"when": {"service_tier": "flex"}, "prices": {"input_mtok": 1, "output_mtok": 4},
       "constraint": {"start_date": "2026-10-12"}},
      {"when": {"processing": "batch"}, "prices": {"output_mtok": 3}}]},
    {"id": "embeds", "prices": {"input_mtok": 0.1}},
    {"id": "fine", "prices": {"input_mtok": 0.0000015, "output_mtok": 1}},
    {"id": "text", "prices": {"input_mtok": "10", "output_mtok": 1}},
    {"id": "minus", "prices": {"input_mtok": 1, "output_mtok": -1}},
    {"id": "no-number", "prices": {"input_mtok": NaN, "output_mtok": 1}},
    {"id": "huge", "prices": {"input_mtok": 1, "output_mtok": 1e308}},
    {"id": "odd", "prices": [{"constraint": {"moon": "full"}, "prices": {"input_mtok": 1, "output_mtok": 1}}]}
  ]}
]"#;

#[test]
fn genai_prices_have_tiers_dates_times_of_day_and_service_tiers() {
    let list = list(Format::GenaiPrices, GENAI);
    let flat = row(&list, "acme/flat", None).prices;
    assert_eq!(flat.base.input, usd("1.40"));
    assert_eq!((flat.base.cache_read, flat.base.output), (usd("0.26"), usd("4.40")));
    // It is known by every name that it is said to equal, but for another's own.
    assert_eq!(row(&list, "acme/flat-2026-01-01", None).prices, flat);
    // What has no price of its own has that of its side.
    assert_eq!((flat.base.cache_write, flat.base.reasoning), (usd("1.40"), usd("4.40")));

    let long = row(&list, "acme/long", None).prices;
    assert_eq!(long.request, 5_000_000_000);
    assert_eq!(long.at(200_000).input, usd("1.25"));
    let beyond = long.at(200_001);
    assert_eq!((beyond.input, beyond.output), (usd("2.50"), usd("15")));
    assert_eq!((beyond.cache_write, beyond.audio_input), (usd("3.75"), usd("7")));
    // No price of cached tokens: they cost what the others cost at that length.
    assert_eq!((long.base.cache_read, beyond.cache_read), (usd("1.25"), usd("2.50")));
    assert_eq!((long.at(500_001).input, long.at(500_001).output), (usd("2.50"), usd("20")));

    let input = |from| row(&list, "acme/dated", from).prices.base.input;
    assert_eq!(input(None), usd("10"));
    assert_eq!(input(Some("2026-01-01")), usd("5"));
    assert_eq!(input(Some("2026-03-13")), usd("2.50"));

    let by_night = row(&list, "acme/by-night", None).prices.base;
    assert_eq!((by_night.input, by_night.output), (usd("0.27"), usd("0.55")));

    let flex = row(&list, "acme/served (flex)", Some("2026-10-12")).prices;
    // The variant's flat price goes before the standard one's tiers.
    assert_eq!((flex.at(1_000).input, flex.base.output), (usd("1"), usd("4")));
    assert_eq!(flex.base.cache_read, usd("0.50"));
    let batch = row(&list, "acme/served (batch)", None).prices;
    assert_eq!((batch.at(1_000).input, batch.base.output), (usd("4"), usd("3")));
}

#[test]
fn a_bad_row_is_named_and_costs_no_other_row() {
    let list = list(Format::GenaiPrices, GENAI);
    assert_eq!(list.passed_over, 1);
    let fine = row(&list, "acme/fine", None);
    assert!(fine.is_rounded);
    assert_eq!(fine.prices.base.input, Price::from_pico_usd(2));
    assert!(list.rows.iter().filter(|it| it.is_rounded).count() == 1);
    let constraint = "must be a start_date, or a start_time and an end_time";
    assert_eq!(
        refusals(&list),
        [
            ("acme/text", "input_mtok", "must be a number"),
            ("acme/minus", "output_mtok", "must not be negative"),
            ("acme/no-number", "input_mtok", "must be a number"),
            ("acme/huge", "output_mtok", "has an absurd exponent"),
            ("acme/odd", "constraint", constraint),
        ]
    );
}

const MODELS_DEV: &str = r#"{
  "xai": {"id": "xai", "models": {
    "big": {"id": "big", "cost": {"input": 3, "output": 15, "cache_read": 0.75, "reasoning": 16,
      "input_audio": 20, "context_over_200k": {"input": 6, "output": 22.5}}},
    "tiered": {"cost": {"input": 1, "output": 2, "context_over_200k": {"input": 9},
      "tiers": [{"tier": {"type": "context", "size": 128000}, "input": 2, "output": 4}]}},
    "of-what": {"cost": {"input": 1, "output": 2, "tiers": [{"tier": {"type": "speed", "size": 1}, "input": 2}]}},
    "unpriced": {"id": "unpriced"},
    "half": {"cost": {"input": 1}}
  }},
  "broken": []
}"#;

#[test]
fn models_dev_has_tiers_of_a_prompts_length() {
    let list = list(Format::ModelsDev, MODELS_DEV);
    let big = row(&list, "x-ai/big", None).prices;
    assert_eq!((big.base.input, big.base.reasoning), (usd("3"), usd("16")));
    assert_eq!((big.base.audio_input, big.base.cache_read), (usd("20"), usd("0.75")));
    assert_eq!((big.at(200_000).output, big.at(200_001).output), (usd("15"), usd("22.50")));
    // The newer way to say it goes before the older one.
    let tiered = row(&list, "x-ai/tiered", None).prices;
    assert_eq!((tiered.at(128_000).input, tiered.at(250_000).input), (usd("1"), usd("2")));
    assert_eq!(list.passed_over, 1);
    assert_eq!(
        refusals(&list),
        [
            ("broken", "models", "must be an object with models"),
            ("x-ai/half", "output", "is missing: an unknown price is never used"),
            ("x-ai/of-what", "cost", "has a tier that is not of a context's size"),
        ]
    );
}

const LITELLM: &str = r#"{
  "sample_spec": {"input_cost_per_token": 0.0, "mode": "one of many"},
  "gpt-x": {"litellm_provider": "openai", "mode": "chat",
    "input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05, "cache_read_input_token_cost": 6.25e-07,
    "input_cost_per_token_priority": 2.5e-06, "output_cost_per_token_batches": 5e-06,
    "cache_creation_input_token_cost_above_1hr": 6e-06, "input_cost_per_request": 0.005,
    "supports_vision": true, "source": "https://example.com/pricing"},
  "gemini/pro": {"litellm_provider": "gemini", "mode": "chat",
    "input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05,
    "input_cost_per_token_above_200k_tokens": 2.5e-06, "output_cost_per_token_above_200k_tokens": 1.5e-05,
    "input_cost_per_audio_token": 7e-07, "input_cost_per_token_above_200k_tokens_priority": 4.5e-06},
  "dashscope/plus": {"litellm_provider": "dashscope", "mode": "chat", "tiered_pricing": [
    {"input_cost_per_token": 4e-07, "output_cost_per_token": 1.2e-06, "output_cost_per_reasoning_token": 4e-06,
     "range": [0, 256000.0]},
    {"input_cost_per_token": 1.2e-06, "output_cost_per_token": 3.6e-06, "range": [256000.0, 1e6]}]},
  "embeds": {"litellm_provider": "openai", "mode": "embedding", "input_cost_per_token": 2e-08},
  "by-character": {"litellm_provider": "x", "mode": "chat", "input_cost_per_character": 1e-06},
  "half": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06},
  "whose": {"mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06},
  "absurd": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 3, "output_cost_per_token": 1e-06},
  "endless": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": -Infinity}
}"#;

#[test]
fn litellm_says_class_threshold_and_service_tier_in_the_names_of_fields() {
    let list = list(Format::Litellm, LITELLM);
    let standard = row(&list, "openai/gpt-x", None).prices;
    assert_eq!((standard.base.input, standard.base.output), (usd("1.25"), usd("10")));
    assert_eq!((standard.base.cache_read, standard.request), (usd("0.625"), 5_000_000_000));
    assert_eq!(standard.base.cache_write, usd("1.25"));
    let priority = row(&list, "openai/gpt-x (priority)", None).prices.base;
    assert_eq!((priority.input, priority.output), (usd("2.50"), usd("10")));
    let batch = row(&list, "openai/gpt-x (batch)", None).prices.base;
    assert_eq!((batch.input, batch.output), (usd("1.25"), usd("5")));

    let pro = row(&list, "google/pro", None).prices;
    assert_eq!((pro.at(200_000).input, pro.at(200_001).input), (usd("1.25"), usd("2.50")));
    assert_eq!(pro.at(200_001).price(Class::AudioInput), usd("0.70"));

    let plus = row(&list, "dashscope/plus", None).prices;
    assert_eq!((plus.at(256_000).input, plus.at(256_001).input), (usd("0.40"), usd("1.20")));
    assert_eq!((plus.base.reasoning, plus.at(256_001).reasoning), (usd("4"), usd("4")));
    assert_eq!(list.passed_over, 1);
}

#[test]
fn what_litellm_does_not_price_is_refused_by_name() {
    let missing = "is missing: an unknown price is never used";
    let whose = "is missing: whose price it is cannot be told";
    assert_eq!(
        refusals(&list(Format::Litellm, LITELLM)),
        [
            ("openai/absurd", "input_cost_per_token", "is absurdly high"),
            ("x/by-character", "input_cost_per_token", missing),
            ("openai/endless", "output_cost_per_token", "must be a number"),
            // Its priority tier has prices beyond a threshold and none of its own.
            ("openai/half", "output_cost_per_token", missing),
            ("whose", "litellm_provider", whose),
        ]
    );
}

#[test]
fn our_own_table_is_a_line_a_model() {
    let text = "# what it is\n\
        acme small 0.15 0.6 cache_read=0.075 request=0.01 # a note\n\
        acme large 1 2 above=1000 input=2 above=5000 output=9\n\
        acme large tier=flex from=2026-05-01 0.5 1\n\
        acme wrong 1 2 3\n\
        acme half 1\n\
        acme odd 1 2 colour=3\n\
        acme when 1 2 from=yesterday\n";
    let list = list(Format::Table, text);
    let small = row(&list, "acme/small", None).prices;
    assert_eq!((small.base.cache_read, small.request), (usd("0.075"), 10_000_000_000));
    let large = row(&list, "acme/large", None).prices;
    assert_eq!((large.at(1_001).input, large.at(1_001).output), (usd("2"), usd("2")));
    assert_eq!((large.at(5_001).input, large.at(5_001).output), (usd("2"), usd("9")));
    assert_eq!(row(&list, "acme/large (flex)", Some("2026-05-01")).prices.base.input, usd("0.5"));
    assert_eq!(
        refusals(&list),
        [
            ("acme/wrong", "3", "is one number too many (line 5)"),
            ("acme/half", "output", "is missing: an unknown price is never used (line 6)"),
            ("acme/odd", "colour=3", "is no class of tokens (line 7)"),
            ("acme/when", "from=yesterday", "must be a day, YYYY-MM-DD (line 8)"),
        ]
    );
}

#[test]
fn the_shipped_table_reads_without_a_fault() {
    let list = list(Format::Table, SHIPPED);
    assert_eq!(refusals(&list), []);
    assert!(list.rows.len() >= 60, "{}", list.rows.len());
    assert!(list.rows.iter().all(|it| !it.is_rounded && !it.prices.are_free()));
    let lines = SHIPPED.lines().filter(|it| !it.starts_with('#') && !it.is_empty()).count();
    assert_eq!(list.rows.len(), lines, "a line is twice there");
}

#[test]
fn a_key_that_is_listed_twice_counts_for_nothing_unless_both_agree() {
    let text = "acme a 1 2\nacme a 1 2\nacme b 1 2\nacme b 1 3\nacme b 1 2\nacme c 1 2\n";
    let list = list(Format::Table, text);
    let keys: Vec<String> = list.rows.iter().map(|it| it.key.to_string()).collect();
    assert_eq!(keys, ["acme/a", "acme/c"]);
    assert_eq!(refusals(&list), [("acme/b", "model", "is listed twice with different prices")]);
}

#[test]
fn what_is_no_list_is_refused_whole_and_where() {
    let json = |format, text: &str| read(format, text.as_bytes()).unwrap_err();
    assert_eq!(json(Format::Litellm, "{\n  \"a\": }"), Unreadable::Json { line: 2, column: 8 });
    assert_eq!(json(Format::Litellm, "[]"), Unreadable::Json { line: 1, column: 0 });
    assert_eq!(json(Format::GenaiPrices, "{\"a\": 1}"), Unreadable::Json { line: 1, column: 1 });
    assert_eq!(
        json(Format::GenaiPrices, "[{\"id\": \"a\"}]"),
        Unreadable::Json { line: 1, column: 1 }
    );
    assert_eq!(json(Format::ModelsDev, "{}"), Unreadable::Empty);
    assert_eq!(json(Format::Table, "# nothing\n"), Unreadable::Empty);
    assert_eq!(read(Format::Table, b"\xff"), Err(Unreadable::NotText));
    assert_eq!(read(Format::Table, &vec![b' '; 25 * 1024 * 1024]), Err(Unreadable::TooLarge));
    let deep = format!("{}{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    assert!(matches!(json(Format::Litellm, &deep), Unreadable::Json { .. }));
    let many: String = (0..30_001).map(|it| format!("a m{it} 1 1")).collect::<Vec<_>>().join("\n");
    assert_eq!(json(Format::Table, &many), Unreadable::TooMany);
}

#[test]
fn names_that_cannot_be_kept_are_refused() {
    let long = "m".repeat(257);
    let text = format!(
        "{{\"acme\": {{\"models\": {{\"a\\nb\": {{\"cost\": {{\"input\": 1, \"output\": 1}}}},
        \"{long}\": {{\"cost\": {{\"input\": 1, \"output\": 1}}}},
        \"ok\": {{\"cost\": {{\"input\": 1, \"output\": 1}}}}}}}}}}"
    );
    let list = list(Format::ModelsDev, &text);
    assert_eq!(list.rows.len(), 1);
    let problem = "must be 1 to 256 bytes without control characters";
    let refused = refusals(&list);
    assert_eq!(refused[0], ("acme/ab", "model", problem));
    assert_eq!((refused[1].0.len(), refused[1].2), (256, problem));
}

/// Words that are no numbers stay as they are inside of texts.
#[test]
fn a_name_may_look_like_a_number_that_is_none() {
    let text = r#"{"NaN": {"models": {"-Infinity \" NaN": {"cost": {"input": 1, "output": 1}},
        "x": {"cost": {"input": NaN, "output": 1}}}}}"#;
    let list = list(Format::ModelsDev, text);
    assert_eq!(list.rows[0].key.to_string(), "NaN/-Infinity \" NaN");
    assert_eq!(refusals(&list), [("NaN/x", "input", "must be a number")]);
}

proptest! {
    #[test]
    fn no_bytes_break_a_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for format in Format::ALL {
            let _ = read(format, &bytes);
        }
    }

    /// Our own table, written from what was read, is read as the same.
    #[test]
    fn a_table_survives_being_written(
        input in 0_u64..1_000_000_000_000, output in 0_u64..1_000_000_000_000,
        cached in 0_u64..1_000_000_000_000, above in 1_u64..2_000_000, dear in 0_u64..1_000_000_000_000,
    ) {
        let price = |it| Price::from_pico_usd(it);
        let text = format!(
            "p m {} {} cache_read={} above={above} input={}",
            price(input), price(output), price(cached), price(dear),
        );
        let list = list(Format::Table, &text);
        let prices = list.rows[0].prices;
        prop_assert_eq!(prices.base.input, price(input));
        prop_assert_eq!(prices.at(above).cache_read, price(cached));
        prop_assert_eq!(prices.at(above + 1).input, price(dear));
        prop_assert_eq!(prices.at(above + 1).output, price(output));
        prop_assert!(!list.rows[0].is_rounded);
    }
}
