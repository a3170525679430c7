//! Writes: what comes back is what is listed, twice is refused, and what is named
//! must be there.

use bursar::proto::{self, admin_service_server::AdminService};
use tonic::{Code, Response, Status};
use tonic_types::StatusExt;

use crate::world::{World, with_key};

/// Names of what an organisation was furnished with.
pub(crate) struct Furnished {
    pub(crate) credential: String,
    pub(crate) grant: String,
    pub(crate) budget: String,
    pub(crate) stop: String,
}

fn euros(units: i64) -> proto::Money {
    proto::Money { currency_code: "EUR".to_owned(), units, nanos: 0 }
}

pub(crate) fn grant() -> proto::Grant {
    proto::Grant {
        user: "alice".to_owned(),
        server: "files".to_owned(),
        models: vec!["small".to_owned()],
        default_envelope: Some(proto::EnvelopeLimits {
            calls: Some(5),
            seconds: Some(60),
            money: Some(euros(1)),
            ..Default::default()
        }),
        ..Default::default()
    }
}

pub(crate) fn budget() -> proto::Budget {
    proto::Budget {
        display_name: "everyday".to_owned(),
        user: "alice".to_owned(),
        server: "files".to_owned(),
        period: proto::Period::Day.into(),
        time_zone: "Europe/Amsterdam".to_owned(),
        calls: Some(100),
        money: Some(euros(2)),
        ..Default::default()
    }
}

fn backend() -> proto::Backend {
    proto::Backend {
        backend: "vendor".to_owned(),
        kind: proto::BackendKind::Openai.into(),
        base_url: "https://example.com/v1".to_owned(),
        ..Default::default()
    }
}

fn price(input: &str) -> proto::Price {
    proto::Price { input: input.to_owned(), output: "2".to_owned(), ..Default::default() }
}

fn model() -> proto::Model {
    proto::Model {
        alias: "small".to_owned(),
        backend: "vendor".to_owned(),
        vendor_model: "small-2026".to_owned(),
        context_tokens: 1_000,
        max_output_tokens: 100,
        price: Some(price("0.5")),
        ..Default::default()
    }
}

async fn user(world: &World, key: &str, user: &str) -> Result<proto::User, Status> {
    let request = proto::CreateUserRequest { user: user.to_owned() };
    world.admin.create_user(with_key(key, request)).await.map(Response::into_inner)
}

/// Gives an organisation one of everything.
pub(crate) async fn furnish(world: &World, key: &str) -> Furnished {
    let admin = &world.admin;
    user(world, key, "alice").await.unwrap();
    let server = proto::CreateServerRequest { server: "files".to_owned() };
    admin.create_server(with_key(key, server)).await.unwrap();
    let backend = proto::CreateBackendRequest { backend: Some(backend()) };
    admin.create_backend(with_key(key, backend)).await.unwrap();
    let model = proto::CreateModelRequest { model: Some(model()) };
    admin.create_model(with_key(key, model)).await.unwrap();
    let grant = proto::CreateGrantRequest { grant: Some(grant()) };
    let grant = admin.create_grant(with_key(key, grant)).await.unwrap().into_inner().name;
    let budget = proto::CreateBudgetRequest { budget: Some(budget()) };
    let budget = admin.create_budget(with_key(key, budget)).await.unwrap().into_inner().name;
    let credential = proto::CreateCredentialRequest {
        role: proto::CredentialRole::Finance.into(),
        ..Default::default()
    };
    let credential = admin.create_credential(with_key(key, credential)).await.unwrap().into_inner();
    let stop = proto::StopSamplingRequest { user: "alice".to_owned(), ..Default::default() };
    let stop = admin.stop_sampling(with_key(key, stop)).await.unwrap().into_inner().name;
    Furnished { credential: credential.credential.unwrap().name, grant, budget, stop }
}

#[tokio::test]
async fn what_was_made_is_listed_as_it_was_answered() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let key = &org.operator;
    let made = furnish(&world, key).await;
    let admin = &world.admin;
    let grants = with_key(key, proto::ListGrantsRequest::default());
    let grants = admin.list_grants(grants).await.unwrap().into_inner().grants;
    assert_eq!(grants[0].name, made.grant);
    assert_eq!((grants[0].call_seconds, &grants[0].models), (45, &grant().models));
    assert_eq!(grants[0].max_envelope, grants[0].default_envelope);
    let budgets = with_key(key, proto::ListBudgetsRequest::default());
    let budgets = admin.list_budgets(budgets).await.unwrap().into_inner().budgets;
    let mut plain = budgets[0].clone();
    assert_eq!(plain.status.len(), 2);
    let [calls, money] = plain.status.as_slice() else { panic!("{plain:?}") };
    let untouched =
        |it: &proto::LimitStatus| (it.held.clone(), it.settled.clone(), it.limit.clone());
    assert_eq!(untouched(calls), ("0".to_owned(), "0".to_owned(), "100".to_owned()));
    assert_eq!(untouched(money), ("0.00".to_owned(), "0.00".to_owned(), "2.00".to_owned()));
    assert!(!calls.resets_at.is_empty());
    (plain.name, plain.create_time, plain.status) = (String::new(), String::new(), Vec::new());
    assert_eq!(plain, budget());
    let models = with_key(key, proto::ListModelsRequest::default());
    let models = admin.list_models(models).await.unwrap().into_inner().models;
    let said = models[0].price.clone().unwrap();
    assert_eq!([&said.input, &said.cache_read, &said.reasoning], ["0.50", "0.50", "2.00"]);
    assert_eq!((models[0].backend.as_str(), models[0].alias.as_str()), ("vendor", "small"));
    world.end().await;
}

