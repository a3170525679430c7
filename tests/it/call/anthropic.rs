//! A call at an Anthropic vendor, from the request to the ledger.

use bursar::proto::{self, Outcome};
use serde_json::json;

use super::world::{Change, World, charged, says, stop_reason, text};
use crate::{
    backend::anthropic::{answer, stream},
    support::vendor::Vendor,
};

impl World {
    /// A model `claude` at 3 and 15, written to the cache at 3.75.
    async fn claude(&self, base_url: &str) {
        let profile = proto::BackendProfile::default();
        self.backend("claude", proto::BackendKind::Anthropic, base_url, profile).await;
        let price = proto::Price {
            input: "3".to_owned(),
            cache_write: "3.75".to_owned(),
            output: "15".to_owned(),
            ..Default::default()
        };
        let request = proto::SetPriceRequest {
            model: "claude".to_owned(),
            price: Some(price),
            price_source: None,
        };
        self.admin().set_price(self.operator(request)).await.unwrap();
    }
}

#[tokio::test]
async fn cached_tokens_are_charged_once_and_to_the_nano() {
    let world = World::start().await;
    let words = "word ".repeat(200);
    let usage = json!({"input_tokens": 3, "cache_creation_input_tokens": 12_304,
        "cache_read_input_tokens": 0, "output_tokens": 550});
    let vendor = Vendor::answering(stream(&answer(&[&words], "max_tokens", &usage))).await;
    world.claude(&vendor.base_url).await;
    let request = says(&"x".repeat(13_000)).hint("claude").max(550);
    let reply = world.sample(request).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Complete);
    assert_eq!((text(&reply), stop_reason(&reply)), (&*words, "maxTokens"));
    let charge = reply.charge.as_ref().unwrap();
    assert!(!charge.estimated);
    // 3 at 3, 12,304 at 3.75 and 550 at 15 USD per million.
    assert_eq!(charged(&reply), super::price::of_pico_usd(54_399_000_000));
    let entry = world.entry().await;
    assert_eq!(entry.charge.as_ref(), charge.amount.as_ref());
    let usage = entry.usage.unwrap();
    let prompt = (usage.input, usage.cache_read, usage.cache_write);
    assert_eq!((prompt, usage.output, usage.reasoning), ((3, 0, 12_304), 550, 0));
    let asked: serde_json::Value = serde_json::from_slice(&vendor.asked().body).unwrap();
    assert_eq!((&asked["max_tokens"], &asked["stream"]), (&json!(550), &json!(true)));
    world.close().await;
}
