//! Replicas as production runs them: `bursar serve` as processes of their own, any
//! number on one database; and servers of Postgres that may be killed.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
};

use bursar::{
    admin::{
        Desk,
        demo::{self, Demo},
    },
    app::postgres::{Cluster, Options},
    catalogue::Catalogue,
    clock::Clock,
    store::{Settings, Store},
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use tonic::transport::Channel;

use super::{TempDir, wait_for};

/// A running `bursar serve`. Dropping it kills it.
pub(crate) struct Replica {
    /// Where it serves gRPC.
    pub(crate) grpc: String,
    child: Child,
    dir: TempDir,
}

impl Replica {
    /// Starts one with scripted models, and these settings, and waits until it serves.
    pub(crate) fn serve(database_url: &str, settings: &[(&str, &str)]) -> Self {
        let dir = TempDir::new("replica");
        let log = File::create(dir.path().join("log")).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_bursar"))
            .args(["serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"])
            .args(["--database-url", database_url])
            .env("BURSAR_SCRIPTED_BACKEND", "true")
            .env("BURSAR_LANES", "2")
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        fs::write(dir.path().join("broker.pid"), child.id().to_string()).unwrap();
        let mut replica = Self { grpc: String::new(), child, dir };
        wait_for(|| {
            if let Some(status) = replica.child.try_wait().unwrap() {
                panic!("bursar serve ended ({status}):\n{}", replica.log());
            }
            let log = replica.log();
            let lines = log.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
            let mut serving = lines.filter(|it| it["message"] == "serving");
            let Some(line) = serving.next() else { return false };
            replica.grpc = format!("http://{}", line["grpc"].as_str().unwrap());
            true
        });
        replica
    }

    /// A connection of its own.
    pub(crate) async fn channel(&self) -> Channel {
        Channel::from_shared(self.grpc.clone()).unwrap().connect().await.unwrap()
    }

    /// All it has said so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// `kill -9`, as an out-of-memory killer does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it has ended.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        wait_for(|| self.child.try_wait().unwrap().is_some());
        self.child.wait().unwrap()
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        if std::thread::panicking() {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "--- log of bursar serve ---\n{}", self.log());
        }
        // Ended already is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes the demonstration's tenant in a database.
pub(crate) async fn seed(database_url: &str) -> Demo {
    let url = database_url.to_owned();
    let store = Store::open(&Settings { url, call_connections: 1, report_connections: 1 }).unwrap();
    let (clock, catalogue) = (Clock::default(), Catalogue::default());
    let desk = Desk { store: &store, clock: &clock, catalogue: &catalogue };
    let demo = demo::seed(desk, None).await.unwrap();
    store.close().await;
    demo
}

/// A Postgres of a test's own, that may be killed and started again.
pub(crate) struct OwnPostgres {
    options: Options,
    cluster: Option<Cluster>,
    // Goes last.
    _dir: Option<TempDir>,
}

/// Its database.
const DATABASE: &str = "bursar";

impl OwnPostgres {
    /// One in a directory of its own, migrated.
    pub(crate) fn start() -> Self {
        let dir = TempDir::new("own-postgres");
        let path = dir.path().to_owned();
        Self::start_in(path, Some(dir))
    }

    /// One in a directory that is there, migrated.
    pub(crate) fn start_in(path: PathBuf, dir: Option<TempDir>) -> Self {
        let settings =
            [("autovacuum", "off"), ("shared_buffers", "16MB"), ("max_wal_size", "64MB")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let options = Options { durable: false, settings: settings.into(), ..Options::new(path) };
        let cluster = Cluster::start(&options).unwrap();
        cluster.ensure_database(DATABASE).unwrap();
        let url = cluster.url(DATABASE);
        // Off the caller's thread, which may be inside a runtime already.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(bursar::store::migrate(&url)).unwrap();
        })
        .join()
        .unwrap();
        Self { options, cluster: Some(cluster), _dir: dir }
    }

    pub(crate) fn url(&self) -> String {
        self.cluster.as_ref().unwrap().url(DATABASE)
    }

    /// The server's own log, since it was started.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.cluster.as_ref().unwrap().log()).unwrap_or_default()
    }

    /// The server's process.
    pub(crate) fn pid(&self) -> u32 {
        self.cluster.as_ref().unwrap().pid()
    }

    /// Whether the server has not given up by itself.
    pub(crate) fn runs(&self) -> bool {
        let state = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap_or_default();
        state.rsplit(") ").next().is_some_and(|it| !it.is_empty() && !it.starts_with('Z'))
    }

    /// Ends it without a checkpoint, so that the next start has to recover.
    pub(crate) fn crash(&mut self, signal: Signal) {
        let cluster = self.cluster.take().unwrap();
        kill(Pid::from_raw(cluster.pid().try_into().unwrap()), signal).unwrap();
        // Waits until it is gone.
        drop(cluster);
    }

    /// Starts it again on the same data.
    pub(crate) fn again(&mut self) {
        drop(self.cluster.take());
        let mut why = None;
        for _ in 0..100 {
            match Cluster::start(&self.options) {
                Ok(it) => {
                    self.cluster = Some(it);
                    return;
                }
                // The processes of the killed server may still be about to end.
                Err(it) => why = Some(it),
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("it does not start again: {why:?}");
    }
}
