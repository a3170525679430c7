//! What one replica is told to stop, every replica stops: calls of those who are
//! stopped, and keys that are revoked.

use std::time::{Duration, Instant};

use bursar::{
    admin::demo::{self, Demo},
    proto::{
        self, Cut, Outcome, admin_service_client::AdminServiceClient,
        stream_message_response::Event,
    },
};
use serde_json::json;
use tonic::Code;

use super::{
    load::Host,
    proof::{prove, witness},
};
use crate::{
    call::world::{ask, signed},
    support::{TestDb, database, replicas, replicas::Replica},
};

struct Two {
    db: TestDb,
    demo: Demo,
    hosts: Vec<Host>,
    _running: Vec<Replica>,
}

impl Two {
    async fn start() -> Self {
        let db = database();
        witness(&db.url).await;
        let demo = replicas::seed(&db.url).await;
        let (mut hosts, mut running) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            let replica = Replica::serve(&db.url, &[]);
            let key = demo.host_key.reveal().to_owned();
            hosts.push(Host { channel: replica.channel().await, key });
            running.push(replica);
        }
        Self { db, demo, hosts, _running: running }
    }

    fn operator<T>(&self, message: T) -> tonic::Request<T> {
        signed(self.demo.operator_key.reveal(), message)
    }

    /// At the first replica.
    fn admin(&self) -> AdminServiceClient<tonic::transport::Channel> {
        AdminServiceClient::new(self.hosts[0].channel.clone())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_at_one_replica_refuses_and_cuts_at_every_other() {
    let all = Two::start().await;
    let other = &all.hosts[1];
    let mut client =
        proto::sampling_service_client::SamplingServiceClient::new(other.channel.clone());
    let slow = ask(&json!({ "text": "one two three", "stall_after": 2 }));
    let request = proto::StreamMessageRequest { request: Some(slow) };
    let mut running =
        client.stream_message(signed(&other.key, request)).await.unwrap().into_inner();
    let mut seen = 0;
    while seen < 2 {
        let event = running.message().await.unwrap().unwrap().event.unwrap();
        seen += usize::from(matches!(event, Event::Text(_)));
    }
    let stop = proto::StopSamplingRequest {
        server: demo::SERVER.to_owned(),
        reason: "it went wild".to_owned(),
        ..Default::default()
    };
    let made = all.admin().stop_sampling(all.operator(stop)).await.unwrap().into_inner();
    let begun = Instant::now();
    let refused = other.call(ask(&json!({ "text": "one" }))).await.unwrap();
    assert_eq!(refused.outcome(), Outcome::Refused, "the very next call");
    let Some(Event::Done(cut)) = running.message().await.unwrap().unwrap().event else {
        panic!("more text");
    };
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!((cut.outcome(), cut.cut()), (Outcome::Partial, Cut::Cancelled));
    let request = proto::ResumeSamplingRequest { name: made.name };
    all.admin().resume_sampling(all.operator(request)).await.unwrap();
    let fine = other.call(ask(&json!({ "text": "one" }))).await.unwrap();
    assert_eq!(fine.outcome(), Outcome::Complete);
    prove(&all.db.url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_revoked_at_one_replica_is_worthless_at_every_other() {
    let all = Two::start().await;
    let request = proto::CreateCredentialRequest {
        display_name: "a second key".to_owned(),
        role: proto::CredentialRole::Host.into(),
        host: demo::HOST.to_owned(),
        ..Default::default()
    };
    let made = all.admin().create_credential(all.operator(request)).await.unwrap().into_inner();
    let host = Host { key: made.key, ..all.hosts[1].clone() };
    let fine = host.call(ask(&json!({ "text": "one" }))).await.unwrap();
    assert_eq!(fine.outcome(), Outcome::Complete);
    let request = proto::RevokeCredentialRequest { name: made.credential.unwrap().name };
    all.admin().revoke_credential(all.operator(request)).await.unwrap();
    let status = host.call(ask(&json!({ "text": "one" }))).await.unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated, "the very next call");
    prove(&all.db.url).await;
}
