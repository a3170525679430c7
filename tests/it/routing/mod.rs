//! From wishes to models: what a request with these preferences would be answered by.

use std::time::Duration;

use bursar::{
    catalogue::{
        Listed,
        breaker::{Open, Seen},
    },
    domain::{
        estimate::Measured,
        family::{Class, Names},
        message::{Block, Message, Role},
        model::{Bounding, Model},
        preferences::{Preferences, Priority},
        price::{Price, Prices},
        request::Params,
        vocabulary::Tokenizer,
    },
    routing::{self, Candidate, Question, Rejection},
};
use proptest::prelude::*;
use uuid::Uuid;

/// `alias`, price of input and output in pico-USD, speed, intelligence.
type Row = (&'static str, u64, u64, u8, u8);

const ROWS: [Row; 7] = [
    ("claude-haiku-4", 1_000_000, 5_000_000, 80, 60),
    ("claude-opus-4", 15_000_000, 75_000_000, 30, 95),
    ("gemini-2-flash", 300_000, 2_500_000, 90, 55),
    ("gemini-2-pro", 1_250_000, 10_000_000, 55, 85),
    ("gpt-5", 1_250_000, 10_000_000, 50, 90),
    ("gpt-5-mini", 250_000, 2_000_000, 75, 65),
    ("mistral-large", 2_000_000, 6_000_000, 60, 75),
];

fn listed((alias, input, output, speed, intelligence): Row) -> Listed {
    let prices = Prices::of(Price::from_pico_usd(input), Price::from_pico_usd(output));
    let at = ROWS.iter().position(|it| it.0 == alias).unwrap_or(ROWS.len());
    let id = Uuid::from_u128(u128::try_from(at).unwrap() + 1);
    Listed {
        names: Names::of(alias, alias),
        is_demonstration: false,
        model: Model {
            id: id.into(),
            alias: alias.to_owned(),
            backend: id.into(),
            vendor_model: alias.to_owned(),
            context_tokens: 100_000,
            max_output_tokens: 8_000,
            tools: true,
            image_tokens_max: 0,
            audio_tokens_max: 0,
            intelligence,
            speed,
            price: Some((id.into(), prices)),
            book: None,
            bound: Bounding::new(Tokenizer::Auto, alias),
        },
    }
}

fn all() -> Vec<Listed> {
    ROWS.into_iter().map(listed).collect()
}

fn params(hints: &[&str], [cost, speed, intelligence]: [Option<f64>; 3]) -> Params {
    let priority = |it: Option<f64>| it.map(|it| Priority::parse(it).unwrap());
    Params {
        messages: vec![Message { role: Role::User, content: vec![Block::Text("hello".into())] }],
        preferences: Preferences {
            hints: hints.iter().map(|it| (*it).to_owned()).collect(),
            cost: priority(cost),
            speed: priority(speed),
            intelligence: priority(intelligence),
        },
        system: None,
        temperature: None,
        max_tokens: 100,
        stop: Vec::new(),
        metadata: Vec::new(),
        tools: Vec::new(),
        tool_choice: None,
    }
}

fn ask<T>(params: &Params, allowed: &[String], then: impl FnOnce(&Question<'_>) -> T) -> T {
    then(&Question {
        params,
        allowed,
        bounds: &|model| Measured::of(params).0.bound(model),
        health: &|_| None,
    })
}

fn order(models: &[Listed], params: &Params, most: usize) -> Vec<String> {
    let aliases = |it: &Candidate<'_>| it.model.alias.clone();
    ask(params, &[], |question| {
        routing::choose(models, question, most).candidates.iter().map(aliases).collect()
    })
}

#[track_caller]
fn check(hints: &[&str], priorities: [Option<f64>; 3], first: &str) {
    assert_eq!(order(&all(), &params(hints, priorities), 1), [first], "{hints:?} {priorities:?}");
}

const NONE: [Option<f64>; 3] = [None; 3];

#[test]
fn hints_count_in_their_order_and_in_any_case_of_letters() {
    check(&["Claude"], NONE, "claude-haiku-4");
    check(&["opus", "haiku"], NONE, "claude-opus-4");
    check(&["no-such-model", "MISTRAL"], NONE, "mistral-large");
    // Priorities choose among those that one hint names, and never past it.
    check(&["claude"], [None, None, Some(1.0)], "claude-opus-4");
    check(&["gemini"], [Some(0.2), Some(0.1), Some(0.9)], "gemini-2-pro");
}

#[test]
fn a_vendor_that_is_not_there_is_met_by_another_of_the_same_class() {
    let without = |vendor: &str| {
        let mut models = all();
        models.retain(|it| !it.model.alias.contains(vendor));
        models
    };
    let models = without("claude");
    for (hint, like) in [
        ("claude-haiku", Class::Small),
        ("claude-3-5-sonnet-20241022", Class::Medium),
        ("claude-opus", Class::Large),
    ] {
        let first = order(&models, &params(&[hint], NONE), 1).remove(0);
        assert_eq!(Class::of(&first), Some(like), "{hint}: {first}");
    }
    // A model that a later hint names goes before one that is only like an earlier one.
    let first = order(&models, &params(&["claude-opus", "gemini"], NONE), 1);
    assert_eq!(first, ["gemini-2-flash"]);
    // Of hints that nothing meets the earlier one decides.
    let first = order(&models, &params(&["claude-opus", "claude-haiku"], NONE), 1);
    assert_eq!(first, ["mistral-large"]);
    let wishes = params(&["claude-sonnet"], NONE);
    let reasons = ask(&wishes, &[], |question| {
        routing::choose(&models, question, 1).candidates.remove(0).reasons
    });
    assert_eq!(reasons[0], "is medium like hint 1");
}

#[test]
fn priorities_weigh_cost_speed_and_intelligence() {
    check(&[], NONE, "gpt-5-mini");
    check(&[], [Some(1.0), None, None], "gpt-5-mini");
    check(&[], [None, Some(1.0), None], "gemini-2-flash");
    check(&[], [None, None, Some(1.0)], "claude-opus-4");
    check(&[], [Some(0.0), Some(0.0), Some(0.0)], "gpt-5-mini");
    check(&[], [Some(0.27), Some(0.0), Some(0.9)], "gpt-5");
}

#[test]
fn what_may_not_answer_is_named_with_the_reason() {
    let mut models = all();
    models[0].model.price = None;
    models[1].model.tools = false;
    models[2].model.context_tokens = 1;
    let mut wishes = params(&[], NONE);
    wishes.tools.push(bursar::domain::message::Tool {
        name: "t".to_owned(),
        description: String::new(),
        input_schema: bursar::domain::message::JsonText::checked("{}"),
    });
    let allowed: Vec<String> =
        models.iter().map(|it| it.model.alias.clone()).filter(|it| it != "gpt-5").collect();
    let resting = models[6].model.id;
    let open = Open { why: Seen::Failing, again_in: Duration::from_secs(3) };
    let question = Question {
        params: &wishes,
        allowed: &allowed,
        bounds: &|model| Measured::of(&wishes).0.bound(model),
        health: &|model| (model.id == resting).then_some(open),
    };
    let rejections = routing::rejections(&models, &question, 10);
    assert_eq!(
        rejections,
        [
            ("claude-haiku-4", Rejection::NoPrice),
            ("claude-opus-4", Rejection::NoTools),
            ("gemini-2-flash", Rejection::TooLong),
            ("gpt-5", Rejection::NotGranted),
            ("mistral-large", Rejection::Failing(Duration::from_secs(3))),
        ]
    );
    assert_eq!(rejections[4].1.to_string(), "it failed and is left alone for 3 s");
    assert_eq!(routing::rejections(&models, &question, 2).len(), 2);
    let choice = routing::choose(&models, &question, 10);
    assert_eq!((choice.candidates.len(), choice.again_in), (2, None));
    // When all that could answer only rest, it is known how long.
    let resting = Question { health: &|_| Some(open), ..question };
    let choice = routing::choose(&models, &resting, 10);
    assert!(choice.candidates.is_empty());
    assert_eq!(choice.again_in, Some(Duration::from_secs(3)));
}

#[test]
fn a_scripted_model_comes_last_unless_it_is_named() {
    let mut models = all();
    let scripted = Listed { is_demonstration: true, ..listed(("scripted-small", 1, 1, 100, 100)) };
    models.insert(0, scripted);
    for priorities in [NONE, [Some(1.0), Some(1.0), Some(1.0)]] {
        assert_eq!(order(&models, &params(&[], priorities), 8)[7], "scripted-small");
    }
    assert_eq!(order(&models, &params(&["scripted"], NONE), 1), ["scripted-small"]);
}

proptest! {
    /// Whatever order the rows come in, and however few are wanted, the best are the same.
    #[test]
    fn every_replica_chooses_the_same(
        seed in any::<u64>(),
        most in 1_usize..10,
        hint in prop::sample::select(vec!["", "claude", "sonnet", "gpt", "mini"]),
        weights in prop::array::uniform3(prop::option::of(0.0_f64..=1.0)),
    ) {
        let hints: Vec<&str> = Some(hint).into_iter().filter(|it| !it.is_empty()).collect();
        let wishes = params(&hints, weights);
        let whole = order(&all(), &wishes, 10);
        prop_assert_eq!(whole.len(), ROWS.len());
        let mut shuffled = all();
        let mut state = seed | 1;
        for at in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(at, usize::try_from(state >> 33).unwrap() % (at + 1));
        }
        let some = order(&shuffled, &wishes, most);
        prop_assert_eq!(&some[..], &whole[..most.min(ROWS.len())]);
    }
}
