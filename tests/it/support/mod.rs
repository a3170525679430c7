//! What tests stand on: one private Postgres a test process, a database a test,
//! a running broker.

mod broker;
pub(crate) mod proxy;
pub(crate) mod replicas;
mod temp;
pub(crate) mod vendor;

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bursar::app::postgres::{Cluster, Options};

pub(crate) use self::broker::Broker;
pub(crate) use self::temp::TempDir;

const TEMPLATE: &str = "template_migrated";

/// A database of a test's own, migrated and otherwise empty.
pub(crate) struct TestDb {
    pub(crate) url: String,
    name: String,
}

/// Brings the template to the newest schema. It must close its connections.
async fn migrate_template(url: &str) {
    bursar::store::migrate(url).await.unwrap();
}

/// A fresh database, a copy of the migrated template.
pub(crate) fn database() -> TestDb {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    cluster().create_database(&name, Some(TEMPLATE)).unwrap();
    TestDb { url: cluster().url(&name), name }
}

impl TestDb {
    /// A go-between on the way to it, and the URL that leads through.
    pub(crate) async fn behind_proxy(&self) -> (proxy::Proxy, String) {
        let proxy = proxy::Proxy::to(cluster().socket_dir().to_owned()).await;
        let url = proxy.url(&self.name);
        (proxy, url)
    }
}

/// Whether the sweeps that take minutes are wanted.
pub(crate) fn long() -> bool {
    std::env::var_os("BURSAR_LONG").is_some_and(|it| it == "1")
}

impl Drop for TestDb {
    fn drop(&mut self) {
        // Whatever is still connected is of this test.
        cluster().drop_database(&self.name).unwrap();
    }
}

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<(TempDir, Cluster)> = OnceLock::new();
    &CLUSTER
        .get_or_init(|| {
            let dir = TempDir::new("cluster");
            let settings = [
                ("max_connections", "400"),
                ("autovacuum", "off"),
                ("log_line_prefix", "%m [%p] %d "),
            ];
            let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let options =
                Options { durable: false, settings: settings.into(), ..Options::new(dir.path()) };
            let cluster = Cluster::start(&options).unwrap();
            cluster.create_database(TEMPLATE, None).unwrap();
            let url = cluster.url(TEMPLATE);
            // Off the caller's thread, which may be inside a runtime already.
            std::thread::spawn(move || {
                tokio::runtime::Runtime::new().unwrap().block_on(migrate_template(&url));
            })
            .join()
            .unwrap();
            (dir, cluster)
        })
        .1
}

/// Waits until it holds, at most a minute.
#[track_caller]
pub(crate) fn wait_for(mut holds: impl FnMut() -> bool) {
    for _ in 0..3_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("did not come to hold within a minute");
}

/// A client that may talk to this machine.
pub(crate) fn http_client() -> bursar::net::Client {
    bursar::net::client(&bursar::net::Private::of(&["*".to_owned()])).unwrap()
}
