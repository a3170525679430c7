//! Three replicas as processes of their own on one database: one truth, whoever is
//! asked, and whoever of them is killed or stands still.

use std::time::Duration;

use bursar::{
    admin::demo::Demo,
    proto::{self, admin_service_client::AdminServiceClient},
};
use nix::sys::signal::Signal;
use serde_json::json;

use super::{
    load::{Host, Load, at_once, sum},
    proof::{number, prove, prove_at_the_end, until, witness},
};
use crate::{
    call::world::{ask_in, limits, money, signed},
    support::{TestDb, database, replicas, replicas::Replica},
};

struct Replicas {
    db: TestDb,
    demo: Demo,
    running: Vec<Replica>,
    hosts: Vec<Host>,
}

impl Replicas {
    async fn start(count: usize, settings: &[(&str, &str)]) -> Self {
        let db = database();
        witness(&db.url).await;
        let demo = replicas::seed(&db.url).await;
        let mut all = Self { db, demo, running: Vec::new(), hosts: Vec::new() };
        for _ in 0..count {
            all.add(settings).await;
        }
        all
    }

    async fn add(&mut self, settings: &[(&str, &str)]) {
        let replica = Replica::serve(&self.db.url, settings);
        let key = self.demo.host_key.reveal().to_owned();
        self.hosts.push(Host { channel: replica.channel().await, key });
        self.running.push(replica);
    }

    fn url(&self) -> &str {
        &self.db.url
    }
}

