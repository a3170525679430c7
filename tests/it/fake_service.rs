//! A tiny service on loopback for the command line to talk to. The prompt says
//! how a call ends.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bursar::proto::{
    Charge, CloseEnvelopeRequest, CloseMonthRequest, CloseMonthResponse, ContentBlock,
    CreateMessageRequest, CreateMessageResponse, CreateMessageResult, Cut, Entry, EntryKind,
    Envelope, EnvelopeLeft, ExplainEntryRequest, ExplainEntryResponse, ExplainRouteRequest,
    ExplainRouteResponse, ExportLedgerRequest, ExportLedgerResponse, GetEnvelopeRequest, LimitKind,
    LimitStatus, ListEntriesRequest, ListEntriesResponse, ListEnvelopesRequest,
    ListEnvelopesResponse, ListTokensRequest, ListTokensResponse, MintTokenRequest, Money,
    OpenEnvelopeRequest, Outcome, RefreshTokenRequest, Refusal, ReportEntriesRequest,
    ReportEntriesResponse, Reservation, ReserveRequest, RevokeTokenRequest, Role, Route,
    SettleRequest, Settlement, Started, StreamMessageRequest, StreamMessageResponse, TextContent,
    TextDelta, Token, Usage, VerifyLedgerRequest, VerifyLedgerResponse, VoidRequest,
    content_block::Block,
    envelope_service_server::{EnvelopeService, EnvelopeServiceServer},
    ledger_service_server::{LedgerService, LedgerServiceServer},
    sampling_service_server::{SamplingService, SamplingServiceServer},
    stream_message_response::Event,
};
use tokio::task::JoinSet;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Code, Request, Response, Status, transport::Server};
use tonic_types::{ErrorDetails, StatusExt};

pub(crate) const KEY: &str = "bk_secret_of_the_test";

/// A running fake; it ends when dropped.
pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    pub(crate) seen: Seen,
    _tasks: JoinSet<Result<(), tonic::transport::Error>>,
}

/// The sampling requests and openings that came.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    pub(crate) requests: Arc<Mutex<Vec<CreateMessageRequest>>>,
    pub(crate) openings: Arc<Mutex<Vec<OpenEnvelopeRequest>>>,
}

impl Fake {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Seen::default();
        let server = Server::builder()
            .add_service(SamplingServiceServer::new(seen.clone()))
            .add_service(EnvelopeServiceServer::new(seen.clone()))
            .add_service(LedgerServiceServer::new(seen.clone()))
            .serve_with_incoming(TcpListenerStream::new(listener));
        let mut tasks = JoinSet::new();
        tasks.spawn(server);
        Self { address, seen, _tasks: tasks }
    }
}

pub(crate) fn euros(nanos: i32) -> Money {
    Money { currency_code: "EUR".to_owned(), units: 0, nanos }
}

fn result(text: &str, stop_reason: &str) -> CreateMessageResult {
    let block = Block::Text(TextContent { text: text.to_owned() });
    CreateMessageResult {
        role: Role::Assistant.into(),
        content: vec![ContentBlock { block: Some(block) }],
        model: "scripted-small".to_owned(),
        stop_reason: stop_reason.to_owned(),
        meta_json: String::new(),
    }
}

pub(crate) fn complete() -> CreateMessageResponse {
    CreateMessageResponse {
        result: Some(result("Blue.", "endTurn")),
        outcome: Outcome::Complete.into(),
        usage: Some(Usage { input: 12, output: 5, ..Usage::default() }),
        charge: Some(Charge { amount: Some(euros(4_500_000)), estimated: false, overrun: None }),
        left: Some(EnvelopeLeft {
            calls: 19,
            seconds: 112,
            money: Some(euros(495_500_000)),
            tokens: None,
        }),
        envelope: "tenants/t/envelopes/e".to_owned(),
        route: Some(Route {
            alias: "scripted-small".to_owned(),
            model: "small-1".to_owned(),
            backend: "scripted".to_owned(),
            reasons: vec!["cheapest that fits".to_owned()],
        }),
        call: "c-1".to_owned(),
        ..CreateMessageResponse::default()
    }
}

fn money_limit() -> LimitStatus {
    LimitStatus {
        name: "tenants/t/envelopes/e".to_owned(),
        kind: LimitKind::Money.into(),
        held: "0".to_owned(),
        settled: "0.48".to_owned(),
        overrun: "0".to_owned(),
        limit: "0.5".to_owned(),
        resets_at: String::new(),
        share: false,
    }
}

