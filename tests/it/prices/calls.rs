//! Calls by the price book, from the request to the ledger.

use std::time::Duration;

use bursar::proto::{
    self, ImportPricesRequest, Outcome, PriceFormat, PriceSource, ReserveRequest, SettleRequest,
    Usage, price_service_client::PriceServiceClient,
};
use serde_json::json;
use tonic::Status;

use crate::{
    call::world::{Change, World, ask, limits, says, signed},
    support::{
        replicas::Replica,
        vendor::{Answer, Vendor},
    },
};

impl World {
    async fn import(&self, key: &str, table: &str) -> String {
        import(PriceServiceClient::new(self.channel.clone()), key, table).await
    }

    async fn revert(&self, key: &str, name: &str) {
        let request = proto::RevertPriceBookRequest { name: name.to_owned() };
        let mut prices = PriceServiceClient::new(self.channel.clone());
        prices.revert_price_book(signed(key, request)).await.unwrap();
    }

    /// A model that the book prices.
    async fn listed(&self, backend: &str, alias: &str) -> Result<(), Status> {
        let model = proto::Model {
            alias: alias.to_owned(),
            backend: backend.to_owned(),
            vendor_model: alias.to_owned(),
            context_tokens: 1_000_000,
            max_output_tokens: 8_192,
            intelligence: 99,
            speed: 99,
            price_source: Some(PriceSource { provider: "acme".to_owned(), ..Default::default() }),
            ..Default::default()
        };
        let request = proto::CreateModelRequest { model: Some(model) };
        self.admin().create_model(self.operator(request)).await.map(drop)
    }

    /// Books a usage at a host's own use of a model: the provider's nano-USD.
    async fn used(&self, model: &str, usage: Usage) -> i64 {
        let request = ReserveRequest {
            user: "demo-user".to_owned(),
            server: "demo-server".to_owned(),
            model: model.to_owned(),
            input_tokens: usage.input + usage.cache_read + usage.cache_write,
            max_output_tokens: usage.output,
            envelope: self.open(limits(1, 60, 20_000_000_000)).await,
            ..Default::default()
        };
        let held = self.envelopes().reserve(self.host(request)).await.unwrap().into_inner();
        let request = SettleRequest { hold: held.hold, usage: Some(usage), money: None };
        self.envelopes().settle(self.host(request)).await.unwrap();
        usd(self.entries().await[0].provider_usd.as_ref())
    }
}

async fn import(
    mut prices: PriceServiceClient<tonic::transport::Channel>,
    key: &str,
    table: &str,
) -> String {
    let request = ImportPricesRequest {
        format: PriceFormat::Table.into(),
        content: table.as_bytes().to_vec(),
        ..Default::default()
    };
    let made = prices.import_prices(signed(key, request)).await.unwrap().into_inner();
    let name = made.book.unwrap().name;
    let request = proto::ApprovePriceBookRequest { name: name.clone(), accept_flagged: true };
    prices.approve_price_book(signed(key, request)).await.unwrap();
    name
}

/// Nano-USD of what the provider bills.
fn usd(it: Option<&proto::Money>) -> i64 {
    let it = it.unwrap();
    assert_eq!(it.currency_code, "USD");
    it.units * 1_000_000_000 + i64::from(it.nanos)
}

const TABLE: &str = "\
    acme cached 1.25 10 cache_read=0.625\n\
    acme written 3 15 cache_write=3.75\n\
    acme nearly 1.4 4.4 cache_read=0.26\n\
    acme tiny 0.0001 0\n\
    acme long 1.25 10 cache_read=0.125 above=200000 input=2.5 output=15 cache_read=0.25\n";

/// The cases of real users, to the nano of a dollar.
#[tokio::test]
async fn cached_tokens_cliffs_and_tiny_costs_are_booked_exactly() {
    let world = World::start().await;
    let operator = world.demo.operator_key.reveal().to_owned();
    world.import(&operator, TABLE).await;
    for alias in ["cached", "written", "nearly", "tiny", "long"] {
        world.listed("scripted", alias).await.unwrap();
    }
    let usage = |input, cache_read, cache_write, output| Usage {
        input,
        cache_read,
        cache_write,
        output,
        reasoning: 0,
    };
    let booked = world.used("cached", usage(262_960 - 257_955, 257_955, 0, 1_744)).await;
    // 0.184918125 USD; half a nano would go to the even one.
    assert_eq!(booked, 184_918_125);
    assert_eq!(world.used("written", usage(3, 0, 12_304, 550)).await, 54_399_000);
    assert_eq!(world.used("nearly", usage(1, 27_146, 0, 351)).await, 8_603_760);
    assert_eq!(world.used("long", usage(100_000, 100_000, 0, 1_000)).await, 147_500_000);
    assert_eq!(world.used("long", usage(100_000, 100_001, 0, 1_000)).await, 290_000_250);
    // A tenth of a nano each is not lost one by one: ten thousand tokens are a micro.
    assert_eq!(world.used("tiny", usage(10_000, 0, 0, 1)).await, 1_000);
    world.close().await;
}