#[tokio::test]
async fn the_same_again_exists_already() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let key = &org.operator;
    furnish(&world, key).await;
    let admin = &world.admin;
    let server = proto::CreateServerRequest { server: "files".to_owned() };
    let answers = [
        user(&world, key, "alice").await.map(drop),
        admin.create_server(with_key(key, server)).await.map(drop),
        admin
            .create_backend(with_key(key, proto::CreateBackendRequest { backend: Some(backend()) }))
            .await
            .map(drop),
        admin
            .create_model(with_key(key, proto::CreateModelRequest { model: Some(model()) }))
            .await
            .map(drop),
        admin
            .create_grant(with_key(key, proto::CreateGrantRequest { grant: Some(grant()) }))
            .await
            .map(drop),
    ];
    for answer in answers {
        assert_eq!(answer.unwrap_err().code(), Code::AlreadyExists);
    }
    world.end().await;
}

#[tokio::test]
async fn a_name_that_is_not_there_is_the_fields_fault() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let key = &org.operator;
    furnish(&world, key).await;
    let admin = &world.admin;
    let nobody = || "nobody".to_owned();
    let grant = |it: proto::Grant| proto::CreateGrantRequest { grant: Some(it) };
    let budget = |it: proto::Budget| proto::CreateBudgetRequest { budget: Some(it) };
    let faults = [
        admin
            .create_grant(with_key(key, grant(proto::Grant { user: nobody(), ..self::grant() })))
            .await
            .map(drop),
        admin
            .create_grant(with_key(key, grant(proto::Grant { server: nobody(), ..self::grant() })))
            .await
            .map(drop),
        admin
            .create_grant(with_key(
                key,
                grant(proto::Grant { models: vec!["small".to_owned(), nobody()], ..self::grant() }),
            ))
            .await
            .map(drop),
        admin
            .create_budget(with_key(
                key,
                budget(proto::Budget { user: nobody(), ..self::budget() }),
            ))
            .await
            .map(drop),
        admin
            .create_budget(with_key(
                key,
                budget(proto::Budget { server: nobody(), ..self::budget() }),
            ))
            .await
            .map(drop),
        admin
            .create_model(with_key(
                key,
                proto::CreateModelRequest {
                    model: Some(proto::Model {
                        backend: nobody(),
                        alias: "new".to_owned(),
                        ..model()
                    }),
                },
            ))
            .await
            .map(drop),
    ];
    let fields = faults.map(|it| {
        let status = it.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        status.get_details_bad_request().unwrap().field_violations[0].field.clone()
    });
    let expected = [
        "grant.user",
        "grant.server",
        "grant.models[1]",
        "budget.user",
        "budget.server",
        "model.backend",
    ];
    assert_eq!(fields, expected);
    world.end().await;
}

#[tokio::test]
async fn a_revoked_grant_makes_room_for_another() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let key = &org.operator;
    let name = furnish(&world, key).await.grant;
    let admin = &world.admin;
    let revoked = admin.revoke_grant(with_key(key, proto::RevokeGrantRequest { name })).await;
    assert!(!revoked.unwrap().into_inner().revoke_time.is_empty());
    let again = proto::CreateGrantRequest { grant: Some(grant()) };
    admin.create_grant(with_key(key, again)).await.unwrap();
    world.end().await;
}

#[tokio::test]
async fn a_deleted_budget_is_gone_and_its_limits_are_closed() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let key = &org.operator;
    let name = furnish(&world, key).await.budget;
    let mut sql = world.superuser().await;
    let made = "insert into limits (tenant_id, limit_id, width, budget_id, kind, amount, enforcing, opens_at)
                select tenant_id, gen_random_uuid(), 1, budget_id, 'calls', 100, true, now() from budgets";
    sqlx::query(made).execute(&mut sql).await.unwrap();
    let delete = || {
        world.admin.delete_budget(with_key(key, proto::DeleteBudgetRequest { name: name.clone() }))
    };
    assert_eq!(delete().await.unwrap().into_inner().name, name);
    let closed: Vec<(bool, i64)> =
        sqlx::query_as("select closed_at is not null, revision from limits")
            .fetch_all(&mut sql)
            .await
            .unwrap();
    assert_eq!(closed, [(true, 1)]);
    let list = with_key(key, proto::ListBudgetsRequest::default());
    assert!(world.admin.list_budgets(list).await.unwrap().into_inner().budgets.is_empty());
    assert_eq!(delete().await.unwrap_err().code(), Code::NotFound);
    drop(sql);
    world.end().await;
}