pub(crate) fn partial() -> CreateMessageResponse {
    CreateMessageResponse {
        result: Some(result("Bl", "maxTokens")),
        outcome: Outcome::Partial.into(),
        cut: Cut::Budget.into(),
        limit: Some(money_limit()),
        charge: Some(Charge { amount: Some(euros(480_000_000)), estimated: true, overrun: None }),
        warnings: vec!["max_tokens was lowered to 16".to_owned()],
        ..complete()
    }
}

pub(crate) fn exhausted() -> CreateMessageResponse {
    CreateMessageResponse {
        result: Some(result("", "budgetExhausted")),
        outcome: Outcome::Exhausted.into(),
        limit: Some(money_limit()),
        usage: None,
        charge: None,
        route: None,
        ..complete()
    }
}

pub(crate) fn refused() -> CreateMessageResponse {
    CreateMessageResponse {
        outcome: Outcome::Refused.into(),
        refusal: Some(Refusal {
            reason: "NO_GRANT".to_owned(),
            message: "no grant lets this server sample for this user".to_owned(),
        }),
        ..CreateMessageResponse::default()
    }
}

impl Seen {
    fn answer(&self, request: CreateMessageRequest) -> Result<CreateMessageResponse, Status> {
        let params = request.params.clone().unwrap_or_default();
        let last = params.messages.last().and_then(|it| it.content.last()?.block.clone());
        let Some(Block::Text(prompt)) = last else { panic!("a text prompt") };
        self.requests.lock().unwrap().push(request);
        match prompt.text.as_str() {
            "partial" => Ok(partial()),
            "exhausted" => Ok(exhausted()),
            "refused" => Ok(refused()),
            "invalid" => {
                let mut details =
                    ErrorDetails::with_bad_request_violation("params.max_tokens", "is too large");
                details.set_error_info("INVALID", "bursar", std::collections::HashMap::new());
                Err(Status::with_error_details(Code::InvalidArgument, "a bad field", details))
            }
            "shed" => {
                let wait = std::time::Duration::from_millis(1_500);
                let details = ErrorDetails::with_retry_info(Some(wait));
                Err(Status::with_error_details(Code::ResourceExhausted, "too many", details))
            }
            _ => Ok(complete()),
        }
    }
}

fn authorized<T>(request: Request<T>) -> Result<T, Status> {
    let given = request.metadata().get("authorization").and_then(|it| it.to_str().ok());
    if given == Some(&format!("Bearer {KEY}")) {
        Ok(request.into_inner())
    } else {
        Err(Status::unauthenticated("a valid API key is required"))
    }
}

#[tonic::async_trait]
impl SamplingService for Seen {
    async fn create_message(
        &self,
        request: Request<CreateMessageRequest>,
    ) -> Result<Response<CreateMessageResponse>, Status> {
        self.answer(authorized(request)?).map(Response::new)
    }

    type StreamMessageStream =
        tokio_stream::Iter<std::vec::IntoIter<Result<StreamMessageResponse, Status>>>;

    async fn stream_message(
        &self,
        request: Request<StreamMessageRequest>,
    ) -> Result<Response<Self::StreamMessageStream>, Status> {
        let reply = self.answer(authorized(request)?.request.unwrap_or_default())?;
        let text = reply.result.clone().map(|it| it.content[0].block.clone().unwrap());
        let deltas = match text {
            Some(Block::Text(it)) => it.text.chars().map(String::from).collect(),
            _ => Vec::new(),
        };
        let started =
            Started { call: "c-1".into(), envelope: "e".into(), max_tokens: 256, attempt: 1 };
        let events = std::iter::once(Event::Started(started))
            .chain(deltas.into_iter().map(|text| Event::Text(TextDelta { text })))
            .chain([Event::Done(reply)])
            .map(|event| Ok(StreamMessageResponse { event: Some(event) }));
        Ok(Response::new(tokio_stream::iter(events.collect::<Vec<_>>())))
    }

    async fn explain_route(
        &self,
        request: Request<ExplainRouteRequest>,
    ) -> Result<Response<ExplainRouteResponse>, Status> {
        authorized(request)?;
        Ok(Response::new(ExplainRouteResponse::default()))
    }
}

#[tonic::async_trait]
impl EnvelopeService for Seen {
    async fn open_envelope(
        &self,
        request: Request<OpenEnvelopeRequest>,
    ) -> Result<Response<Envelope>, Status> {
        let opening = authorized(request)?;
        self.openings.lock().unwrap().push(opening.clone());
        Ok(Response::new(Envelope {
            name: "tenants/t/envelopes/new".to_owned(),
            user: opening.user,
            server: opening.server,
            limits: opening.limits,
            ..Envelope::default()
        }))
    }

