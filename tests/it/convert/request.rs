//! Whose request it is, which envelope it counts against, where it comes from.

use bursar::{
    domain::{
        ids::{EnvelopeId, TenantId},
        request::{EnvelopeChoice, Origin, Revision, Scope},
    },
    proto,
};

use super::support::{refused, with};

const LONG: usize = 257;

fn call(id: &str, method: &str, name: &str) -> proto::OriginatingCall {
    let (id, method, name) = (id.to_owned(), method.to_owned(), name.to_owned());
    proto::OriginatingCall { id, method, name }
}

#[test]
fn ids_that_are_missing_too_long_or_hold_control_characters_are_refused() {
    for bad in [String::new(), "a".repeat(LONG), "a\nb".to_owned(), "a\u{85}".to_owned()] {
        refused(with(|it| it.user.clone_from(&bad)), "user");
        refused(with(|it| it.server.clone_from(&bad)), "server");
    }
    for bad in ["a".repeat(LONG), "a\0".to_owned()] {
        refused(with(|it| it.conversation.clone_from(&bad)), "conversation");
        refused(with(|it| it.input_key.clone_from(&bad)), "input_key");
        refused(with(|it| it.request_id.clone_from(&bad)), "request_id");
        refused(with(|it| it.originating_call = Some(call(&bad, "", ""))), "originating_call.id");
        refused(
            with(|it| it.originating_call = Some(call("", &bad, ""))),
            "originating_call.method",
        );
        refused(with(|it| it.originating_call = Some(call("", "", &bad))), "originating_call.name");
    }
    let longest = "é".repeat(128);
    assert_eq!(with(|it| it.user.clone_from(&longest)).unwrap().user, longest);
}

#[test]
fn an_envelope_is_named_in_full_or_by_its_id_and_else_refused() {
    let (env, ten) = (format!("env_{:032x}", 7), format!("ten_{:032x}", 8));
    let id: EnvelopeId = env.parse().unwrap();
    let tenant: TenantId = ten.parse().unwrap();
    let choice = |name: &str| with(|it| name.clone_into(&mut it.envelope)).unwrap().envelope;
    assert_eq!(choice(&env), EnvelopeChoice::Named { tenant: None, id });
    let full = format!("tenants/{ten}/envelopes/{env}");
    assert_eq!(choice(&full), EnvelopeChoice::Named { tenant: Some(tenant), id });
    for bad in [
        "env_7".to_owned(),
        ten.clone(),
        format!("envelopes/{env}"),
        format!("tenants/{ten}/grants/{env}"),
        format!("tenants/{ten}/envelopes/{env}/"),
        format!("tenants//envelopes/{env}"),
        format!("{env}\n"),
    ] {
        refused(with(|it| it.envelope.clone_from(&bad)), "envelope");
    }
}

#[test]
fn without_a_name_the_call_then_the_conversation_then_the_pair_chooses_the_envelope() {
    let scope = |conversation: &str, call_id: &str| {
        let read = with(|it| {
            conversation.clone_into(&mut it.conversation);
            it.originating_call = Some(call(call_id, "tools/call", "forecast"));
        });
        read.unwrap().envelope
    };
    let (conversation, call) = ("c".to_owned(), "7".to_owned());
    let both = Scope::Call { conversation: conversation.clone(), call: call.clone() };
    assert_eq!(scope("c", "7"), EnvelopeChoice::Scoped(both));
    let alone = Scope::Call { conversation: String::new(), call };
    assert_eq!(scope("", "7"), EnvelopeChoice::Scoped(alone));
    assert_eq!(scope("c", ""), EnvelopeChoice::Scoped(Scope::Conversation(conversation)));
    assert_eq!(scope("", ""), EnvelopeChoice::Scoped(Scope::Default));
}

#[test]
fn a_root_that_is_no_file_or_climbs_is_refused() {
    for bad in [
        "https://example.com/".to_owned(),
        "/home/alice".to_owned(),
        "file:///home/../etc".to_owned(),
        "file:///home/..".to_owned(),
        "file:///home/%2e%2E/etc".to_owned(),
        "file:///home%2f..%2fetc".to_owned(),
        r"file:///C:\home\..\etc".to_owned(),
        "file:///home/%5c..%5c".to_owned(),
        "file:///a%00b".to_owned(),
        "file:///a%".to_owned(),
        "file:///a%2".to_owned(),
        "file:///a%zz".to_owned(),
        "file:///a%é".to_owned(),
        format!("file:///{}", "a".repeat(2_041)),
    ] {
        refused(with(|it| it.root.clone_from(&bad)), "root");
    }
    let good = "file:///home/alice/a%20project/..b";
    assert_eq!(with(|it| good.clone_into(&mut it.root)).unwrap().root.as_deref(), Some(good));
}

#[test]
fn every_published_revision_is_known_and_no_other() {
    assert_eq!(with(|_| ()).unwrap().revision, Revision::R20251125);
    for revision in Revision::ALL {
        let read = with(|it| revision.as_str().clone_into(&mut it.protocol_revision));
        assert_eq!(read.unwrap().revision, revision);
    }
    for bad in ["2025-11-24", "latest", " 2025-11-25", "2027-01-01"] {
        refused(with(|it| bad.clone_into(&mut it.protocol_revision)), "protocol_revision");
    }
    let fault = with(|it| "1".clone_into(&mut it.protocol_revision)).unwrap_err().to_string();
    assert!(Revision::ALL.iter().all(|it| fault.contains(it.as_str())), "{fault}");
}

#[test]
fn what_the_host_says_of_itself_is_kept_and_unknown_origins_say_nothing() {
    let read = with(|it| {
        it.origin = proto::Origin::Background.into();
        it.request_id = "r1".to_owned();
        it.input_key = "k1".to_owned();
        it.accepts_input_required = true;
        it.originating_call = Some(call("7", "tools/call", "forecast"));
    });
    let read = read.unwrap();
    assert_eq!(read.origin, Origin::Background);
    assert_eq!(read.request_id.as_deref(), Some("r1"));
    assert_eq!(read.input_key.as_deref(), Some("k1"));
    assert!(read.accepts_input_required);
    let originating = read.originating.unwrap();
    assert_eq!(originating.method.as_deref(), Some("tools/call"));
    assert_eq!(originating.name.as_deref(), Some("forecast"));
    assert_eq!(with(|it| it.origin = 99).unwrap().origin, Origin::Unknown);
}
