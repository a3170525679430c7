//! A broker as a person starts it: the real binary, `bursar dev`.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
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
    #[expect(dead_code, reason = "for the tests of the HTTP door")]
    pub(crate) http: String,
    #[expect(dead_code, reason = "part of the file; names carry it")]
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
        Self::dev_in(extra_args, &[])
    }

    /// The same, with variables in its environment.
    pub(crate) fn dev_in(extra_args: &[&str], environment: &[(&str, &str)]) -> Self {
        let dir = TempDir::new("broker");
        let log = dir.path().join("broker.log");
        let mut command = command(&dir, extra_args);
        let (child, ready) = start(&dir, &log, command.envs(environment.iter().copied()));
        Self { ready, dir, child, log }
    }

    /// Starts another on the same data, once this one has ended.
    pub(crate) fn again(&mut self) {
        assert!(self.ended(), "it still runs");
        (self.child, self.ready) = start(&self.dir, &self.log, &mut command(&self.dir, &[]));
    }

    /// Its data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Asks it to end, as a service manager does, and waits until it has.
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
        wait_for(|| self.ended());
        self.child.wait().unwrap()
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

fn command(dir: &TempDir, extra_args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bursar"));
    command
        .args(["dev", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"])
        .arg("--ready-file")
        .arg(dir.path().join("ready.json"))
        .arg("--data-dir")
        .arg(dir.path().join("data"))
        .args(extra_args)
        .stdin(Stdio::null());
    command
}

/// Starts it and waits until it has written its ready file.
fn start(dir: &TempDir, log: &Path, command: &mut Command) -> (Child, Ready) {
    let ready = dir.path().join("ready.json");
    // What an earlier one that was killed has left.
    let _ = fs::remove_file(&ready);
    let out = File::options().create(true).append(true).open(log).unwrap();
    let mut child = command.stdout(out.try_clone().unwrap()).stderr(out).spawn().unwrap();
    fs::write(dir.path().join("broker.pid"), child.id().to_string()).unwrap();
    let mut parsed = None;
    wait_for(|| {
        if let Some(status) = child.try_wait().unwrap() {
            let log = fs::read_to_string(log).unwrap_or_default();
            panic!("bursar dev ended ({status}):\n{log}");
        }
        parsed = fs::read(&ready).ok().and_then(|it| serde_json::from_slice(&it).ok());
        parsed.is_some()
    });
    (child, parsed.unwrap())
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