#[tokio::test]
async fn a_new_price_and_a_new_rate_hold_at_once() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let key = &org.operator;
    furnish(&world, key).await;
    let tenant = org.tenant.strip_prefix("tenants/").unwrap().parse().unwrap();
    let bursar::transport::grpc::state::Services { store, clock, catalogue, .. } = &world.services;
    let before = catalogue.of(store, clock, tenant).await.unwrap();
    assert!(before.fx.is_none());
    let request = proto::SetPriceRequest {
        model: "small".to_owned(),
        price: Some(price("0.75")),
        price_source: None,
    };
    let model = world.admin.set_price(with_key(key, request)).await.unwrap().into_inner();
    assert_eq!(model.price.unwrap().input, "0.75");
    let rate = proto::FxRate {
        currency_code: "EUR".to_owned(),
        usd_per_unit: "1.085".to_owned(),
        fixing_date: "2024-11-27".to_owned(),
        ..Default::default()
    };
    let request = proto::SetFxRateRequest { fx_rate: Some(rate) };
    let set = world.admin.set_fx_rate(with_key(key, request)).await.unwrap().into_inner();
    assert_eq!((set.usd_per_unit.as_str(), set.fixing_date.as_str()), ("1.085", "2024-11-27"));
    let after = catalogue.of(store, clock, tenant).await.unwrap();
    assert_eq!(after.fx.unwrap().usd_nanos_per_unit, 1_085_000_000);
    assert_eq!(after.models[0].model.price.unwrap().1.base.input.pico_usd(), 750_000);
    world.end().await;
}

#[tokio::test]
async fn a_tenant_that_pays_in_usd_needs_no_rate() {
    let world = World::new();
    let org = world.org("Acme", "USD").await;
    let tenant = org.tenant.strip_prefix("tenants/").unwrap().parse().unwrap();
    let bursar::transport::grpc::state::Services { store, clock, catalogue, .. } = &world.services;
    let snapshot = catalogue.of(store, clock, tenant).await.unwrap();
    assert_eq!(snapshot.fx.unwrap().usd_nanos_per_unit, 1_000_000_000);
    let request = with_key(&org.operator, proto::GetTenantRequest {});
    let shown = world.admin.get_tenant(request).await.unwrap().into_inner();
    assert_eq!((shown.display_name.as_str(), shown.currency_code.as_str()), ("Acme", "USD"));
    world.end().await;
}

#[tokio::test]
async fn pages_of_a_list_lose_nothing_and_end() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let names: Vec<String> = (0..5).map(|it| format!("user-{it}")).collect();
    for name in &names {
        user(&world, &org.operator, name).await.unwrap();
    }
    for size in [1, 2, 5, 10] {
        let (mut found, mut page_token, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let request = proto::ListUsersRequest { page_size: size, page_token };
            let page = world.admin.list_users(with_key(&org.operator, request)).await.unwrap();
            let page = page.into_inner();
            found.extend(page.users.into_iter().map(|it| it.user));
            page_token = page.next_page_token;
            pages += 1;
            if page_token.is_empty() {
                break;
            }
        }
        found.sort();
        assert_eq!((found, pages), (names.clone(), 5_usize.div_ceil(size.try_into().unwrap())));
    }
    let request = proto::ListUsersRequest { page_size: -1, ..Default::default() };
    let status = world.admin.list_users(with_key(&org.operator, request)).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    world.end().await;
}

#[tokio::test]
async fn a_rate_of_days_to_come_is_refused() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let today = world.services.clock.now().to_zoned(jiff::tz::TimeZone::UTC).date();
    for (days, fine) in [(1, true), (3, false), (400, false)] {
        let rate = proto::FxRate {
            currency_code: "EUR".to_owned(),
            usd_per_unit: "1.085".to_owned(),
            fixing_date: today.checked_add(jiff::Span::new().days(days)).unwrap().to_string(),
            ..Default::default()
        };
        let request = proto::SetFxRateRequest { fx_rate: Some(rate) };
        let set = world.admin.set_fx_rate(with_key(&org.operator, request)).await;
        match set {
            Ok(_) => assert!(fine, "{days} days ahead"),
            Err(it) => {
                assert!(!fine, "{days} days ahead: {it}");
                let bad = it.get_details_bad_request().unwrap();
                assert_eq!(bad.field_violations[0].field, "fx_rate.fixing_date");
            }
        }
    }
    world.end().await;
}

#[test]
fn a_rate_that_is_too_old_or_not_yet_due_adds_a_buffer() {
    use bursar::domain::fx::buffer_for_age;
    assert_eq!([-1, 0, 4].map(buffer_for_age), [0; 3]);
    assert_eq!([i32::MIN, -2, 5, i32::MAX].map(buffer_for_age), [200; 4]);
}
