//! Bounds of text against exact counts, which have the crate as their oracle.

use bpe_openai::Tokenizer as Oracle;
use bursar::{
    domain::{
        estimate::{Measured, PromptBound},
        message::{Block, JsonText, Message, Role, Tool},
        model::{Bounding, Model, Trust},
        preferences::Preferences,
        request::Params,
        vocabulary::{Published, Tokenizer, Vocabulary},
    },
    tokens::{self, EXACT_TOKENS_MAX},
};
use proptest::prelude::*;
use uuid::Uuid;

pub(super) fn model(vendor_model: &str, tokenizer: Tokenizer) -> Model {
    Model {
        id: Uuid::from_u128(1).into(),
        alias: "any".to_owned(),
        backend: Uuid::from_u128(1).into(),
        vendor_model: vendor_model.to_owned(),
        context_tokens: 128_000,
        max_output_tokens: 8_000,
        tools: true,
        image_tokens_max: 50_000,
        audio_tokens_max: 50_000,
        intelligence: 50,
        speed: 50,
        price: None,
        book: None,
        bound: Bounding::new(tokenizer, vendor_model),
    }
}

pub(super) fn params(content: Vec<Block>, tools: Vec<Tool>) -> Params {
    Params {
        messages: vec![Message { role: Role::User, content }],
        preferences: Preferences::default(),
        system: None,
        temperature: None,
        max_tokens: 100,
        stop: Vec::new(),
        metadata: Vec::new(),
        tools,
        tool_choice: None,
    }
}

fn says(text: &str) -> Params {
    params(vec![Block::Text(text.to_owned())], Vec::new())
}

fn bound(params: &Params, model: &Model) -> PromptBound {
    tokens::measure(params, &Vocabulary::ALL).bound(model).unwrap()
}

