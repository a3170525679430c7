//! Answers while much else goes on: many calls at two replicas, and a database whose
//! connection breaks at any message.

use bursar::proto::{
    CreateMessageRequest, Outcome, sampling_service_client::SamplingServiceClient,
};
use futures_util::future::join_all;
use serde_json::json;
use tonic::{Code, transport::Channel};

use super::{KEY, call, question, terms, world, yes};
use crate::{
    call::world::{World, ask_in, charged, limits, nanos, signed},
    support::{
        long,
        proxy::{Act, Way},
        replicas::Replica,
    },
};

/// Calls until it is told that there is no more, saying yes to every question. What its
/// calls were charged, one by one.
async fn insists(world: &World, channel: &Channel, request: &CreateMessageRequest) -> Vec<i64> {
    let mut client = SamplingServiceClient::new(channel.clone());
    let mut charges = Vec::new();
    let mut next = request.clone();
    loop {
        let signed = signed(world.demo.host_key.reveal(), next);
        let reply = client.create_message(signed).await.unwrap().into_inner();
        next = match reply.outcome() {
            Outcome::InputRequired => yes(request, &question(&reply)),
            Outcome::Exhausted => return charges,
            _ => {
                charges.push(charged(&reply));
                request.clone()
            }
        };
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_that_is_always_let_go_on_makes_exactly_as_many_calls_as_were_given() {
    let world = world(terms(7)).await;
    let replica = Replica::serve(&world.db.url, &[("BURSAR_VAULT_KEY", KEY)]);
    let channel = replica.channel().await;
    let name = world.open(limits(5, 600, 500_000_000)).await;
    let script = json!({ "text": "one two", "first_delay_ms": 20 });
    let request = CreateMessageRequest { accepts_input_required: true, ..ask_in(&name, &script) };
    let crowd = (0..16).map(|n| {
        let channel = if n % 2 == 0 { &world.channel } else { &channel };
        insists(&world, channel, &request)
    });
    let charges: Vec<i64> = join_all(crowd).await.concat();
    assert_eq!(charges.len(), 5 + 7 * 10);
    let shown = world.envelope(&name).await;
    assert_eq!((shown.extensions.len(), shown.limits.as_ref().unwrap().calls), (7, Some(75)));
    let money = nanos(shown.limits.unwrap().money.as_ref());
    assert_eq!(money, 500_000_000 * 8);
    let settled = "select settled from limits where kind = 'money' and amount = 4000000000";
    assert_eq!(world.number(settled).await, charges.iter().sum::<i64>());
    world.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_heeded_once_wherever_the_connection_breaks() {
    let world = world(terms(2)).await;
    let (proxy, through) = world.db.behind_proxy().await;
    let settings = [("BURSAR_VAULT_KEY", KEY), ("BURSAR_LANES", "1")];
    let replica = Replica::serve(&through, &settings);
    let mut client = SamplingServiceClient::new(replica.channel().await);
    let key = world.demo.host_key.reveal();
    let (mut broken, mut heeded) = (0, 0);
    for way in [Way::ToServer, Way::ToClient] {
        // The answer is written at about the 110th.
        let step = if long() { 1 } else { 9 };
        for after in (0..90).step_by(step).chain(90..160) {
            let name = world.open(limits(1, 600, 500_000_000)).await;
            let asked = world.runs_out(&name, 1).await;
            let answer = yes(&call(&name), &asked);
            proxy.arm(way, after, Act::Cut);
            let reply = client.create_message(signed(key, answer.clone())).await;
            proxy.disarm();
            if let Err(status) = reply {
                assert_eq!(status.code(), Code::Unavailable, "{way:?} {after}: {status}");
                broken += 1;
                heeded += world.extensions(&name).await.len();
                // As a host does, elsewhere.
                let reply = world.sample(answer).await.unwrap();
                assert_eq!(reply.outcome(), Outcome::Complete, "{way:?} {after}: {reply:?}");
            }
            let shown = world.envelope(&name).await;
            assert_eq!(shown.extensions.len(), 1, "{way:?} {after}");
            assert_eq!(shown.limits.unwrap().calls, Some(11), "{way:?} {after}");
        }
    }
    assert!(broken > heeded && heeded > 0, "cut {broken} times, {heeded} after the writing");
    eprintln!("cut {broken} times, {heeded} of them after the answer was written");
    world.execute("update holds set expires_at = now()").await.unwrap();
    world.close().await;
}
