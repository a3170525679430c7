//! A token is good for what it was given out for, once, for a while, and for nothing else.

use std::time::Duration;

use bursar::{
    admin::demo,
    proto::{self, CreateMessageRequest, CreateMessageResponse, InputAction, InputAnswer, Outcome},
};
use tonic::Status;

use super::{ANSWERS, KEY, call, invalid, question, said, terms, world, yes};
use crate::call::world::{World, limits, signed};

async fn with_key(
    world: &World,
    key: &str,
    request: CreateMessageRequest,
) -> Result<CreateMessageResponse, Status> {
    Ok(world.sampling().create_message(signed(key, request)).await?.into_inner())
}

async fn another_key(world: &World, host: &str) -> String {
    let create = proto::CreateCredentialRequest {
        display_name: "another".to_owned(),
        role: proto::CredentialRole::Host.into(),
        host: host.to_owned(),
        ..Default::default()
    };
    let made = world.admin().create_credential(world.operator(create)).await.unwrap();
    made.into_inner().key
}

#[tokio::test]
async fn a_token_that_was_changed_or_never_ours_is_refused() {
    let world = world(terms(1)).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    let asked = world.runs_out(&name, 1).await;
    let token = asked.resume_token.clone();
    let mut wrong: Vec<String> = Vec::new();
    for at in (0..token.len()).step_by(7).chain([token.len() - 2]) {
        let mut changed = token.clone().into_bytes();
        changed[at] = if changed[at] == b'x' { b'y' } else { b'x' };
        wrong.push(String::from_utf8(changed).unwrap());
    }
    wrong.extend([&token[..token.len() - 1], "rt1_", "rt1_AAAA", "x"].map(str::to_owned));
    wrong.push(format!("{token}A"));
    wrong.push(token.replacen("rt1_", "rt2_", 1));
    let mut texts = Vec::new();
    for token in wrong {
        let request = said(&call(&name), &token, InputAction::Accept, "");
        texts.push(invalid(world.sample(request).await, "resume_token").message().to_owned());
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "nobody learns what is wrong with it: {texts:?}");
    for (request, field) in [
        (said(&call(&name), &"A".repeat(1_025), InputAction::Accept, ""), "resume_token"),
        (said(&call(&name), "", InputAction::Accept, ""), "resume_token"),
        (
            said(&call(&name), &token, InputAction::Accept, &" ".repeat(4_097)),
            "input_answer.content_json",
        ),
        (
            CreateMessageRequest {
                input_answer: Some(InputAnswer { action: 9, content_json: String::new() }),
                ..yes(&call(&name), &asked)
            },
            "input_answer.action",
        ),
    ] {
        invalid(world.sample(request).await, field);
    }
    assert_eq!(world.number(ANSWERS).await, 0);
    let reply = world.sample(yes(&call(&name), &asked)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Complete, "and the true one is good still");
    world.close().await;
}

#[tokio::test]
async fn a_token_is_of_one_request_of_one_key() {
    let world = world(terms(3)).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    let asked = world.runs_out(&name, 1).await;
    let other = world.open(limits(1, 60, 500_000_000)).await;
    world.user("other-user").await;
    world.server("other-server").await;
    for (user, server) in [("other-user", demo::SERVER), (demo::USER, "other-server")] {
        world
            .grant(proto::Grant {
                user: user.to_owned(),
                server: server.to_owned(),
                default_envelope: Some(limits(1, 60, 500_000_000)),
                extension: Some(terms(3)),
                ..Default::default()
            })
            .await;
    }
    let mine = yes(&call(&name), &asked);
    let change = |change: fn(&mut CreateMessageRequest)| {
        let mut request = mine.clone();
        change(&mut request);
        request
    };
    let wrong = [
        change(|it| it.user = "other-user".to_owned()),
        change(|it| it.server = "other-server".to_owned()),
        CreateMessageRequest { envelope: other, ..mine.clone() },
        change(|it| it.envelope = String::new()),
        change(|it| it.root = "file:///elsewhere".to_owned()),
        change(|it| it.params.as_mut().unwrap().max_tokens = Some(101)),
        change(|it| it.params.as_mut().unwrap().messages.clear()),
        change(|it| it.conversation = "c".to_owned()),
    ];
    for (at, request) in wrong.into_iter().enumerate() {
        let status = world.sample(request).await.unwrap_err();
        let field = if at == 6 { "params.messages" } else { "resume_token" };
        invalid(Err::<(), _>(status), field);
    }
    // Another host, and another key of the same one.
    let before = world.number("select count(*) from envelopes").await;
    for host in ["other-host", demo::HOST] {
        let key = another_key(&world, host).await;
        invalid(with_key(&world, &key, mine.clone()).await, "resume_token");
    }
    assert_eq!(world.number("select count(*) from envelopes").await, before);
    assert_eq!(world.number(ANSWERS).await, 0);
    // Another server's own question, in an envelope of its own, is another one's.
    let mut foreign = call("");
    foreign.server = "other-server".to_owned();
    world.sample(foreign.clone()).await.unwrap();
    let theirs = question(&world.sample(foreign.clone()).await.unwrap());
    assert!(theirs.message.contains("\"other-server\""), "{}", theirs.message);
    invalid(world.sample(yes(&call(&name), &theirs)).await, "resume_token");
    assert_eq!(world.sample(mine).await.unwrap().outcome(), Outcome::Complete);
    assert_eq!(world.sample(yes(&foreign, &theirs)).await.unwrap().outcome(), Outcome::Complete);
    world.close().await;
}

