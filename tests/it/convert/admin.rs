//! What operators may set.

use std::time::Duration;

use bursar::{
    domain::{
        draft::{Listed, Scope, Tariff},
        model::BackendKind,
        period::Period,
        price::Price,
    },
    proto,
    transport::grpc::convert::{admin, id, label, prices, timestamp},
};

use super::{
    envelope::{eur, limits, money},
    support::refused,
};

fn backend(spoil: impl FnOnce(&mut proto::Backend)) -> proto::Backend {
    let mut it = proto::Backend {
        backend: "vendor".to_owned(),
        kind: proto::BackendKind::Openai.into(),
        base_url: "https://api.example.com/v1/".to_owned(),
        key_env: "OPENAI_API_KEY".to_owned(),
        ..Default::default()
    };
    spoil(&mut it);
    it
}

#[test]
fn a_backend_is_a_plain_url_and_the_name_of_a_key() {
    let good = admin::backend(Some(backend(|_| ()))).unwrap();
    assert_eq!(good.base_url, "https://api.example.com/v1");
    assert_eq!(good.profile.unbilled_statuses, [400, 401, 402, 403, 404, 429]);
    assert_eq!(good.profile.idle, Duration::from_secs(30));
    for url in ["http://127.0.0.1:8080/v1", "http://[::1]:9/v1", "http://localhost"] {
        let read = admin::backend(Some(backend(|it| url.clone_into(&mut it.base_url))));
        assert_eq!(read.unwrap().base_url, url);
    }
    for url in [
        "",
        "ftp://example.com",
        "file:///etc/passwd",
        "example.com/v1",
        "/v1",
        "https://",
        "https:///v1",
        "https://key@example.com/v1",
        "https://a:b@example.com/v1",
        "https://example.com/v1?key=1",
        "https://example.com/v1?",
        "https://example.com/v1#x",
        "https://example.com:99999/v1",
        "https://exa mple.com/v1",
        "https://example.com/\nv1",
    ] {
        let read = admin::backend(Some(backend(|it| url.clone_into(&mut it.base_url))));
        refused(read, "backend.base_url");
    }
    for key in ["PATH", "DATABASE_URL", "bursar_backend_x", "BURSAR_BACKEND_a", "OPENAI_API_KEY2"] {
        let read = admin::backend(Some(backend(|it| key.clone_into(&mut it.key_env))));
        refused(read, "backend.key_env");
    }
    for key in ["", "BURSAR_BACKEND_EU_1", "ANTHROPIC_API_KEY"] {
        let read = admin::backend(Some(backend(|it| key.clone_into(&mut it.key_env))));
        assert_eq!(read.unwrap().key_env, key);
    }
}

#[test]
fn a_backends_kind_name_and_profile_are_checked() {
    refused(admin::backend(None), "backend");
    let anthropic = |it: &mut proto::Backend| it.kind = proto::BackendKind::Anthropic.into();
    let read = admin::backend(Some(backend(anthropic))).unwrap();
    assert_eq!(
        (read.kind, &*read.base_url),
        (BackendKind::Anthropic, "https://api.example.com/v1")
    );
    let nowhere = backend(|it| {
        anthropic(it);
        it.base_url.clear();
    });
    refused(admin::backend(Some(nowhere)), "backend.base_url");
    refused(admin::backend(Some(backend(|it| it.kind = 0))), "backend.kind");
    refused(admin::backend(Some(backend(|it| it.kind = 9))), "backend.kind");
    refused(admin::backend(Some(backend(|it| it.backend = "a b".to_owned()))), "backend.backend");
    let scripted = |it: &mut proto::Backend| it.kind = proto::BackendKind::Scripted.into();
    refused(admin::backend(Some(backend(scripted))), "backend.base_url");
    let profile = |unbilled_statuses: Vec<i32>, idle_seconds| {
        let profile =
            proto::BackendProfile { unbilled_statuses, idle_seconds, ..Default::default() };
        admin::backend(Some(backend(|it| it.profile = Some(profile))))
    };
    for status in [0, 200, 399, 600, -1, 70_000] {
        refused(profile(vec![404, status], 0), "backend.profile.unbilled_statuses[1]");
    }
    refused(profile(vec![400; 65], 0), "backend.profile.unbilled_statuses");
    refused(profile(Vec::new(), -1), "backend.profile.idle_seconds");
    refused(profile(Vec::new(), 3_601), "backend.profile.idle_seconds");
    let read = profile(vec![503], 7).unwrap().profile;
    assert_eq!((read.unbilled_statuses, read.idle), (vec![503], Duration::from_secs(7)));
}