#[tokio::test]
async fn a_cached_prompt_at_a_vendor_costs_what_the_book_says() {
    let world = World::start().await;
    let operator = world.demo.operator_key.reveal().to_owned();
    world.import(&operator, TABLE).await;
    let words = "word ".repeat(1_744);
    let chunk = json!({
        "id": "1", "object": "chat.completion.chunk", "created": 1, "model": "cached",
        "choices": [{"index": 0, "delta": {"content": words}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 262_960, "completion_tokens": 1_744, "total_tokens": 264_704,
            "prompt_tokens_details": {"cached_tokens": 257_955}},
    });
    let vendor = Vendor::answering(Answer::events(&[&chunk.to_string()])).await;
    world.vendor(&vendor.base_url, proto::BackendProfile::default()).await;
    world.listed("vendor-backend", "cached").await.unwrap();
    let envelope = world.open(limits(1, 60, 20_000_000_000)).await;
    let mut request = says(&"x".repeat(263_000)).hint("cached").max(1_744);
    request.envelope = envelope;
    let reply = world.sample(request).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Complete);
    let entry = world.entry().await;
    assert_eq!(usd(entry.provider_usd.as_ref()), 184_918_125);
    assert!(!entry.estimated);
    world.close().await;
}

/// A call keeps the price that it began with, and history is never priced anew.
#[tokio::test]
async fn a_call_begun_before_a_change_is_settled_at_what_it_began_with() {
    let world = World::start().await;
    let key = world.platform_key().await;
    world.import(&key, "acme slow 1 10\n").await;
    world.listed("scripted", "slow").await.unwrap();
    let script = json!({ "text": "one two", "first_delay_ms": 1_500,
        "usage": { "input": 10, "output": 2 } });
    let (reply, dearer) = tokio::join!(world.sample(ask(&script).hint("slow")), async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        world.import(&key, "acme slow 2 20\n").await
    });
    assert_eq!(reply.unwrap().outcome(), Outcome::Complete);
    world.nothing_is_held().await;
    let first = world.entries().await.remove(0);
    assert_eq!(usd(first.provider_usd.as_ref()), 10 * 1_000 + 2 * 10_000);
    world.sample(ask(&script).hint("slow")).await.unwrap();
    world.nothing_is_held().await;
    let second = world.entries().await.remove(0);
    assert_eq!(usd(second.provider_usd.as_ref()), 10 * 2_000 + 2 * 20_000);
    assert_ne!(first.price_version, second.price_version);
    // And back: by the version before, under its own id.
    world.revert(&key, &dearer).await;
    world.sample(ask(&script).hint("slow")).await.unwrap();
    world.nothing_is_held().await;
    let entries = world.entries().await;
    assert_eq!(entries[0].price_version, first.price_version);
    assert_eq!(entries[0].provider_usd, first.provider_usd);
    assert_eq!(entries[2], first, "what was booked stays as it was");
    world.close().await;
}

/// A row that is withdrawn is no price: the model is not used any more.
#[tokio::test]
async fn a_model_whose_row_is_gone_is_not_asked() {
    let world = World::start().await;
    let operator = world.demo.operator_key.reveal().to_owned();
    let book = world.import(&operator, "acme mine 1 10\n").await;
    world.listed("scripted", "mine").await.unwrap();
    world.regrant(|it| it.models = vec!["mine".to_owned()]).await;
    let script = json!({ "text": "one" });
    assert_eq!(world.sample(ask(&script)).await.unwrap().outcome(), Outcome::Complete);
    world.revert(&operator, &book).await;
    assert_eq!(world.sample(ask(&script)).await.unwrap().outcome(), Outcome::Refused);
    world.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_price_by_a_change_within_seconds() {
    let world = World::start().await;
    let key = world.platform_key().await;
    world.import(&key, "acme both 1 1\n").await;
    world.listed("scripted", "both").await.unwrap();
    let other = tokio::task::block_in_place(|| Replica::serve(&world.db.url, &[]));
    let channel = other.channel().await;
    let script = json!({ "text": "one", "usage": { "input": 1, "output": 1 } });
    let there = || async {
        let mut sampling =
            proto::sampling_service_client::SamplingServiceClient::new(channel.clone());
        sampling.create_message(world.host(ask(&script).hint("both"))).await.unwrap();
        world.nothing_is_held().await;
        usd(world.entries().await[0].provider_usd.as_ref())
    };
    assert_eq!(there().await, 2_000);
    import(PriceServiceClient::new(channel.clone()), &key, "acme both 3 3\n").await;
    // Where it was approved, at once; elsewhere when the catalogue is read again.
    assert_eq!(there().await, 6_000);
    world.import(&key, "acme both 4 4\n").await;
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    assert_eq!(there().await, 8_000);
    world.close().await;
}
