//! A replica that is asked to end, and one that is not asked.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;

use super::{
    load::{Host, at_once, sum},
    proof::{number, prove, prove_at_the_end, until, witness},
};
use crate::{
    call::world::{ask_in, limits},
    support::{
        database,
        replicas::{Replica, seed},
    },
};

const HOLDS: &str = "select count(*) from holds";
const ENTRIES: &str = "select count(*) from entries";

async fn host(replica: &Replica, key: &str) -> Host {
    Host { channel: replica.channel().await, key: key.to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_in_flight_are_all_booked_whether_it_is_asked_to_end_or_killed() {
    let db = database();
    witness(&db.url).await;
    let key = seed(&db.url).await.host_key.reveal().to_owned();
    let other = Replica::serve(&db.url, &[]);
    let other_host = host(&other, &key).await;
    let envelope = other_host.open(limits(1_000, 600, 1_000_000_000)).await;
    let short = ask_in(&envelope, &json!({ "text": "one two", "first_delay_ms": 700 }));
    let long = ask_in(&envelope, &json!({ "text": "one two", "stall_after": 1 }));
    let requests: Vec<_> = [vec![short; 25], vec![long; 25]].concat();

    let mut asked = Replica::serve(&db.url, &[("BURSAR_DRAIN_SECONDS", "6")]);
    let asked_host = host(&asked, &key).await;
    let running = at_once(std::slice::from_ref(&asked_host), &requests);
    until(&db.url, HOLDS, 50).await;
    let began = Instant::now();
    asked.signal(Signal::SIGTERM);
    // Nothing new is taken, and whoever comes is told to go elsewhere.
    let refused = loop {
        match asked_host.call(ask_in(&envelope, &json!({ "text": "late" }))).await {
            // The signal is on its way still.
            Ok(_) if began.elapsed() < Duration::from_secs(2) => {}
            other => break other,
        }
    };
    assert_eq!(refused.unwrap_err().code(), tonic::Code::Unavailable);
    let tally = sum(running).await;
    assert_eq!((tally.complete, tally.partial), (25, 25), "{tally:?}");
    assert_eq!(asked.ended().code(), Some(0), "{}", asked.log());
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    assert_eq!(number(&db.url, HOLDS).await, 0);
    let booked = number(&db.url, ENTRIES).await;
    assert!(booked >= 50, "{booked}");
    let not_settled = "select count(*) from entries where kind <> 'settle'";
    assert_eq!(number(&db.url, not_settled).await, 0);
    prove(&db.url).await;

    let mut killed = Replica::serve(&db.url, &[]);
    let running = at_once(&[host(&killed, &key).await], &requests);
    until(&db.url, HOLDS, 50).await;
    killed.kill();
    assert_eq!(sum(running).await.failed.len(), 50);
    assert_eq!(number(&db.url, HOLDS).await, 50, "they stand until their time is over");
    // The other replica finds them.
    prove_at_the_end(&db.url).await;
    assert_eq!(number(&db.url, ENTRIES).await, booked + 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_in_time_though_the_database_is_silent() {
    let db = database();
    witness(&db.url).await;
    let key = seed(&db.url).await.host_key.reveal().to_owned();
    let (proxy, through) = db.behind_proxy().await;
    let mut replica = Replica::serve(&through, &[("BURSAR_DRAIN_SECONDS", "4")]);
    let host = host(&replica, &key).await;
    let envelope = host.open(limits(1_000, 600, 1_000_000_000)).await;
    let request = ask_in(&envelope, &json!({ "text": "one two", "stall_after": 1 }));
    let running = at_once(&[host], &vec![request; 20]);
    until(&db.url, HOLDS, 20).await;
    proxy.freeze();
    let began = Instant::now();
    replica.signal(Signal::SIGTERM);
    replica.ended();
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}: {}", began.elapsed(), replica.log());
    // Answered or not: all that there was to say is said.
    sum(running).await;
    drop(proxy);
    let _other = Replica::serve(&db.url, &[]);
    prove_at_the_end(&db.url).await;
    assert_eq!(number(&db.url, ENTRIES).await, 20);
}