fn price(input: &str, output: &str) -> proto::Price {
    proto::Price { input: input.to_owned(), output: output.to_owned(), ..Default::default() }
}

fn model() -> proto::Model {
    proto::Model {
        alias: "small".to_owned(),
        backend: "vendor".to_owned(),
        vendor_model: "vendor-small-1".to_owned(),
        context_tokens: 128_000,
        max_output_tokens: 4_096,
        price: Some(price("0.15", "0.60")),
        ..Default::default()
    }
}

#[test]
fn a_models_fields_are_refused_by_name() {
    type Spoil = fn(&mut proto::Model);
    let cases: [(&str, Spoil); 17] = [
        ("model.alias", |it| it.alias.clear()),
        ("model.alias", |it| it.alias = "a".repeat(129)),
        ("model.alias", |it| it.alias = "sm all".to_owned()),
        ("model.backend", |it| it.backend.clear()),
        ("model.vendor_model", |it| it.vendor_model.clear()),
        ("model.context_tokens", |it| it.context_tokens = 0),
        ("model.context_tokens", |it| it.context_tokens = 100_000_001),
        ("model.max_output_tokens", |it| it.max_output_tokens = -1),
        ("model.max_output_tokens", |it| it.max_output_tokens = 128_001),
        ("model.image_tokens_max", |it| it.image_tokens_max = -1),
        ("model.audio_tokens_max", |it| it.audio_tokens_max = i64::MAX),
        ("model.tokenizer", |it| it.tokenizer = "p50k_base".to_owned()),
        ("model.intelligence", |it| it.intelligence = 101),
        ("model.speed", |it| it.speed = -1),
        ("model.price_source", |it| it.price_source = Some(proto::PriceSource::default())),
        ("model.price.input", |it| it.price = Some(price("", "1"))),
        ("model.price.output", |it| it.price = Some(price("1", ""))),
    ];
    for (field, spoil) in cases {
        let mut bad = model();
        spoil(&mut bad);
        refused(admin::model(Some(&bad)), field);
    }
    refused(admin::model(None), "model");
    let Tariff::Own(prices) = admin::model(Some(&model())).unwrap().tariff else { panic!() };
    assert_eq!(prices.base.input, Price::from_pico_usd(150_000));
    // Without a price of its own it is the book's.
    let unpriced = proto::Model { price: None, ..model() };
    let listed = Tariff::Listed(Listed::default());
    assert_eq!(admin::model(Some(&unpriced)).unwrap().tariff, listed);
    refused(admin::new_tariff(&proto::SetPriceRequest::default()), "price");
}

#[test]
fn prices_are_plain_decimals_and_free_is_said_as_zero() {
    let free = prices::read("price", Some(&price("0", "0"))).unwrap();
    assert!(free.are_free());
    let bad =
        ["-1", "1e3", "NaN", "inf", "-0.0", "0.0000001", "1001", " 1", "1,5", "1.", ".5", "+1"];
    for bad in bad {
        refused(prices::read("price", Some(&price(bad, "1"))), "price.input");
        refused(prices::read("price", Some(&price("1", bad))), "price.output");
        let with = |spoil: fn(&mut proto::Price, String)| {
            let mut it = price("1", "2");
            spoil(&mut it, bad.to_owned());
            prices::read("price", Some(&it))
        };
        refused(with(|it, bad| it.cache_read = bad), "price.cache_read");
        refused(with(|it, bad| it.cache_write = bad), "price.cache_write");
        refused(with(|it, bad| it.reasoning = bad), "price.reasoning");
    }
    for bad in ["-1", "1e3", "1001", "0.0000000000001"] {
        let it = proto::Price { request: bad.to_owned(), ..price("1", "2") };
        refused(prices::read("price", Some(&it)), "price.request");
    }
    let safe = prices::read("price", Some(&price("1", "2"))).unwrap();
    let (request, safe) = (safe.request, safe.base);
    assert_eq!((safe.cache_read, safe.cache_write), (safe.input, safe.input));
    assert_eq!((safe.reasoning, request), (safe.output, 0));
    assert_eq!(
        (safe.audio_input, safe.image, safe.audio_output),
        (safe.input, safe.input, safe.output)
    );
}

