//! A service in this process with the demonstration's tenant, and a host that asks.

use std::time::Duration;

use bursar::{
    admin::demo::{self, Demo},
    app::service::Running,
    config::Config,
    proto::{
        self, CreateMessageRequest, CreateMessageResponse, Entry, EnvelopeLimits,
        OpenEnvelopeRequest, StreamMessageRequest, admin_service_client::AdminServiceClient,
        content_block::Block, envelope_service_client::EnvelopeServiceClient,
        ledger_service_client::LedgerServiceClient, sampling_service_client::SamplingServiceClient,
        stream_message_response::Event,
    },
};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tonic::{Request, Status, transport::Channel};

use crate::support::{self, TestDb};

/// A running service. It must be closed, which proves that nothing is lost.
pub(crate) struct World {
    pub(crate) db: TestDb,
    pub(crate) demo: Demo,
    pub(crate) channel: Channel,
    running: Option<Running>,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let db = support::database();
        let any = "127.0.0.1:0".parse().unwrap();
        let mut config = Config { scripted_backend: true, ..Config::of(db.url.clone(), any, any) };
        config.lanes = Some(1);
        config.private_hosts = vec!["*".to_owned()];
        change(&mut config);
        let running = Running::start(&config).await.unwrap();
        let demo = demo::seed(running.services.desk(), None).await.unwrap();
        let channel = Channel::from_shared(format!("http://{}", running.grpc));
        let channel = channel.unwrap().connect().await.unwrap();
        Self { db, demo, channel, running: Some(running) }
    }

    /// Ends the service as a signal does. What must hold then is still to be proved.
    pub(crate) async fn stop(&mut self) {
        self.running.take().unwrap().stop().await;
    }

    /// Proves that no hold is left and that the ledger adds up, and ends.
    pub(crate) async fn close(mut self) {
        self.nothing_is_held().await;
        if self.running.is_some() {
            let verified = LedgerServiceClient::new(self.channel.clone())
                .verify_ledger(self.finance(proto::VerifyLedgerRequest {}))
                .await
                .unwrap()
                .into_inner();
            assert_eq!(verified.problems, Vec::<String>::new());
            assert!(verified.ok);
            self.stop().await;
        }
        // Once more by a statement of the tests' own.
        let off = self
            .number(
                "select count(*) from limits l where l.envelope_id is not null and (
                    l.held <> 0 or l.settled <> (
                        select coalesce(sum(case l.kind when 'money' then e.charged
                            when 'calls' then e.calls when 'tokens' then e.tokens_charged
                            else 0 end), 0)::bigint
                        from entries e where l.limit_id = any (e.limit_ids))
                    or (l.kind = 'money' and l.settled > l.amount))",
            )
            .await;
        assert_eq!(off, 0, "an envelope's counter is not the sum of its entries");
    }

    /// Waits for the settlements that are under way.
    pub(crate) async fn nothing_is_held(&self) {
        for _ in 0..500 {
            if self.number("select count(*) from holds").await == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("a hold was left behind");
    }

    /// A fresh key of the role platform.
    pub(crate) async fn platform_key(&self) -> String {
        let services = &self.running.as_ref().unwrap().services;
        let key = bursar::admin::platform_key(&services.store, &services.clock).await.unwrap();
        key.reveal().to_owned()
    }

    /// Where it serves gRPC.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.running.as_ref().unwrap().grpc)
    }

    /// Where it serves HTTP.
    pub(crate) fn http(&self) -> String {
        format!("http://{}", self.running.as_ref().unwrap().http)
    }

    /// What Prometheus would read.
    pub(crate) async fn metrics(&self) -> String {
        let at = format!("http://{}/metrics", self.running.as_ref().unwrap().http);
        reqwest::get(at).await.unwrap().error_for_status().unwrap().text().await.unwrap()
    }

    // === As the host ===

    pub(crate) fn host<T>(&self, body: T) -> Request<T> {
        signed(self.demo.host_key.reveal(), body)
    }

    pub(crate) fn operator<T>(&self, body: T) -> Request<T> {
        signed(self.demo.operator_key.reveal(), body)
    }

    pub(crate) fn finance<T>(&self, body: T) -> Request<T> {
        signed(self.demo.finance_key.reveal(), body)
    }

    pub(crate) fn sampling(&self) -> SamplingServiceClient<Channel> {
        SamplingServiceClient::new(self.channel.clone())
    }

    pub(crate) fn envelopes(&self) -> EnvelopeServiceClient<Channel> {
        EnvelopeServiceClient::new(self.channel.clone())
    }

    pub(crate) fn admin(&self) -> AdminServiceClient<Channel> {
        AdminServiceClient::new(self.channel.clone())
    }

    pub(crate) async fn sample(
        &self,
        request: CreateMessageRequest,
    ) -> Result<CreateMessageResponse, Status> {
        Ok(self.sampling().create_message(self.host(request)).await?.into_inner())
    }

    /// Events of a stream until its end.
    pub(crate) async fn stream(
        &self,
        request: CreateMessageRequest,
    ) -> (Vec<Event>, Result<(), Status>) {
        let request = StreamMessageRequest { request: Some(request) };
        let mut stream = match self.sampling().stream_message(self.host(request)).await {
            Ok(it) => it.into_inner(),
            Err(it) => return (Vec::new(), Err(it)),
        };
        let mut events = Vec::new();
        loop {
            match stream.message().await {
                Ok(Some(it)) => events.push(it.event.unwrap()),
                Ok(None) => return (events, Ok(())),
                Err(it) => return (events, Err(it)),
            }
        }
    }

    pub(crate) async fn open(&self, limits: EnvelopeLimits) -> String {
        self.try_open(limits).await.unwrap().name
    }

    pub(crate) async fn try_open(&self, limits: EnvelopeLimits) -> Result<proto::Envelope, Status> {
        let request = OpenEnvelopeRequest {
            user: demo::USER.to_owned(),
            server: demo::SERVER.to_owned(),
            limits: Some(limits),
            request_id: String::new(),
            parent: String::new(),
        };
        Ok(self.envelopes().open_envelope(self.host(request)).await?.into_inner())
    }

    pub(crate) async fn envelope(&self, name: &str) -> proto::Envelope {
        let request = proto::GetEnvelopeRequest { name: name.to_owned() };
        self.envelopes().get_envelope(self.host(request)).await.unwrap().into_inner()
    }

    // === As finance and as the owner of the database ===

    /// The ledger, newest first.
    pub(crate) async fn entries(&self) -> Vec<Entry> {
        let request = proto::ListEntriesRequest { page_size: 500, ..Default::default() };
        let mut ledger = LedgerServiceClient::new(self.channel.clone());
        ledger.list_entries(self.finance(request)).await.unwrap().into_inner().entries
    }

    /// The only entry, once it is there.
    pub(crate) async fn entry(&self) -> Entry {
        self.nothing_is_held().await;
        let mut entries = self.entries().await;
        assert_eq!(entries.len(), 1, "one entry was booked");
        entries.remove(0)
    }

    pub(crate) async fn number(&self, sql: &str) -> i64 {
        let mut owner = PgConnection::connect(&self.db.url).await.unwrap();
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut owner).await.unwrap()
    }

    // === As the operator ===

    /// Another scripted backend, with these ways, and a model `alias` on it at the
    /// prices of `scripted-small`.
    pub(crate) async fn scripted(&self, alias: &str, profile: proto::BackendProfile) {
        self.backend(alias, proto::BackendKind::Scripted, "", profile).await;
    }

    /// A model `vendor` on an OpenAI-compatible server.
    pub(crate) async fn vendor(&self, base_url: &str, profile: proto::BackendProfile) {
        self.backend("vendor", proto::BackendKind::Openai, base_url, profile).await;
    }

    pub(crate) async fn backend(
        &self,
        alias: &str,
        kind: proto::BackendKind,
        base_url: &str,
        profile: proto::BackendProfile,
    ) {
        let backend = proto::Backend {
            backend: format!("{alias}-backend"),
            kind: kind.into(),
            base_url: base_url.to_owned(),
            profile: Some(profile),
            ..Default::default()
        };
        let request = proto::CreateBackendRequest { backend: Some(backend) };
        let made = self.admin().create_backend(self.operator(request)).await.unwrap().into_inner();
        let model = proto::Model {
            alias: alias.to_owned(),
            backend: made.backend,
            vendor_model: format!("{alias}-secret-name"),
            context_tokens: 128_000,
            max_output_tokens: 8_192,
            tools: true,
            intelligence: 10,
            speed: 10,
            price: Some(proto::Price {
                input: "0.15".to_owned(),
                output: "0.60".to_owned(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let request = proto::CreateModelRequest { model: Some(model) };
        self.admin().create_model(self.operator(request)).await.unwrap();
    }

    pub(crate) async fn budget(&self, budget: proto::Budget) -> Result<proto::Budget, Status> {
        let request = proto::CreateBudgetRequest { budget: Some(budget) };
        Ok(self.admin().create_budget(self.operator(request)).await?.into_inner())
    }

    pub(crate) async fn user(&self, user: &str) {
        let request = proto::CreateUserRequest { user: user.to_owned() };
        self.admin().create_user(self.operator(request)).await.unwrap();
    }

    pub(crate) async fn server(&self, server: &str) {
        let request = proto::CreateServerRequest { server: server.to_owned() };
        self.admin().create_server(self.operator(request)).await.unwrap();
    }

    pub(crate) async fn grant(&self, grant: proto::Grant) {
        let request = proto::CreateGrantRequest { grant: Some(grant) };
        self.admin().create_grant(self.operator(request)).await.unwrap();
    }

    /// Replaces the demonstration's grant.
    pub(crate) async fn regrant(&self, change: impl FnOnce(&mut proto::Grant)) {
        let list = proto::ListGrantsRequest::default();
        let listed = self.admin().list_grants(self.operator(list)).await.unwrap().into_inner();
        let mut grant = listed.grants.into_iter().find(|it| it.revoke_time.is_empty()).unwrap();
        let request = proto::RevokeGrantRequest { name: grant.name.clone() };
        self.admin().revoke_grant(self.operator(request)).await.unwrap();
        change(&mut grant);
        self.grant(grant).await;
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.running.is_none(), "a world was not closed, so nothing was proved");
        }
    }
}

pub(crate) fn signed<T>(key: &str, body: T) -> Request<T> {
    let mut request = Request::new(body);
    request.metadata_mut().insert("authorization", format!("Bearer {key}").parse().unwrap());
    request
}

/// A request whose only message scripts the answer, for at most 100 tokens.
pub(crate) fn ask(script: &Value) -> CreateMessageRequest {
    says(&format!("@script {script}"))
}

pub(crate) fn ask_in(envelope: &str, script: &Value) -> CreateMessageRequest {
    CreateMessageRequest { envelope: envelope.to_owned(), ..ask(script) }
}

pub(crate) fn says(text: &str) -> CreateMessageRequest {
    let block = Block::Text(proto::TextContent { text: text.to_owned() });
    let message = proto::SamplingMessage {
        role: proto::Role::User.into(),
        content: vec![proto::ContentBlock { block: Some(block) }],
        meta_json: String::new(),
    };
    CreateMessageRequest {
        user: demo::USER.to_owned(),
        server: demo::SERVER.to_owned(),
        params: Some(proto::SamplingParams {
            messages: vec![message],
            max_tokens: Some(100),
            ..Default::default()
        }),
        ..Default::default()
    }
}

pub(crate) trait Change: Sized {
    fn params(self, change: impl FnOnce(&mut proto::SamplingParams)) -> Self;

    fn max(self, tokens: i64) -> Self {
        self.params(|it| it.max_tokens = Some(tokens))
    }

    fn hint(self, name: &str) -> Self {
        self.params(|it| {
            let hints = vec![proto::ModelHint { name: name.to_owned() }];
            it.model_preferences = Some(proto::ModelPreferences { hints, ..Default::default() });
        })
    }

    fn tool(self, name: &str) -> Self {
        self.params(|it| {
            it.tools.push(proto::Tool {
                name: name.to_owned(),
                description: "A tool".to_owned(),
                input_schema_json: r#"{"type":"object"}"#.to_owned(),
            });
        })
    }

    fn choice(self, mode: proto::ToolChoiceMode) -> Self {
        self.params(|it| it.tool_choice = Some(proto::ToolChoice { mode: mode.into() }))
    }
}

impl Change for CreateMessageRequest {
    fn params(mut self, change: impl FnOnce(&mut proto::SamplingParams)) -> Self {
        change(self.params.as_mut().unwrap());
        self
    }
}

pub(crate) fn limits(calls: i64, seconds: i64, nanos: i64) -> EnvelopeLimits {
    EnvelopeLimits {
        calls: Some(calls),
        seconds: Some(seconds),
        money: Some(money(nanos)),
        ..Default::default()
    }
}

pub(crate) fn money(nanos: i64) -> proto::Money {
    proto::Money {
        currency_code: "EUR".to_owned(),
        units: nanos / 1_000_000_000,
        nanos: (nanos % 1_000_000_000).try_into().unwrap(),
    }
}

pub(crate) fn nanos(it: Option<&proto::Money>) -> i64 {
    let it = it.unwrap();
    assert_eq!(it.currency_code, "EUR");
    it.units * 1_000_000_000 + i64::from(it.nanos)
}

/// What the user was charged.
pub(crate) fn charged(reply: &CreateMessageResponse) -> i64 {
    nanos(reply.charge.as_ref().unwrap().amount.as_ref())
}

/// The text of a result of one block.
#[track_caller]
pub(crate) fn text(reply: &CreateMessageResponse) -> &str {
    let result = reply.result.as_ref().unwrap();
    assert_eq!(result.content.len(), 1, "exactly one block");
    let Some(Block::Text(it)) = &result.content[0].block else { panic!("not a text") };
    &it.text
}

pub(crate) fn stop_reason(reply: &CreateMessageResponse) -> &str {
    &reply.result.as_ref().unwrap().stop_reason
}

/// The budget that the server is shown.
pub(crate) fn meta(reply: &CreateMessageResponse) -> Value {
    let whole: Value = serde_json::from_str(&reply.result.as_ref().unwrap().meta_json).unwrap();
    assert_eq!(whole.as_object().unwrap().len(), 1);
    whole["dev.bursar/budget"].clone()
}