#[tokio::test]
async fn an_answer_that_comes_too_late_is_asked_for_again() {
    let world = World::with(|it| {
        it.vault_key = Some(KEY.to_owned().into());
        it.question_seconds = 1;
    })
    .await;
    world.regrant(|it| it.extension = Some(terms(1))).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    let old = world.runs_out(&name, 1).await;
    tokio::time::sleep(Duration::from_millis(1_300)).await;
    let reply = world.sample(yes(&call(&name), &old)).await.unwrap();
    let fresh = question(&reply);
    assert_ne!(fresh.resume_token, old.resume_token);
    assert!(reply.warnings.iter().any(|it| it.contains("after the question's time")));
    assert_eq!(world.number(ANSWERS).await, 0);
    let reply = world.sample(yes(&call(&name), &fresh)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Complete);
    // A no that comes too late is a no all the same.
    let other = world.open(limits(1, 60, 500_000_000)).await;
    let old = world.runs_out(&other, 1).await;
    tokio::time::sleep(Duration::from_millis(1_300)).await;
    let request = said(&call(&other), &old.resume_token, InputAction::Decline, "");
    assert_eq!(world.sample(request).await.unwrap().outcome(), Outcome::Exhausted);
    world.close().await;
}

#[tokio::test]
async fn an_answer_under_other_terms_is_asked_for_again() {
    let world = world(terms(1)).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    let old = world.runs_out(&name, 1).await;
    world.regrant(|it| it.extension.as_mut().unwrap().calls = 2).await;
    let reply = world.sample(yes(&call(&name), &old)).await.unwrap();
    let fresh = question(&reply);
    assert!(fresh.message.contains("2 more calls"), "{}", fresh.message);
    assert!(reply.warnings.iter().any(|it| it.contains("grant has changed")));
    let reply = world.sample(yes(&call(&name), &fresh)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Complete);
    assert_eq!(world.envelope(&name).await.limits.unwrap().calls, Some(3));
    // Without consent there is no more to answer.
    let name = world.open(limits(1, 60, 500_000_000)).await;
    let old = world.runs_out(&name, 1).await;
    world.regrant(|it| it.extension = None).await;
    let reply = world.sample(yes(&call(&name), &old)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Exhausted);
    world.close().await;
}

#[tokio::test]
async fn an_answer_finds_its_envelope_though_the_conversation_has_another_by_now() {
    let world = world(terms(1)).await;
    let mut request = call("");
    request.conversation = "c-1".to_owned();
    world.regrant(|it| it.default_envelope = Some(limits(1, 60, 500_000_000))).await;
    let first = world.sample(request.clone()).await.unwrap();
    let asked = question(&world.sample(request.clone()).await.unwrap());
    // As after ten idle minutes, in which the person thought.
    world.execute("update limits set used_at = used_at - interval '11 minutes'").await.unwrap();
    let reply = world.sample(yes(&request, &asked)).await.unwrap();
    assert_eq!((reply.outcome(), &reply.envelope), (Outcome::Complete, &first.envelope));
    assert_eq!(world.number("select count(*) from envelopes").await, 1);
    world.close().await;
}

#[tokio::test]
async fn answers_are_written_once_and_for_good() {
    let world = world(terms(1)).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    let asked = world.runs_out(&name, 1).await;
    world.sample(yes(&call(&name), &asked)).await.unwrap();
    let tenant = world.demo.tenant.uuid();
    for change in
        ["update extensions set calls = 0", "delete from extensions", "truncate extensions"]
    {
        let sql = format!("set role bursar_app; set bursar.tenants = '{tenant}'; {change}");
        let refused = world.execute(&sql).await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{change}: {refused}");
    }
    let elsewhere = "00000000-0000-7000-8000-0000000000bb";
    let count = "do $$ begin if exists (select from extensions) then raise 'seen'; end if; end $$";
    let sql = format!("set role bursar_app; set bursar.tenants = '{elsewhere}'; {count}");
    world.execute(&sql).await.unwrap();
    let sql = format!("set role bursar_app; set bursar.tenants = '{tenant}'; {count}");
    assert!(world.execute(&sql).await.unwrap_err().to_string().contains("seen"));
    world.close().await;
}
