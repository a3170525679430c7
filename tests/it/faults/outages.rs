//! Postgres that dies, is away for long, or cannot write.

use std::{
    fs,
    os::unix::{fs::MetadataExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use nix::sys::signal::Signal;
use serde_json::json;

use super::{
    load::{Host, Load, at_once, sum},
    proof::{number, prove, prove_at_the_end, until, witness},
};
use crate::{
    call::world::{ask_in, limits},
    support::{
        TempDir,
        replicas::{OwnPostgres, Replica, seed},
    },
};

const HOLDS: &str = "select count(*) from holds";
const ENTRIES: &str = "select count(*) from entries";
/// Booked without the truth, though no process of ours died.
const GUESSED: &str = "select count(*) from entries where certainty <> 'exact'";

/// Replicas on a Postgres of their own, and hosts at them.
async fn replicas(postgres: &OwnPostgres, count: usize) -> (Vec<Replica>, Vec<Host>) {
    witness(&postgres.url()).await;
    let demo = seed(&postgres.url()).await;
    let (mut running, mut hosts) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let replica = Replica::serve(&postgres.url(), &[]);
        let key = demo.host_key.reveal().to_owned();
        hosts.push(Host { channel: replica.channel().await, key });
        running.push(replica);
    }
    (running, hosts)
}

/// Waits until calls are booked again.
async fn goes_on(url: &str) {
    let enough = number(url, ENTRIES).await + 30;
    until(url, &format!("select least(count(*), {enough}) from entries"), enough).await;
}

async fn envelope(host: &Host) -> String {
    host.open(limits(1_000, 3_600, 1_000_000_000)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgres_that_is_killed_under_load_leaves_no_guess_behind() {
    let mut postgres = OwnPostgres::start();
    let (_running, hosts) = replicas(&postgres, 2).await;
    for (signal, away) in [(Signal::SIGKILL, 0), (Signal::SIGQUIT, 200), (Signal::SIGKILL, 6_000)] {
        let envelope = envelope(&hosts[0]).await;
        let quick = ask_in(&envelope, &json!({ "text": "one two", "first_delay_ms": 5 }));
        let slow = ask_in(&envelope, &json!({ "text": "one two", "first_delay_ms": 3_000 }));
        let load = Load::start(&hosts, 12, &[quick]);
        let running = at_once(&hosts, &vec![slow; 60]);
        until(&postgres.url(), "select least(count(*), 60) from holds", 60).await;
        goes_on(&postgres.url()).await;
        postgres.crash(signal);
        tokio::time::sleep(Duration::from_millis(away)).await;
        postgres.again();
        goes_on(&postgres.url()).await;
        let load = load.stop().await;
        assert!(load.complete > 30, "{load:?}");
        let slow = sum(running).await;
        // They had their holds: whatever became of Postgres, they are answered.
        assert_eq!(slow.complete, 60, "{slow:?}");
    }
    // Nothing expires so soon: it is the truth that was booked late.
    until(&postgres.url(), HOLDS, 0).await;
    assert_eq!(number(&postgres.url(), GUESSED).await, 0);
    prove(&postgres.url()).await;
}

/// The processes that a server has started.
fn children(parent: u32) -> Vec<u32> {
    let stat = |pid: u32| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_child = |pid: &u32| {
        let stat = stat(*pid);
        let after = stat.rsplit(')').next().unwrap_or_default();
        after.split_whitespace().nth(1) == Some(parent.to_string().as_str())
    };
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(is_child).collect()
}

/// Limits how far the server's processes may write into a file, as their own user.
fn limit_files(postgres: &OwnPostgres, bytes: &str) {
    for pid in children(postgres.pid()) {
        // One that has just ended needs no limit.
        let Ok(process) = fs::metadata(format!("/proc/{pid}")) else { continue };
        let _ = Command::new("prlimit")
            .args(["--pid", &pid.to_string(), &format!("--fsize={bytes}:")])
            .uid(process.uid())
            .gid(process.gid())
            .stderr(Stdio::null())
            .status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgres_that_cannot_write_recovers_once_it_can() {
    let mut postgres = OwnPostgres::start();
    let (_running, hosts) = replicas(&postgres, 2).await;
    let envelope = envelope(&hosts[0]).await;
    let request = ask_in(&envelope, &json!({ "text": "one two", "first_delay_ms": 5 }));
    let load = Load::start(&hosts, 12, &[request]);
    goes_on(&postgres.url()).await;
    let mut refused = 0;
    for _ in 0..3 {
        limit_files(&postgres, "262144");
        tokio::time::sleep(Duration::from_millis(400)).await;
        limit_files(&postgres, "unlimited");
        refused += postgres.log().matches("File too large").count();
        if !postgres.runs() {
            postgres.again();
        }
        goes_on(&postgres.url()).await;
    }
    let load = load.stop().await;
    assert!(load.complete > 100, "{load:?}");
    assert_eq!(load.failed, Vec::<String>::new());
    assert!(refused > 0, "no write was refused");
    until(&postgres.url(), HOLDS, 0).await;
    assert_eq!(number(&postgres.url(), GUESSED).await, 0);
    prove(&postgres.url()).await;
}

/// A small file system in memory. Dropping it takes it away.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None where we may not mount.
    fn mount(at: &Path, size: &str) -> Option<Self> {
        let options = format!("size={size},mode=755");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(at)
            .stderr(Stdio::null())
            .status();
        mounted.is_ok_and(|it| it.success()).then(|| Self(at.to_owned()))
    }

    /// Takes all the room that is left.
    fn fill(&self) {
        let mut file = fs::File::create(self.0.join("filler")).unwrap();
        let block = vec![1_u8; 8_192];
        while std::io::Write::write_all(&mut file, &block).is_ok() {}
    }

    fn free(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_loses_nothing() {
    let dir = TempDir::new("small-disk");
    let place = dir.path().join("disk");
    fs::create_dir(&place).unwrap();
    let Some(disk) = SmallDisk::mount(&place, "192m") else {
        // Only root may mount; what it is like is tried with limits on files elsewhere.
        return;
    };
    let mut postgres = OwnPostgres::start_in(place, None);
    let (_running, hosts) = replicas(&postgres, 2).await;
    let envelope = envelope(&hosts[0]).await;
    let request = ask_in(&envelope, &json!({ "text": "one two", "first_delay_ms": 5 }));
    let load = Load::start(&hosts, 12, &[request]);
    goes_on(&postgres.url()).await;
    disk.fill();
    // Writes go on into what is already there; a forced switch of the log is not.
    let mut refused = 0;
    for _ in 0..20 {
        refused += usize::from(switch_log(&postgres.url()).await.is_err());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    refused += postgres.log().matches("No space left").count();
    disk.free();
    if !postgres.runs() {
        postgres.again();
    }
    goes_on(&postgres.url()).await;
    let load = load.stop().await;
    assert_eq!(load.failed, Vec::<String>::new());
    assert!(refused > 0, "the disk was never full");
    until(&postgres.url(), HOLDS, 0).await;
    assert_eq!(number(&postgres.url(), GUESSED).await, 0);
    prove_at_the_end(&postgres.url()).await;
    drop(postgres);
}

/// Makes Postgres need a new file.
async fn switch_log(url: &str) -> Result<(), sqlx::Error> {
    use sqlx::Connection;
    let mut owner = sqlx::PgConnection::connect(url).await?;
    sqlx::raw_sql(
        "create table if not exists filling (it text); insert into filling values ('x');
        select pg_switch_wal()",
    )
    .execute(&mut owner)
    .await?;
    Ok(())
}
