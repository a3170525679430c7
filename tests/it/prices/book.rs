//! Price books as operators keep them: imported, looked at, approved, reverted.

use bursar::{
    admin::prices::ship_prices,
    proto::{
        self, ImportPricesRequest, ImportPricesResponse, ListedPrice, PriceBook, PriceBookState,
        PriceFormat, PriceSource, admin_service_server::AdminService,
        price_service_server::PriceService,
    },
};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::world::{World, with_key};

impl World {
    async fn import(
        &self,
        key: &str,
        table: &str,
        change: impl FnOnce(&mut ImportPricesRequest),
    ) -> Result<ImportPricesResponse, Status> {
        let mut request = ImportPricesRequest {
            format: PriceFormat::Table.into(),
            content: table.as_bytes().to_vec(),
            source: "of the test".to_owned(),
            ..Default::default()
        };
        change(&mut request);
        Ok(self.prices.import_prices(with_key(key, request)).await?.into_inner())
    }

    async fn approve(&self, key: &str, name: &str, yes: bool) -> Result<PriceBook, Status> {
        let request = proto::ApprovePriceBookRequest { name: name.to_owned(), accept_flagged: yes };
        Ok(self.prices.approve_price_book(with_key(key, request)).await?.into_inner())
    }

    async fn revert(&self, key: &str, name: &str) -> Result<PriceBook, Status> {
        let request = proto::RevertPriceBookRequest { name: name.to_owned() };
        Ok(self.prices.revert_price_book(with_key(key, request)).await?.into_inner())
    }

    /// Imports and approves.
    async fn book(&self, key: &str, table: &str) -> String {
        let name = self.import(key, table, |_| {}).await.unwrap().book.unwrap().name;
        assert!(self.approve(key, &name, true).await.unwrap().in_effect);
        name
    }

    async fn books(&self, key: &str, platform: bool) -> Vec<PriceBook> {
        let request = proto::ListPriceBooksRequest { platform, ..Default::default() };
        self.prices.list_price_books(with_key(key, request)).await.unwrap().into_inner().books
    }

    async fn listed(&self, key: &str, source: (&str, &str, &str)) -> Result<ListedPrice, Status> {
        let (provider, model, service_tier) = source;
        let source = Some(PriceSource {
            provider: provider.to_owned(),
            model: model.to_owned(),
            service_tier: service_tier.to_owned(),
        });
        let request = proto::GetListedPriceRequest { source };
        Ok(self.prices.get_listed_price(with_key(key, request)).await?.into_inner())
    }

    async fn input(&self, key: &str, model: &str) -> Option<String> {
        let found = self.listed(key, ("acme", model, "")).await;
        found.ok().map(|it| it.price.unwrap().input)
    }
}

fn field(it: &Status) -> String {
    assert_eq!(it.code(), Code::InvalidArgument, "{it}");
    it.get_details_bad_request().unwrap().field_violations[0].field.clone()
}

fn reason(it: &Status) -> String {
    assert_eq!(it.code(), Code::FailedPrecondition, "{it}");
    it.get_details_error_info().unwrap().reason
}