#[test]
fn tiers_name_rising_thresholds_and_what_differs() {
    let tier = |above_tokens, input: &str| proto::PriceTier {
        above_tokens,
        input: input.to_owned(),
        ..Default::default()
    };
    let with = |tiers| {
        let base = proto::Price { cache_read: "0.5".to_owned(), ..price("1", "2") };
        prices::read("price", Some(&proto::Price { tiers, ..base }))
    };
    let read = with(vec![tier(1_000, "3"), tier(2_000, "")]).unwrap();
    let usd = |text: &str| text.parse::<Price>().unwrap();
    assert_eq!((read.at(1_000).input, read.at(1_001).input), (usd("1"), usd("3")));
    assert_eq!((read.at(2_001).input, read.at(2_001).cache_read), (usd("3"), usd("0.5")));
    // And back.
    let wire = prices::to_wire(&read, String::new());
    assert_eq!(prices::read("price", Some(&wire)).unwrap(), read);
    refused(with(vec![tier(0, "3")]), "price.tiers[0].above_tokens");
    refused(with(vec![tier(5, "3"), tier(6, "NaN")]), "price.tiers[1].input");
    refused(with(vec![tier(5, "3"), tier(5, "4")]), "price.tiers");
    refused(with(vec![tier(1, ""); 5]), "price.tiers");
}

fn grant() -> proto::Grant {
    proto::Grant {
        user: "alice".to_owned(),
        server: "weather".to_owned(),
        default_envelope: Some(limits()),
        ..Default::default()
    }
}

#[test]
fn a_grants_fields_are_refused_by_name() {
    type Spoil = fn(&mut proto::Grant);
    let cases: [(&str, Spoil); 12] = [
        ("grant.user", |it| it.user.clear()),
        ("grant.server", |it| it.server = "a\u{7f}".to_owned()),
        ("grant.models[0]", |it| it.models = vec![String::new()]),
        ("grant.models[1]", |it| it.models = vec!["m".to_owned(), "m".to_owned()]),
        ("grant.models", |it| it.models = vec!["m".to_owned(); 257]),
        ("grant.default_envelope", |it| it.default_envelope = None),
        ("grant.default_envelope.calls", |it| it.default_envelope.as_mut().unwrap().calls = None),
        ("grant.max_envelope.money", |it| {
            it.max_envelope = Some(proto::EnvelopeLimits { money: None, ..limits() });
        }),
        ("grant.max_envelope", |it| {
            it.max_envelope = Some(proto::EnvelopeLimits { calls: Some(19), ..limits() });
        }),
        ("grant.max_envelope", |it| {
            it.max_envelope = Some(proto::EnvelopeLimits { tokens: Some(9), ..limits() });
        }),
        ("grant.call_seconds", |it| it.call_seconds = -1),
        ("grant.call_seconds", |it| it.call_seconds = 3_601),
    ];
    for (field, spoil) in cases {
        let mut bad = grant();
        spoil(&mut bad);
        refused(admin::grant(Some(bad), eur()), field);
    }
    refused(admin::grant(None, eur()), "grant");
    let good = admin::grant(Some(grant()), eur()).unwrap();
    assert_eq!((good.max_envelope, good.call_seconds), (good.default_envelope, 45));
}

#[test]
fn what_a_person_may_add_is_bounded_and_refused_by_name() {
    type Spoil = fn(&mut proto::GrantExtension);
    let cases: [(&str, Spoil); 10] = [
        ("grant.extension", |it| *it = proto::GrantExtension { times: 1, ..Default::default() }),
        ("grant.extension.calls", |it| it.calls = -1),
        ("grant.extension.calls", |it| it.calls = 1_000_001),
        // Fifty times that, on top of the largest envelope, is more than any may have.
        ("grant.extension.calls", |it| it.calls = 20_000),
        ("grant.extension.seconds", |it| it.seconds = i64::MAX),
        ("grant.extension.seconds", |it| it.seconds = 1_000_000),
        ("grant.extension.money.units", |it| it.money = Some(money(-1, 0))),
        ("grant.extension.money", |it| it.money = Some(money(20_000_000, 0))),
        ("grant.extension.times", |it| it.times = 101),
        ("grant.extension.times", |it| it.times = -1),
    ];
    let good =
        proto::GrantExtension { calls: 10, seconds: 60, money: Some(money(1, 0)), times: 50 };
    for (field, spoil) in cases {
        let mut bad = good.clone();
        spoil(&mut bad);
        refused(admin::grant(Some(proto::Grant { extension: Some(bad), ..grant() }), eur()), field);
    }
    let read = |it| {
        let grant = proto::Grant { extension: Some(it), ..grant() };
        admin::grant(Some(grant), eur()).unwrap().extension.unwrap()
    };
    assert_eq!((read(good.clone()).extra.calls, read(good.clone()).times), (10, 50));
    assert_eq!(read(proto::GrantExtension { times: 0, ..good }).times, 1);
    assert_eq!(admin::grant(Some(grant()), eur()).unwrap().extension, None);
}

