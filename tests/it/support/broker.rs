//! A broker as a person starts it: the real binary, `bursar dev`.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde::Deserialize;

use super::{TempDir, wait_for};

/// The ready file, as the design fixes it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Ready {
    pub(crate) grpc: String,
    pub(crate) http: String,
    pub(crate) tenant: String,
    pub(crate) host_key: String,
    pub(crate) operator_key: String,
    pub(crate) finance_key: String,
    pub(crate) user: String,
    pub(crate) server: String,
    pub(crate) database_url: String,
}

/// A running `bursar dev` with a data directory of its own. Dropping it stops it.
pub(crate) struct Broker {
    pub(crate) ready: Ready,
    pub(crate) dir: TempDir,
    child: Child,
    log: PathBuf,
}

impl Broker {
    /// Starts it on free ports and waits until it is ready.
    pub(crate) fn dev(extra_args: &[&str]) -> Self {
        let dir = TempDir::new("broker");
        let (log, ready) = (dir.path().join("broker.log"), dir.path().join("ready.json"));
        let out = File::create(&log).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_bursar"))
            .args(["dev", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"])
            .arg("--ready-file")
            .arg(&ready)
            .arg("--data-dir")
            .arg(dir.path().join("data"))
            .args(extra_args)
            .stdin(Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .spawn()
            .unwrap();
        fs::write(dir.path().join("broker.pid"), child.id().to_string()).unwrap();
        let mut parsed = None;
        wait_for(|| {
            if let Some(status) = child.try_wait().unwrap() {
                let log = fs::read_to_string(&log).unwrap_or_default();
                panic!("bursar dev ended ({status}):\n{log}");
            }
            parsed = fs::read(&ready).ok().and_then(|it| serde_json::from_slice(&it).ok());
            parsed.is_some()
        });
        Self { ready: parsed.unwrap(), dir, child, log }
    }

    /// All it has said so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// `kill -9`, as an out-of-memory killer does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- log of bursar dev ---\n{}", self.log());
        }
        if self.ended() {
            return;
        }
        let _ = kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGTERM);
        for _ in 0..500 {
            if self.ended() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        self.kill();
    }
}
