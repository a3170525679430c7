//! The choice among two thousand models, as a large operator's catalogue has them.

use std::time::Instant;

use bursar::{
    catalogue::Listed,
    domain::{
        estimate::Measured,
        family::Names,
        message::{Block, Message, Role},
        model::{Bounding, Model},
        preferences::{Preferences, Priority},
        price::{Price, Prices},
        request::Params,
        vocabulary::Tokenizer,
    },
    routing::{self, Question},
};
use uuid::Uuid;

/// Models there are.
pub(crate) const MODELS: u64 = 2_000;

/// Candidates wanted of them, as a call wants them.
const WANTED: usize = 32;

const MAKERS: [&str; 5] =
    ["gpt-5", "claude-sonnet-4", "gemini-2-flash", "mistral-large", "llama-3"];

/// Seconds that a choice takes, one after the other.
pub(crate) fn times(choices: usize) -> Vec<f64> {
    let models: Vec<Listed> = (1..=MODELS).map(listed).collect();
    // No name matches: all models are weighed by the three priorities.
    let params = params();
    let measured = Measured::of(&params).0;
    let question = Question {
        params: &params,
        allowed: &[],
        bounds: &|model| measured.bound(model),
        health: &|_| None,
    };
    let mut times = Vec::with_capacity(choices);
    for _ in 0..choices {
        let begun = Instant::now();
        let choice = routing::choose(&models, &question, WANTED);
        times.push(begun.elapsed().as_secs_f64());
        assert_eq!(choice.candidates.len(), WANTED);
    }
    times
}

fn listed(n: u64) -> Listed {
    let maker = MAKERS[usize::try_from(n).unwrap() % MAKERS.len()];
    let alias = format!("{maker}-{n}");
    let id = Uuid::from_u128(n.into());
    let price = |of: u64| Price::from_pico_usd(of * 1_000 + 50_000);
    Listed {
        names: Names::of(&alias, &alias),
        is_demonstration: false,
        model: Model {
            id: id.into(),
            alias: alias.clone(),
            backend: id.into(),
            vendor_model: alias.clone(),
            context_tokens: 100_000,
            max_output_tokens: 8_000,
            tools: true,
            image_tokens_max: 0,
            audio_tokens_max: 0,
            intelligence: u8::try_from(n * 7 % 100).unwrap(),
            speed: u8::try_from(n * 13 % 100).unwrap(),
            price: Some((id.into(), Prices::of(price(n), price(n * 4)))),
            book: None,
            bound: Bounding::new(Tokenizer::Auto, &alias),
        },
    }
}

fn params() -> Params {
    let priority = |it: f64| Some(Priority::parse(it).unwrap());
    Params {
        messages: vec![Message { role: Role::User, content: vec![Block::Text("hello".into())] }],
        preferences: Preferences {
            hints: vec!["claude-opus-99".to_owned(), "no-such-model".to_owned()],
            cost: priority(0.4),
            speed: priority(0.3),
            intelligence: priority(0.8),
        },
        system: None,
        temperature: None,
        max_tokens: 1_000,
        stop: Vec::new(),
        metadata: Vec::new(),
        tools: Vec::new(),
        tool_choice: None,
    }
}
