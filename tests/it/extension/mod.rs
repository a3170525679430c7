//! An envelope has run out, and a person may let it have more.

mod answers;
mod bounds;
mod form;
mod person;
mod rule;
mod storm;
mod tokens;
mod twice;

use bursar::proto::{
    self, CreateMessageRequest, CreateMessageResponse, EnvelopeLimits, GrantExtension, InputAction,
    InputAnswer, InputRequired, Landing, Outcome,
};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::call::world::{World, ask_in, limits, money};

pub(crate) const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

const ANSWERS: &str = "select count(*) from extensions";
const HOLDS: &str = "select count(*) from holds";
const ENTRIES: &str = "select count(*) from entries";

/// Ten calls, sixty seconds and half a euro at a time.
fn terms(times: i32) -> GrantExtension {
    GrantExtension { calls: 10, seconds: 60, money: Some(money(500_000_000)), times }
}

/// A service whose demonstration lets a person add so much.
async fn world(extension: GrantExtension) -> World {
    let world = World::with(|it| it.vault_key = Some(KEY.to_owned().into())).await;
    world.regrant(|it| it.extension = Some(extension)).await;
    world
}

/// A small call in an envelope, by a host that can ask its user.
fn call(envelope: &str) -> CreateMessageRequest {
    let script = json!({ "text": "one two", "usage": { "input": 10, "output": 2 } });
    CreateMessageRequest { accepts_input_required: true, ..ask_in(envelope, &script) }
}

fn said(
    request: &CreateMessageRequest,
    token: &str,
    action: InputAction,
    content: &str,
) -> CreateMessageRequest {
    CreateMessageRequest {
        resume_token: token.to_owned(),
        input_answer: Some(InputAnswer { action: action.into(), content_json: content.to_owned() }),
        ..request.clone()
    }
}

fn yes(request: &CreateMessageRequest, question: &InputRequired) -> CreateMessageRequest {
    said(request, &question.resume_token, InputAction::Accept, "")
}

fn no(request: &CreateMessageRequest, question: &InputRequired) -> CreateMessageRequest {
    said(request, &question.resume_token, InputAction::Decline, "")
}

/// The question of a reply that is one.
#[track_caller]
fn question(reply: &CreateMessageResponse) -> InputRequired {
    assert_eq!(reply.outcome(), Outcome::InputRequired, "{reply:?}");
    assert!(reply.result.is_none() && reply.charge.is_none() && reply.refusal.is_none());
    assert_eq!((reply.call.as_str(), reply.landing), ("", false));
    reply.input_required.clone().unwrap()
}

/// The form of a question.
fn fields(question: &InputRequired) -> Value {
    let params: Value = serde_json::from_str(&question.elicitation_json).unwrap();
    params["requestedSchema"]["properties"].clone()
}

#[track_caller]
fn invalid<T: std::fmt::Debug>(it: Result<T, Status>, field: &str) -> Status {
    let status = it.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    assert_eq!(status.get_details_bad_request().unwrap().field_violations[0].field, field);
    status
}

fn landing(calls: i64, seconds: i64) -> EnvelopeLimits {
    EnvelopeLimits {
        landing: Some(Landing { reserve: Some(money(1_000_000)), tokens: 20 }),
        ..limits(calls, seconds, 500_000_000)
    }
}

impl World {
    /// Makes so many calls, and returns the question that the next one gets.
    async fn runs_out(&self, envelope: &str, calls: usize) -> InputRequired {
        for _ in 0..calls {
            let reply = self.sample(call(envelope)).await.unwrap();
            assert_eq!(reply.outcome(), Outcome::Complete, "{reply:?}");
        }
        question(&self.sample(call(envelope)).await.unwrap())
    }

    async fn extensions(&self, envelope: &str) -> Vec<proto::EnvelopeExtension> {
        self.envelope(envelope).await.extensions
    }

    async fn execute(&self, sql: &str) -> Result<(), sqlx::Error> {
        let mut owner = PgConnection::connect(&self.db.url).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut owner).await.map(drop)
    }
}

fn outcomes(replies: &[CreateMessageResponse]) -> Vec<Outcome> {
    replies.iter().map(CreateMessageResponse::outcome).collect()
}