fn budget() -> proto::Budget {
    proto::Budget {
        period: proto::Period::Month.into(),
        money: Some(money(100, 0)),
        ..Default::default()
    }
}

#[test]
fn a_budgets_fields_are_refused_by_name() {
    type Spoil = fn(&mut proto::Budget);
    let cases: [(&str, Spoil); 12] = [
        ("budget", |it| it.money = None),
        ("budget.calls", |it| it.calls = Some(0)),
        ("budget.calls", |it| it.calls = Some(i64::MAX)),
        ("budget.tokens", |it| it.tokens = Some(-1)),
        ("budget.money", |it| it.money = Some(money(0, 0))),
        ("budget.money.units", |it| it.money = Some(money(-5, 0))),
        ("budget.period", |it| it.period = 0),
        ("budget.period", |it| it.period = 42),
        ("budget.time_zone", |it| it.time_zone = "Mars/Olympus".to_owned()),
        ("budget.time_zone", |it| it.time_zone = "../../etc/passwd".to_owned()),
        ("budget.user", |it| it.user = "a".repeat(257)),
        ("budget.server", |it| it.server = "\n".to_owned()),
    ];
    for (field, spoil) in cases {
        let mut bad = budget();
        spoil(&mut bad);
        refused(admin::budget(Some(&bad), eur()), field);
    }
    refused(admin::budget(None, eur()), "budget");
}

#[test]
fn a_budget_binds_whom_it_names_in_a_zone_that_exists() {
    let read = |user: &str, server: &str, zone: &str| {
        let (user, server, time_zone) = (user.to_owned(), server.to_owned(), zone.to_owned());
        admin::budget(Some(&proto::Budget { user, server, time_zone, ..budget() }), eur()).unwrap()
    };
    let everybody = read("", "", "");
    assert_eq!((everybody.scope, everybody.period), (Scope::default(), Period::Month));
    assert_eq!(everybody.time_zone, "UTC");
    let user = Scope { user: Some("u".to_owned()), ..Scope::default() };
    assert_eq!(read("u", "", "").scope, user);
    let server = Scope { server: Some("s".to_owned()), ..Scope::default() };
    assert_eq!(read("", "s", "").scope, server);
    let both = Scope { server: Some("s".to_owned()), ..user };
    assert_eq!(read("u", "s", "").scope, both);
    let place = proto::Budget { host: "h".to_owned(), root: "file:///a/".to_owned(), ..budget() };
    let place = admin::budget(Some(&place), eur()).unwrap().scope;
    // A slash at the end makes no other root of it.
    assert_eq!((place.host.as_deref(), place.root.as_deref()), (Some("h"), Some("file:///a")));
    assert_eq!(read("", "", "europe/amsterdam").time_zone, "Europe/Amsterdam");
}

#[test]
fn a_rate_is_a_positive_decimal_of_a_day() {
    let rate = |code: &str, rate: &str, day: &str| {
        let it = proto::FxRate {
            currency_code: code.to_owned(),
            usd_per_unit: rate.to_owned(),
            fixing_date: day.to_owned(),
            ..Default::default()
        };
        admin::fx_rate(Some(&it), eur())
    };
    refused(admin::fx_rate(None, eur()), "fx_rate");
    refused(rate("USD", "1.1", "2026-07-28"), "fx_rate.currency_code");
    for bad in ["", "0", "0.00", "-1", "1e3", "NaN", "1000001", "0.0000000001"] {
        refused(rate("EUR", bad, "2026-07-28"), "fx_rate.usd_per_unit");
    }
    for bad in ["", "2026-02-30", "28.07.2026", "2026-07-28T00:00:00", "20260728"] {
        refused(rate("EUR", "1.1", bad), "fx_rate.fixing_date");
    }
    assert_eq!(rate("EUR", "1.1", "2026-07-28").unwrap().usd_nanos_per_unit, 1_100_000_000);
}

#[test]
fn single_fields_are_read_the_same_everywhere() {
    refused(id("user", ""), "user");
    assert_eq!(label("host", "").unwrap(), None);
    refused(label("host", "a\tb"), "host");
    assert_eq!(timestamp("expire_time", "").unwrap(), None);
    refused(timestamp("expire_time", "tomorrow"), "expire_time");
    assert!(timestamp("expire_time", "2026-07-28T12:00:00+02:00").unwrap().is_some());
}