const HOLDS: &str = "select count(*) from holds";

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_calls_at_three_replicas_stay_within_envelope_and_budget() {
    let all = Replicas::start(3, &[]).await;
    let host = &all.hosts[0];
    let script = json!({ "text": "one two three", "first_delay_ms": 30 });
    // Counted in calls: exactly as many as there are.
    let counted = host.open(limits(100, 600, 1_000_000_000)).await;
    let tally = sum(at_once(&all.hosts, &vec![ask_in(&counted, &script); 300])).await;
    assert_eq!((tally.complete, tally.exhausted), (100, 200), "{tally:?}");
    // In money: room for some forty holds at once, and no reply charges beyond it.
    let narrow = host.open(limits(1_000, 600, 3_000_000)).await;
    let tally = sum(at_once(&all.hosts, &vec![ask_in(&narrow, &script); 300])).await;
    assert_eq!(tally.failed, Vec::<String>::new());
    assert!(tally.complete > 0 && tally.charged <= 3_000_000, "{tally:?}");
    let settled = "select settled from limits where kind = 'money' and amount = 3000000";
    assert_eq!(number(all.url(), settled).await, tally.charged);
    // A budget over many envelopes.
    let budget = proto::Budget {
        display_name: "all of us".to_owned(),
        period: proto::Period::Lifetime.into(),
        calls: Some(77),
        money: Some(money(50_000_000)),
        ..Default::default()
    };
    let request = proto::CreateBudgetRequest { budget: Some(budget) };
    let request = signed(all.demo.operator_key.reveal(), request);
    AdminServiceClient::new(host.channel.clone()).create_budget(request).await.unwrap();
    let mut requests = Vec::new();
    for _ in 0..6 {
        let envelope = host.open(limits(1_000, 600, 1_000_000_000)).await;
        requests.extend(vec![ask_in(&envelope, &script); 50]);
    }
    let tally = sum(at_once(&all.hosts, &requests)).await;
    assert_eq!((tally.complete, tally.exhausted), (77, 223), "{tally:?}");
    let settled = "select settled from limits where kind = 'money' and budget_id is not null";
    assert_eq!(number(all.url(), settled).await, tally.charged);
    assert_eq!(number(all.url(), HOLDS).await, 0);
    prove(all.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_stands_still_freezes_nobody_and_doubles_nothing_once_it_goes_on() {
    let all = Replicas::start(3, &[]).await;
    let envelope = all.hosts[0].open(limits(1_000, 600, 1_000_000_000)).await;
    let requests = [json!({ "text": "one two" }), json!({ "text": "one", "first_delay_ms": 20 })];
    let requests = requests.map(|it| ask_in(&envelope, &it));
    // All on one envelope, so that each is in the others' way.
    let load = Load::start(&all.hosts, 24, &requests);
    let booked = "select count(*) from entries";
    for _ in 0..3 {
        let before = number(all.url(), booked).await;
        all.running[1].signal(Signal::SIGSTOP);
        // Longer than it takes to lock and be thrown out for standing idle.
        let others = Load::start(&[all.hosts[0].clone(), all.hosts[2].clone()], 8, &requests);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let others = others.stop().await;
        all.running[1].signal(Signal::SIGCONT);
        assert!(others.answered() >= 8, "{others:?}");
        assert_eq!(others.failed, Vec::<String>::new());
        assert!(others.slowest < Duration::from_secs(25), "{others:?}");
        assert!(number(all.url(), booked).await > before);
    }
    let tally = load.stop().await;
    assert_eq!(tally.failed, Vec::<String>::new());
    assert_eq!(number(all.url(), HOLDS).await, 0);
    let ended = "select count(*) from entries where kind <> 'settle'";
    assert_eq!(number(all.url(), ended).await, 0);
    prove(all.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_slow_answers_keep_no_connection() {
    // Two connections for calls and one lane.
    let few = [("BURSAR_CALL_CONNECTIONS", "2"), ("BURSAR_LANES", "1")];
    let all = Replicas::start(1, &few).await;
    let host = &all.hosts[0];
    let envelope = host.open(limits(1_000, 600, 1_000_000_000)).await;
    let slow = json!({ "text": "one two", "stall_after": 1 });
    let mut running = at_once(&all.hosts, &vec![ask_in(&envelope, &slow); 200]);
    until(all.url(), HOLDS, 200).await;
    // What is being looked at is done within a moment; what stays is not.
    let in_transaction = "select count(*) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()
            and state like 'idle in transaction%'";
    until(all.url(), in_transaction, 0).await;
    let quick = ask_in(&envelope, &json!({ "text": "quick" }));
    for _ in 0..20 {
        host.call(quick.clone()).await.unwrap();
    }
    assert_eq!(number(all.url(), HOLDS).await, 200, "the slow ones still run");
    let connections = "select count(*) from pg_stat_activity
        where datname = current_database() and application_name = 'bursar'";
    // And for reports four, for duties two.
    assert!(number(all.url(), connections).await <= 2 + 1 + 4 + 2, "more than allowed");
    // Their callers go away: all is settled, though there are two connections.
    running.shutdown().await;
    until(all.url(), HOLDS, 0).await;
    let gone = "select count(*) from entries where cut = 'client_gone'";
    assert_eq!(number(all.url(), gone).await, 200);
    prove(all.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_killed_with_hundreds_of_calls_in_flight_loses_no_money() {
    let mut all = Replicas::start(3, &[]).await;
    let host = all.hosts[0].clone();
    let envelope = host.open(limits(1_000, 600, 1_000_000_000)).await;
    let silent = ask_in(&envelope, &json!({ "text": "one two", "stall_after": 1 }));
    let victims = at_once(&all.hosts[1..2], &vec![silent; 200]);
    until(all.url(), HOLDS, 200).await;
    // Others come and go at the same time, at the victim too.
    let envelope = host.open(limits(1_000, 600, 1_000_000_000)).await;
    let load = Load::start(&all.hosts, 12, &[ask_in(&envelope, &json!({ "text": "one" }))]);
    until(all.url(), "select least(count(*), 30) from entries", 30).await;
    all.running[1].kill();
    let victims = sum(victims).await;
    assert_eq!(victims.failed.len(), 200, "{victims:?}");
    let before = number(all.url(), "select count(*) from entries").await;
    let more = format!("select least(count(*), {0}) from entries", before + 30);
    until(all.url(), &more, before + 30).await;
    // A new one takes its place.
    all.add(&[]).await;
    let next = all.hosts[3].call(ask_in(&envelope, &json!({ "text": "one" }))).await.unwrap();
    assert_eq!(next.outcome(), proto::Outcome::Complete);
    load.stop().await;
    prove_at_the_end(all.url()).await;
    let expired = "select count(*) from entries where kind = 'expire' and certainty = 'estimated'
        and charged = held_money";
    assert!(number(all.url(), expired).await >= 200);
}