#[tokio::test]
async fn a_list_is_previewed_approved_and_reverted() {
    let world = World::new();
    let key = world.org("Acme", "EUR").await.operator;
    let first = "acme small 1 2 cache_read=0.5 above=1000 input=3\nacme gone 1 1\n";
    let preview = world.import(&key, first, |it| it.validate_only = true).await.unwrap();
    assert_eq!((preview.added, preview.changed, preview.removed, preview.flagged), (2, 0, 0, 0));
    assert_eq!(preview.book.unwrap().name, "");
    assert_eq!(world.books(&key, false).await, []);

    let made = world.import(&key, first, |it| it.source_date = "2026-06-01".to_owned()).await;
    let made = made.unwrap().book.unwrap();
    assert_eq!(
        (made.state(), made.in_effect, made.platform),
        (PriceBookState::Pending, false, false)
    );
    assert_eq!((made.listings, made.source.as_str(), made.stale), (2, "of the test", true));
    assert_eq!(made.content_sha256.len(), 64);
    assert!(made.created_by.contains("/credentials/key_"), "{}", made.created_by);
    assert_eq!(world.input(&key, "small").await, None, "not before it is approved");
    let approved = world.approve(&key, &made.name, false).await.unwrap();
    assert_eq!((approved.state(), approved.in_effect), (PriceBookState::Approved, true));
    assert_eq!(approved.effective_time, approved.approve_time);
    assert_eq!(world.approve(&key, &made.name, false).await.unwrap(), approved);
    let small = world.listed(&key, ("acme", "small", "standard")).await.unwrap();
    let price = small.price.unwrap();
    assert_eq!((price.cache_read.as_str(), price.tiers[0].input.as_str()), ("0.50", "3.00"));
    assert!(price.version.starts_with("prc_"));

    let second = "acme small 2 2\nacme fresh 1 1\nacme bad 1\n";
    let made = world.import(&key, second, |_| {}).await.unwrap();
    assert_eq!((made.added, made.changed, made.removed), (1, 1, 1));
    assert_eq!(made.refused.len(), 1);
    assert_eq!(
        (made.refused[0].row.as_str(), made.refused[0].field.as_str()),
        ("acme/bad", "output")
    );
    let second = made.book.unwrap().name;
    world.approve(&key, &second, false).await.unwrap();
    assert_eq!(world.input(&key, "small").await.as_deref(), Some("2.00"));
    assert_eq!(world.input(&key, "gone").await, None);

    let reverted = world.revert(&key, &second).await.unwrap();
    assert_eq!((reverted.state(), reverted.in_effect), (PriceBookState::Reverted, false));
    assert!(!reverted.reverted_by.is_empty());
    assert_eq!(world.input(&key, "small").await.as_deref(), Some("1.00"));
    assert_eq!(world.revert(&key, &second).await.unwrap(), reverted);
    assert_eq!(
        reason(&world.approve(&key, &second, true).await.unwrap_err()),
        "PRICE_BOOK_REVERTED"
    );
    let books = world.books(&key, false).await;
    let states: Vec<_> = books.iter().map(|it| (it.name == second, it.in_effect)).collect();
    assert_eq!(states, [(true, false), (false, true)]);
    world.end().await;
}

#[tokio::test]
async fn what_needs_a_yes_is_refused_by_name_until_it_is_said() {
    let world = World::new();
    let key = world.org("Acme", "EUR").await.operator;
    world.book(&key, "acme a 1 2\nacme b 1 2\n").await;
    let made = world.import(&key, "acme a 6 2\nacme b 1 2\nacme c 0 0\n", |_| {}).await.unwrap();
    assert_eq!(made.flagged, 2);
    assert_eq!(made.changes.iter().filter(|it| !it.flags.is_empty()).count(), 2);
    let name = made.book.unwrap().name;
    let refused = world.approve(&key, &name, false).await.unwrap_err();
    assert_eq!(reason(&refused), "PRICES_NEED_A_YES");
    let message = refused.message();
    assert!(message.contains("acme/a: input changes more than five-fold"), "{message}");
    assert!(message.contains("acme/c: it becomes free"), "{message}");
    assert_eq!(world.input(&key, "a").await.as_deref(), Some("1.00"));
    world.approve(&key, &name, true).await.unwrap();
    assert_eq!(world.input(&key, "a").await.as_deref(), Some("6.00"));
    assert_eq!(world.input(&key, "c").await.as_deref(), Some("0.00"));
    world.end().await;
}

/// Approval compares with what counts then, not with what counted at the import.
#[tokio::test]
async fn a_version_that_has_become_a_jump_meanwhile_needs_a_yes() {
    let world = World::new();
    let key = world.org("Acme", "EUR").await.operator;
    world.book(&key, "acme a 1 1\n").await;
    let later = world.import(&key, "acme a 4 4\n", |_| {}).await.unwrap();
    assert_eq!(later.flagged, 0);
    world.book(&key, "acme a 0.5 0.5\n").await;
    let name = later.book.unwrap().name;
    assert_eq!(reason(&world.approve(&key, &name, false).await.unwrap_err()), "PRICES_NEED_A_YES");
    world.end().await;
}

