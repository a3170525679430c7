//! What the OpenAI-compatible door takes above gRPC: the same call by both, one after the
//! other, over loopback, beside a backend that answers at once.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_arithmetic,
    reason = "a benchmark measures, prints and may stop"
)]

#[path = "call/standin.rs"]
mod standin;

use std::{
    env, fs,
    time::{Duration, Instant},
};

use bursar::{
    admin::demo::Extra,
    app::dev::{self, Dev, Wish},
    client::Client,
    domain::price::{Price, Prices},
    proto::{self, content_block::Block},
};
use serde_json::{Value, json};
use standin::StandIn;

/// Text deltas of an answer.
const DELTAS: usize = 50;

/// A prompt of about a kilobyte.
const PROMPT_WORDS: usize = 200;

/// As many calls as the demonstration's grant gives an envelope.
const CALLS_AN_ENVELOPE: usize = 20;

fn main() {
    let quick = env::var_os("BURSAR_BENCH_QUICK").is_some_and(|it| it == "1");
    let calls = if quick { 400 } else { 4_000 };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    println!("{}", runtime.block_on(run(calls)));
}

async fn run(calls: usize) -> Value {
    let dir = env::temp_dir().join(format!("bursar-bench-doors-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let standin = StandIn::start().await;
    let any = "127.0.0.1:0".parse().unwrap();
    let prices = Prices::of(Price::from_pico_usd(150_000), Price::from_pico_usd(600_000));
    let extra = Extra {
        base_url: standin.base_url.clone(),
        model: standin::MODEL.to_owned(),
        prices,
        has_key: false,
    };
    let data_dir = dir.clone();
    let wish = Wish { data_dir, ready_file: None, grpc: any, http: any, extra: Some(extra) };
    let dev = dev::start(wish).await.unwrap();
    let (mut grpc, mut http) = (Vec::new(), Vec::new());
    let doors = Doors::new(&dev).await;
    for round in 0..=calls / CALLS_AN_ENVELOPE {
        let (envelope, key) = doors.envelope().await;
        for n in 0..CALLS_AN_ENVELOPE {
            // In turn, so that whatever else the machine does meets both alike.
            let by_grpc = n % 2 == 0;
            let took = if by_grpc { doors.grpc(&envelope).await } else { doors.http(&key).await };
            if round > 0 {
                if by_grpc { grpc.push(took) } else { http.push(took) }
            }
        }
    }
    let (grpc, http) =
        ([at(&mut grpc, 0.5), at(&mut grpc, 0.99)], [at(&mut http, 0.5), at(&mut http, 0.99)]);
    dev.stop().await;
    fs::remove_dir_all(&dir).unwrap();
    json!({
        "grpc_us": { "p50": grpc[0], "p99": grpc[1] },
        "openai_us": { "p50": http[0], "p99": http[1] },
        "above_grpc_us": { "p50": ((http[0] - grpc[0]) * 10.0).round() / 10.0 },
        "calls": calls,
    })
}

struct Doors {
    client: Client,
    web: reqwest::Client,
    base_url: String,
    user: String,
    server: String,
}

impl Doors {
    async fn new(dev: &Dev) -> Self {
        let ready = dev.ready();
        let text = |name: &str| ready[name].as_str().unwrap().to_owned();
        Self {
            client: Client::connect(&text("grpc"), &text("host_key")).await.unwrap(),
            web: reqwest::Client::builder().no_proxy().tcp_nodelay(true).build().unwrap(),
            base_url: format!("{}/v1", text("http")),
            user: text("user"),
            server: text("server"),
        }
    }

    /// A fresh envelope, and a key that is one.
    async fn envelope(&self) -> (String, String) {
        let request = proto::OpenEnvelopeRequest {
            user: self.user.clone(),
            server: self.server.clone(),
            ..Default::default()
        };
        let mut envelopes = self.client.envelopes();
        let name = envelopes.open_envelope(request).await.unwrap().into_inner().name;
        let request = proto::MintTokenRequest { envelope: name.clone(), ..Default::default() };
        let key = envelopes.mint_token(request).await.unwrap().into_inner().key;
        (name, key)
    }

    async fn grpc(&self, envelope: &str) -> Duration {
        let block = Block::Text(proto::TextContent { text: prompt() });
        let message = proto::SamplingMessage {
            role: proto::Role::User.into(),
            content: vec![proto::ContentBlock { block: Some(block) }],
            ..Default::default()
        };
        let hint = proto::ModelHint { name: standin::MODEL.to_owned() };
        let preferences = proto::ModelPreferences { hints: vec![hint], ..Default::default() };
        let request = proto::CreateMessageRequest {
            user: self.user.clone(),
            server: self.server.clone(),
            envelope: envelope.to_owned(),
            params: Some(proto::SamplingParams {
                messages: vec![message],
                model_preferences: Some(preferences),
                max_tokens: Some(1_000),
                ..Default::default()
            }),
            ..Default::default()
        };
        let mut sampling = self.client.sampling();
        let began = Instant::now();
        let reply = sampling.create_message(request).await.unwrap().into_inner();
        let took = began.elapsed();
        assert_eq!(reply.outcome(), proto::Outcome::Complete, "{reply:?}");
        took
    }

    async fn http(&self, key: &str) -> Duration {
        let body = json!({
            "model": standin::MODEL,
            "messages": [{ "role": "user", "content": prompt() }],
            "max_tokens": 1_000,
        });
        let request = self.web.post(format!("{}/chat/completions", self.base_url));
        let request = request.header("authorization", format!("Bearer {key}"));
        let request = request.header("content-type", "application/json").body(body.to_string());
        let began = Instant::now();
        let response = request.send().await.unwrap();
        let (status, bytes) = (response.status(), response.bytes().await.unwrap());
        let took = began.elapsed();
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(
            (status.as_u16(), &answer["choices"][0]["finish_reason"]),
            (200, &json!("stop"))
        );
        took
    }
}

fn prompt() -> String {
    format!("{}{DELTAS}", "word ".repeat(PROMPT_WORDS))
}

/// In microseconds.
fn at(samples: &mut [Duration], part: f64) -> f64 {
    samples.sort_unstable();
    let index = (part * samples.len() as f64) as usize;
    let took = samples[index.min(samples.len() - 1)];
    (took.as_secs_f64() * 1e7).round() / 10.0
}
