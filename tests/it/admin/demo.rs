//! The demonstration is made once, and each start hands out keys that work.

use bursar::{
    admin::demo::{Extra, seed},
    domain::{
        money::Amount,
        price::{Price, Prices},
    },
    proto::{self, admin_service_server::AdminService},
};

use crate::world::{World, with_key};

fn extra(base_url: &str, price: u64) -> Extra {
    let price = Price::from_pico_usd(price);
    Extra {
        base_url: base_url.to_owned(),
        model: "tiny".to_owned(),
        prices: Prices::of(price, price),
        has_key: false,
    }
}

async fn models(world: &World, key: &str) -> Vec<proto::Model> {
    let request = with_key(key, proto::ListModelsRequest::default());
    world.admin.list_models(request).await.unwrap().into_inner().models
}

#[tokio::test]
async fn a_second_start_changes_nothing_and_earlier_keys_stay_valid() {
    let world = World::new();
    let (first, second) = (world.demo().await, world.demo().await);
    assert_eq!(first.tenant, second.tenant);
    for key in [&first.operator_key, &second.operator_key] {
        let models = models(&world, key.reveal()).await;
        let aliases: Vec<_> = models.iter().map(|it| it.alias.as_str()).collect();
        assert_eq!(aliases, ["scripted-small", "scripted-large"]);
        let price = models[1].price.clone().unwrap();
        assert_eq!((price.input.as_str(), price.output.as_str()), ("3.00", "15.00"));
        let request = with_key(key.reveal(), proto::ListGrantsRequest::default());
        let grants = world.admin.list_grants(request).await.unwrap().into_inner().grants;
        let [grant] = grants.as_slice() else { panic!("{grants:?}") };
        assert_eq!((grant.user.as_str(), grant.server.as_str()), ("demo-user", "demo-server"));
        let usual = grant.default_envelope.clone().unwrap();
        assert_eq!((usual.calls, usual.seconds), (Some(20), Some(120)));
        assert_eq!(usual.money.map(|it| it.nanos), Some(500_000_000));
    }
    world.end().await;
}

#[tokio::test]
async fn its_rate_is_old_so_its_age_is_charged() {
    let world = World::new();
    let demo = world.demo().await;
    let bursar::transport::grpc::state::Services { store, clock, catalogue, .. } = &world.services;
    let snapshot = catalogue.of(store, clock, demo.tenant).await.unwrap();
    let quote = snapshot.quote("EUR".parse().unwrap(), clock).unwrap();
    assert_eq!((quote.usd_nanos_per_unit, quote.buffer_basis_points), (1_100_000_000, 200));
    let cost = quote.cost(1_100_000_000_000).unwrap();
    assert_eq!(cost.total, Amount::from_nanos(1_020_000_000));
    world.end().await;
}

#[tokio::test]
async fn ones_own_server_is_offered_and_may_change_its_price_and_move() {
    let world = World::new();
    let start = |extra: Extra| {
        let desk = world.services.desk();
        async move { seed(desk, Some(&extra)).await }
    };
    let url = "http://127.0.0.1:9/v1";
    start(extra(url, 1_000_000)).await.unwrap();
    let demo = start(extra(url, 2_000_000)).await.unwrap();
    let models = models(&world, demo.operator_key.reveal()).await;
    let tiny = models.iter().find(|it| it.alias == "tiny").unwrap();
    assert_eq!(tiny.backend, "local");
    assert_eq!(tiny.price.clone().unwrap().input, "2.00");
    start(extra("http://127.0.0.1:10/v1", 2_000_000)).await.unwrap();
    let bursar::transport::grpc::state::Services { store, clock, catalogue, .. } = &world.services;
    let snapshot = catalogue.of(store, clock, demo.tenant).await.unwrap();
    let local = snapshot.backends.iter().find(|it| it.name == "local").unwrap();
    assert_eq!(local.base_url, "http://127.0.0.1:10/v1");
    world.end().await;
}