#[tokio::test]
async fn a_later_version_waits_for_its_hour_and_dated_rows_for_their_day() {
    let world = World::new();
    let key = world.org("Acme", "EUR").await.operator;
    world.book(&key, "acme a 1 1\nacme a 2 2 from=2020-01-01\nacme a 3 3 from=2999-01-01\n").await;
    assert_eq!(world.input(&key, "a").await.as_deref(), Some("2.00"));
    let later =
        |it: &mut ImportPricesRequest| it.effective_time = "2999-01-01T00:00:00Z".to_owned();
    let name = world.import(&key, "acme a 4 4\n", later).await.unwrap().book.unwrap().name;
    let approved = world.approve(&key, &name, false).await.unwrap();
    assert_eq!(
        (approved.in_effect, approved.effective_time.as_str()),
        (false, "2999-01-01T00:00:00Z")
    );
    assert_eq!(world.input(&key, "a").await.as_deref(), Some("2.00"));
    // What is past is not priced anew: it counts from its approval.
    let past = |it: &mut ImportPricesRequest| it.effective_time = "2020-01-01T00:00:00Z".to_owned();
    let name = world.import(&key, "acme a 5 5\n", past).await.unwrap().book.unwrap().name;
    let approved = world.approve(&key, &name, false).await.unwrap();
    assert_eq!(approved.effective_time, approved.approve_time);
    assert_eq!(world.input(&key, "a").await.as_deref(), Some("5.00"));
    world.end().await;
}