    /// Pages of 500, for ever.
    async fn list_envelopes(
        &self,
        request: Request<ListEnvelopesRequest>,
    ) -> Result<Response<ListEnvelopesResponse>, Status> {
        let request = authorized(request)?;
        let from: i32 = request.page_token.parse().unwrap_or(0);
        let name = |i: i32| Envelope { name: format!("e{i}"), ..Envelope::default() };
        Ok(Response::new(ListEnvelopesResponse {
            envelopes: (from..from + request.page_size).map(name).collect(),
            next_page_token: (from + request.page_size).to_string(),
        }))
    }

    async fn get_envelope(
        &self,
        _: Request<GetEnvelopeRequest>,
    ) -> Result<Response<Envelope>, Status> {
        Err(Status::not_found("envelope not found"))
    }

    async fn close_envelope(
        &self,
        _: Request<CloseEnvelopeRequest>,
    ) -> Result<Response<Envelope>, Status> {
        Err(Status::unimplemented("not in this fake"))
    }

    async fn reserve(&self, _: Request<ReserveRequest>) -> Result<Response<Reservation>, Status> {
        Err(Status::unimplemented("not in this fake"))
    }

    async fn settle(&self, _: Request<SettleRequest>) -> Result<Response<Settlement>, Status> {
        Err(Status::unimplemented("not in this fake"))
    }

    async fn void(&self, _: Request<VoidRequest>) -> Result<Response<Settlement>, Status> {
        Err(Status::unimplemented("not in this fake"))
    }

    async fn mint_token(&self, _: Request<MintTokenRequest>) -> Result<Response<Token>, Status> {
        Err(Status::unimplemented("not in this fake"))
    }

    async fn list_tokens(
        &self,
        _: Request<ListTokensRequest>,
    ) -> Result<Response<ListTokensResponse>, Status> {
        Err(Status::unimplemented("not in this fake"))
    }

    async fn refresh_token(
        &self,
        _: Request<RefreshTokenRequest>,
    ) -> Result<Response<Token>, Status> {
        Err(Status::unimplemented("not in this fake"))
    }

    async fn revoke_token(
        &self,
        _: Request<RevokeTokenRequest>,
    ) -> Result<Response<Token>, Status> {
        Err(Status::unimplemented("not in this fake"))
    }
}

#[tonic::async_trait]
impl LedgerService for Seen {
    async fn list_entries(
        &self,
        request: Request<ListEntriesRequest>,
    ) -> Result<Response<ListEntriesResponse>, Status> {
        let request = authorized(request)?;
        let entry = Entry {
            name: "tenants/t/entries/1".to_owned(),
            kind: EntryKind::Settle.into(),
            user: request.user,
            charge: Some(euros(4_500_000)),
            ..Entry::default()
        };
        Ok(Response::new(ListEntriesResponse {
            entries: vec![entry],
            next_page_token: String::new(),
        }))
    }

    async fn verify_ledger(
        &self,
        request: Request<VerifyLedgerRequest>,
    ) -> Result<Response<VerifyLedgerResponse>, Status> {
        authorized(request)?;
        let problems = vec!["entry 1 does not balance".to_owned()];
        Ok(Response::new(VerifyLedgerResponse { ok: false, entries: 7, problems }))
    }

    type ExportLedgerStream = tokio_stream::Empty<Result<ExportLedgerResponse, Status>>;

    async fn export_ledger(
        &self,
        request: Request<ExportLedgerRequest>,
    ) -> Result<Response<Self::ExportLedgerStream>, Status> {
        authorized(request)?;
        Ok(Response::new(tokio_stream::empty()))
    }

    async fn explain_entry(
        &self,
        request: Request<ExplainEntryRequest>,
    ) -> Result<Response<ExplainEntryResponse>, Status> {
        authorized(request)?;
        Err(Status::unimplemented("not by this fake"))
    }

    async fn close_month(
        &self,
        request: Request<CloseMonthRequest>,
    ) -> Result<Response<CloseMonthResponse>, Status> {
        authorized(request)?;
        Err(Status::unimplemented("not by this fake"))
    }

    async fn report_entries(
        &self,
        request: Request<ReportEntriesRequest>,
    ) -> Result<Response<ReportEntriesResponse>, Status> {
        authorized(request)?;
        Err(Status::unimplemented("not by this fake"))
    }
}