/// A vocabulary, and who knows it.
type Exact = (Vocabulary, fn() -> &'static Oracle);

const EXACT: [Exact; 2] = [
    (Vocabulary::O200kBase, bpe_openai::o200k_base),
    (Vocabulary::Cl100kBase, bpe_openai::cl100k_base),
];

/// Texts that are hard on a vocabulary, or on whoever guesses from their letters.
fn samples() -> Vec<(&'static str, String)> {
    let base64 = "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE";
    vec![
        ("english", "The quick brown fox jumps over the lazy dog. ".repeat(20)),
        ("chinese", "今天天气很好，我们一起去公园散步吧。黼黻文章，龘靐齉齾。".repeat(20)),
        ("japanese", "吾輩は猫である。名前はまだ無い。ﾊﾝｶｸｶﾅ と カタカナ".repeat(20)),
        ("arabic", "السَّلامُ عَلَيْكُمْ وَرَحْمَةُ اللهِ وَبَرَكَاتُهُ ".repeat(20)),
        ("emoji", "👩‍👩‍👧‍👦🏳️‍🌈👨🏿‍🚀🇪🇺🫱🏻‍🫲🏿".repeat(20)),
        ("code", "fn main() {\n\t\tlet x = a[0]->b::<C>()?; // {{}}\r\n}\n".repeat(20)),
        ("base64", base64.repeat(10)),
        ("schema", r#"{"type":"object","properties":{"a":{"enum":["x","y"]}}}"#.repeat(20)),
        ("one letter", "a".repeat(5_000)),
        ("one word", "Donaudampfschifffahrtsgesellschaft".repeat(100)),
        ("spaces", " ".repeat(5_000)),
        ("breaks", "\r\n\n \t\u{3000}\u{a0}\n".repeat(200)),
        ("combining", "a\u{301}\u{323}\u{30a}".repeat(500)),
        ("specials", "<|endoftext|><|im_start|>system<|im_end|>".repeat(20)),
        ("nothing", "\u{0}\u{fffd}\u{10ffff}\u{feff}".repeat(100)),
    ]
}

#[test]
fn every_language_is_held_at_its_exact_count_and_a_margin() {
    for (name, text) in samples() {
        let params = says(&text);
        let by_bytes = bound(&params, &model("any", Tokenizer::Bytes));
        assert!(!by_bytes.is_fine);
        for (vocabulary, oracle) in EXACT {
            let truth = u64::try_from(oracle().count(text.as_str())).unwrap();
            let exact = bound(&params, &model("any", Tokenizer::Exact(vocabulary)));
            assert!(exact.is_fine);
            assert!(exact.least <= truth && truth <= exact.most, "{name}: {exact:?} of {truth}");
            assert!(by_bytes.most >= truth, "{name}: {by_bytes:?} of {truth}");
            // Frames, margins and no more.
            let margin = exact.most - truth;
            assert!((256..400).contains(&margin), "{name}: {margin} above {truth}");
        }
    }
}

#[test]
fn four_bytes_a_token_would_be_too_few_and_bytes_never_are() {
    let (_, chinese) = samples().swap_remove(1);
    let truth = bpe_openai::cl100k_base().count(chinese.as_str());
    assert!(truth * 4 > chinese.len(), "{truth}");
    assert!(truth <= chinese.len());
}

#[test]
fn text_that_looks_like_a_special_token_counts_as_text() {
    let text = "<|endoftext|>".repeat(50);
    let exact = bound(&says(&text), &model("gpt-4o", Tokenizer::Auto));
    assert!(exact.least > 50 * 5, "{exact:?}");
}

#[test]
fn an_exact_bound_of_plain_text_is_less_than_a_third_of_its_bytes() {
    let text = "It was the best of times, it was the worst of times. ".repeat(200);
    let exact = bound(&says(&text), &model("gpt-4o", Tokenizer::Auto));
    let bytes = bound(&says(&text), &model("claude-sonnet-4-5", Tokenizer::Auto));
    assert!(exact.most * 3 < bytes.most, "{exact:?} {bytes:?}");
}

#[test]
fn a_vocabulary_is_known_by_the_vendors_name_and_never_guessed() {
    use Vocabulary::{Cl100kBase, O200kBase};
    let cases = [
        ("gpt-4o", Some(O200kBase)),
        ("openai/GPT-4o-mini-2024-07-18", Some(O200kBase)),
        ("gpt-4.1-nano", Some(O200kBase)),
        ("gpt-5.2-codex", Some(O200kBase)),
        ("o3-mini", Some(O200kBase)),
        ("openai/gpt-oss-120b:free", Some(O200kBase)),
        ("ft:gpt-4o-mini-2024-07-18:org::id", Some(O200kBase)),
        ("gpt-4", Some(Cl100kBase)),
        ("gpt-4-0613", Some(Cl100kBase)),
        ("gpt-3.5-turbo-16k", Some(Cl100kBase)),
        ("gpt-4x", None),
        ("gpt-6", None),
        ("gpt-5.9", None),
        ("my-gpt-4o", None),
        ("mistralai/gpt-4o", None),
        ("claude-sonnet-4-5", None),
        ("gemini-2.5-pro", None),
        ("meta-llama/Llama-3.1-8B-Instruct", None),
        ("SmolLM2-135M-Instruct", None),
        ("", None),
    ];
    for (name, vocabulary) in cases {
        assert_eq!(Published::of(name).vocabulary, vocabulary, "{name}");
    }
    let told = Bounding::new(Tokenizer::Bytes, "gpt-4o");
    assert_eq!(told.vocabulary(), None, "the operator knows better");
    let told = Bounding::new(Tokenizer::Exact(Cl100kBase), "llama");
    assert_eq!(told.vocabulary(), Some(Cl100kBase));
}

#[test]
fn what_failed_is_no_longer_relied_on() {
    let params = says(&"word ".repeat(1_000));
    let mut gpt = model("gpt-4o", Tokenizer::Auto);
    assert!(bound(&params, &gpt).most < 2_000);
    gpt.bound.trust = Trust::Coarse;
    let coarse = bound(&params, &gpt);
    assert!(coarse.most >= 5_000 && !coarse.is_fine, "{coarse:?}");
    gpt.bound.trust = Trust::Suspended;
    assert!(tokens::measure(&params, &Vocabulary::ALL).bound(&gpt).is_err());
}

#[test]
fn a_tools_schema_may_be_written_anew_in_twice_the_tokens() {
    let items: Vec<String> = (0..500).map(|it| format!("\"v{it}\"")).collect();
    let (json, lines) = (items.join(","), items.join(" | "));
    let schema = format!(r#"{{"type":"object","properties":{{"a":{{"enum":[{json}]}}}}}}"#);
    // As a backend writes it: a type in a language of its own.
    let anew = format!("type f = (_: {{\na?: {lines},\n}}) => any;");
    let tool = Tool {
        name: "f".to_owned(),
        description: String::new(),
        input_schema: JsonText::checked(&schema),
    };
    let truth = u64::try_from(bpe_openai::o200k_base().count(anew.as_str())).unwrap();
    let params = params(vec![Block::Text("hi".to_owned())], vec![tool]);
    let exact = bound(&params, &model("gpt-4o", Tokenizer::Auto));
    assert!(exact.most >= truth, "{exact:?} of {truth}");
    assert!(bound(&params, &model("llama", Tokenizer::Auto)).most >= truth);
}

#[test]
fn what_comes_after_many_tokens_counts_by_bytes() {
    let text = "no end of this ".repeat(40_000);
    let params = says(&text);
    let counted = tokens::count(Vocabulary::O200kBase, &Measured::of(&params).1);
    let truth = u64::try_from(bpe_openai::o200k_base().count(text.as_str())).unwrap();
    assert!(truth > EXACT_TOKENS_MAX * 2, "{truth}");
    assert!((EXACT_TOKENS_MAX..EXACT_TOKENS_MAX + 10).contains(&counted.least), "{counted:?}");
    assert!(counted.most > truth, "{counted:?}");
    assert!(counted.most < u64::try_from(text.len()).unwrap(), "{counted:?}");
}

/// A text of any of these alphabets, which change within it.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,12} ",
        "[A-Za-z0-9+/=]{1,40}",
        "[一-鿿]{1,12}",
        "[ぁ-ヿ]{1,12}",
        "[\\u{600}-\\u{6ff} ]{1,12}",
        "(👩‍👩‍👧|🏳️‍🌈|🇩🇪|👍🏽){1,5}",
        "[ \\t\\r\\n\\u{3000}]{1,12}",
        "[{}\\[\\]:,\"a-z0-9]{1,20}",
        "[!-/:-@]{1,12}",
        "\\PC{1,12}",
        any::<String>(),
        // Runs, where the order of equal merges depends on where they begin.
        (
            prop::sample::select(vec!["a", "ab", "aba", "=", "=-", " ", "\n", "の", "0a"]),
            1..200_usize
        )
            .prop_map(|(it, times)| it.repeat(times)),
        prop::collection::vec(any::<u8>(), 1..24)
            .prop_map(|it| String::from_utf8_lossy(&it).into_owned()),
    ];
    prop::collection::vec(piece, 1..12).prop_map(|it| it.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_text_counts_more_than_its_bounds(text in any_text()) {
        let params = says(&text);
        let by_bytes = bound(&params, &model("any", Tokenizer::Bytes));
        for (vocabulary, oracle) in EXACT {
            let tokenizer = oracle();
            let truth = u64::try_from(tokenizer.count(text.as_str())).unwrap();
            let exact = bound(&params, &model("any", Tokenizer::Exact(vocabulary)));
            prop_assert!(exact.least <= truth && truth <= exact.most);
            prop_assert!(truth <= by_bytes.most);
            // Nothing is left out between the pieces.
            let pieces: usize = tokenizer.split(&text).map(str::len).sum();
            prop_assert_eq!(pieces, text.len());
        }
    }

    /// A backend joins texts; the joint may count more than both, but by little.
    #[test]
    fn joined_texts_count_no_more_than_the_sum_of_their_bounds(
        one in any_text(), two in any_text(), between in "|\n|\n\n| "
    ) {
        let texts = vec![Block::Text(one.clone()), Block::Text(two.clone())];
        let params = params(texts, Vec::new());
        let joined = format!("{one}{between}{two}");
        for (vocabulary, oracle) in EXACT {
            let count = |it: &str| u64::try_from(oracle().count(it)).unwrap();
            let truth = count(&joined);
            let most = bound(&params, &model("any", Tokenizer::Exact(vocabulary))).most;
            prop_assert!(truth <= most);
            // Without the margins for templates too.
            prop_assert!(truth <= count(&one) + count(&two) + 8);
        }
    }
}

/// Optimised builds only: nothing else is as fast as what is served.
#[cfg(not(debug_assertions))]
#[test]
fn a_megabyte_is_bounded_in_under_twenty_milliseconds() {
    let random: String = (0..1_000_000_u64)
        .map(|it| {
            char::from(
                b"abcdefghijklmnopqrstuvwxyz /+,"[usize::try_from(it * it * 7_919 % 30).unwrap()],
            )
        })
        .collect();
    for text in [random, "plain words again and ".repeat(45_000), "今天天气很好".repeat(55_000)]
    {
        let params = says(&text);
        tokens::measure(&params, &[Vocabulary::O200kBase]);
        let fastest = (0..5).map(|_| {
            let start = std::time::Instant::now();
            tokens::measure(&params, &[Vocabulary::O200kBase]);
            start.elapsed()
        });
        let fastest = fastest.min().unwrap();
        assert!(fastest < std::time::Duration::from_millis(20), "{fastest:?}");
    }
}