#[tokio::test]
async fn a_tenants_own_rows_go_before_the_platforms() {
    let world = World::new();
    let (acme, other) = (world.org("Acme", "EUR").await, world.org("Other", "EUR").await);
    let platform = world.platform().await;
    let common = world.book(&platform, "acme a 1 1\nacme b 1 1\n").await;
    let own = world.book(&acme.operator, "acme a 0.5 0.5\n").await;
    assert_eq!(world.input(&acme.operator, "a").await.as_deref(), Some("0.50"));
    assert_eq!(world.input(&acme.operator, "b").await.as_deref(), Some("1.00"));
    assert_eq!(world.input(&acme.finance, "a").await.as_deref(), Some("0.50"));
    assert_eq!(world.input(&other.operator, "a").await.as_deref(), Some("1.00"));
    assert_eq!(world.input(&platform, "a").await.as_deref(), Some("1.00"));
    // The platform's is everybody's to read and nobody's to change.
    assert_eq!(world.books(&other.operator, true).await[0].name, common);
    for (key, name) in [(&acme.operator, &common), (&other.operator, &own), (&platform, &own)] {
        assert_eq!(world.revert(key, name).await.unwrap_err().code(), Code::NotFound);
        assert_eq!(world.approve(key, name, true).await.unwrap_err().code(), Code::NotFound);
    }
    // Another tenant's is not there at all.
    assert_eq!(world.books(&other.operator, false).await, []);
    let list = |key: &str, book: &str| {
        let request = proto::ListPricesRequest { book: book.to_owned(), ..Default::default() };
        world.prices.list_prices(with_key(key, request))
    };
    assert_eq!(list(&other.operator, &own).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(list(&other.operator, &common).await.unwrap().into_inner().prices.len(), 2);
    world.revert(&acme.operator, &own).await.unwrap();
    assert_eq!(world.input(&acme.operator, "a").await.as_deref(), Some("1.00"));
    world.end().await;
}

#[tokio::test]
async fn pages_go_through_a_version_and_rows_that_are_missing_may_stay() {
    let world = World::new();
    let key = world.org("Acme", "EUR").await.operator;
    let many: String = (0..2_345).map(|it| format!("acme m{it:05} 1 1\n")).collect();
    world.book(&key, &many).await;
    let (mut token, mut seen) = (String::new(), Vec::new());
    loop {
        let request = proto::ListPricesRequest {
            page_size: 500,
            page_token: token,
            model: "M0".to_owned(),
            ..Default::default()
        };
        let page = world.prices.list_prices(with_key(&key, request)).await.unwrap().into_inner();
        seen.extend(page.prices.into_iter().map(|it| it.source.unwrap().model));
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(seen.len(), 2_345);
    assert!(seen.is_sorted(), "in the order of their names");
    let kept = world.import(&key, "acme m00001 2 2\n", |it| it.keep_missing = true).await.unwrap();
    assert_eq!((kept.added, kept.changed, kept.removed), (0, 1, 0));
    assert_eq!(kept.book.unwrap().listings, 2_345);
    world.end().await;
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_by_its_field() {
    let world = World::new();
    let key = world.org("Acme", "EUR").await.operator;
    type Spoil = fn(&mut ImportPricesRequest);
    let cases: [(&str, Spoil); 8] = [
        ("format", |it| it.format = 0),
        ("format", |it| it.format = 99),
        ("content", |it| it.content.clear()),
        ("content", |it| it.content = b"# nothing".to_vec()),
        ("content", |it| it.format = PriceFormat::Litellm.into()),
        ("content", |it| it.format = PriceFormat::Shipped.into()),
        ("source_date", |it| it.source_date = "yesterday".to_owned()),
        ("effective_time", |it| it.effective_time = "soon".to_owned()),
    ];
    for (name, spoil) in cases {
        let refused = world.import(&key, "acme a 1 1\n", spoil).await.unwrap_err();
        assert_eq!(field(&refused), name);
    }
    for _ in 0..20 {
        world.import(&key, "acme a 1 1\n", |_| {}).await.unwrap();
    }
    let full = world.import(&key, "acme a 1 1\n", |_| {}).await.unwrap_err();
    assert_eq!(reason(&full), "TOO_MANY_PENDING");
    let newest = world.books(&key, false).await[0].name.clone();
    world.revert(&key, &newest).await.unwrap();
    world.import(&key, "acme a 1 1\n", |_| {}).await.unwrap();
    assert_eq!(field(&world.listed(&key, ("", "a", "")).await.unwrap_err()), "source.provider");
    world.end().await;
}

#[tokio::test]
async fn the_shipped_table_prices_a_model_by_its_backends_address() {
    let world = World::new();
    let key = world.org("Acme", "EUR").await.operator;
    let create = |alias: &str, backend: &str, source: Option<PriceSource>| {
        let model = proto::Model {
            alias: alias.to_owned(),
            backend: backend.to_owned(),
            vendor_model: "gpt-4o-mini".to_owned(),
            context_tokens: 128_000,
            max_output_tokens: 4_096,
            price_source: source,
            ..Default::default()
        };
        let request = proto::CreateModelRequest { model: Some(model) };
        world.admin.create_model(with_key(&key, request))
    };
    for (name, url) in [("real", "https://api.openai.com/v1"), ("mine", "http://127.0.0.1:1/v1")] {
        let backend = proto::Backend {
            backend: name.to_owned(),
            kind: proto::BackendKind::Openai.into(),
            base_url: url.to_owned(),
            ..Default::default()
        };
        let request = proto::CreateBackendRequest { backend: Some(backend) };
        world.admin.create_backend(with_key(&key, request)).await.unwrap();
    }
    // Nothing is listed yet: unknown is refused.
    assert_eq!(field(&create("a", "real", None).await.unwrap_err()), "model.price_source");
    ship_prices(world.services.desk()).await.unwrap();
    ship_prices(world.services.desk()).await.unwrap();
    assert_eq!(world.books(&key, true).await.len(), 1, "once is enough");
    let made = create("a", "real", None).await.unwrap().into_inner();
    assert_eq!(made.price.unwrap().cache_read, "0.075");
    assert_eq!(made.price_source.unwrap().provider, "openai");
    // A server of one's own is nobody's price list, until one is named.
    assert_eq!(field(&create("b", "mine", None).await.unwrap_err()), "model.price");
    let source = |provider: &str, tier: &str| {
        Some(PriceSource {
            provider: provider.to_owned(),
            service_tier: tier.to_owned(),
            ..Default::default()
        })
    };
    let none = create("b", "mine", source("openai", "hurried")).await.unwrap_err();
    assert_eq!(field(&none), "model.price_source");
    create("b", "mine", source("openai", "")).await.unwrap();
    // A price of its own takes it from the book, and back.
    let set = |price: Option<proto::Price>, price_source: Option<PriceSource>| {
        let request = proto::SetPriceRequest { model: "a".to_owned(), price, price_source };
        world.admin.set_price(with_key(&key, request))
    };
    let own = proto::Price { input: "7".to_owned(), output: "8".to_owned(), ..Default::default() };
    let changed = set(Some(own), None).await.unwrap().into_inner();
    assert_eq!((changed.price.unwrap().input.as_str(), changed.price_source), ("7.00", None));
    let back = set(None, source("", "")).await.unwrap().into_inner();
    assert_eq!(back.price.unwrap().input, "0.15");
    assert_eq!(field(&set(None, None).await.unwrap_err()), "price");
    // Once the row is gone, so is the price: the model is there and not used.
    let platform = world.platform().await;
    world.book(&platform, "openai gpt-4o 2.5 10\n").await;
    let request = with_key(&key, proto::ListModelsRequest::default());
    let models = world.admin.list_models(request).await.unwrap().into_inner().models;
    assert!(models.iter().all(|it| it.price.is_none()), "{models:?}");
    world.end().await;
}
