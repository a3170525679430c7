//! A private Postgres does what a person expects of it.

use std::{
    env, fs,
    os::unix::{fs::PermissionsExt, net::UnixStream, process::CommandExt},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use bursar::app::postgres::{Cluster, Options};
use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, Uid, User},
};
use sqlx::{Connection, PgConnection};

use super::support::{self, TempDir};

fn options(dir: &Path) -> Options {
    Options { durable: false, ..Options::new(dir) }
}

async fn answer(url: &str, sql: &'static str) -> String {
    let mut db = PgConnection::connect(url).await.unwrap();
    let answer = sqlx::query_scalar(sql).fetch_one(&mut db).await.unwrap();
    db.close().await.unwrap();
    answer
}

#[tokio::test]
async fn a_test_gets_a_database_of_its_own() {
    let (one, two) = (support::database(), support::database());
    let mut db = PgConnection::connect(&one.url).await.unwrap();
    sqlx::query("create table mine (id int)").execute(&mut db).await.unwrap();
    let there = "select (to_regclass('mine') is not null)::text";
    assert_eq!(answer(&one.url, there).await, "true");
    assert_eq!(answer(&two.url, there).await, "false");
    assert_eq!(answer(&one.url, "select current_user::text").await, "bursar");
}

#[tokio::test]
async fn what_was_written_is_there_after_a_restart() {
    let dir = TempDir::new("re, start %'é");
    let cluster = Cluster::start(&options(dir.path())).unwrap();
    cluster.ensure_database("demo").unwrap();
    cluster.ensure_database("demo").unwrap();
    let mut db = PgConnection::connect(&cluster.url("demo")).await.unwrap();
    sqlx::query("create table kept as select 'yes' as word").execute(&mut db).await.unwrap();
    // Dropped with a client still connected: it does not wait for it.
    drop(cluster);
    let cluster = Cluster::start(&options(dir.path())).unwrap();
    assert_eq!(answer(&cluster.url("demo"), "select word from kept").await, "yes");
}

#[tokio::test]
async fn psql_reads_the_same_url() {
    let db = support::database();
    let psql = Command::new("psql")
        .args([&db.url, "-Atc", "select current_database()"])
        .env("PGPORT", "1")
        .env("PGHOST", "/nowhere")
        .env("PGUSER", "nobody")
        .output();
    // A machine whose binaries came with a package has no psql on its path.
    let Ok(psql) = psql else { return };
    let name = String::from_utf8(psql.stdout).unwrap();
    assert!(db.url.contains(&format!("/{}?", name.trim())), "{name}");
}

#[test]
fn a_second_one_on_the_same_directory_is_told_so() {
    let dir = TempDir::new("second");
    let first = Cluster::start(&options(dir.path())).unwrap();
    let error = Cluster::start(&options(dir.path())).unwrap_err().to_string();
    let named = dir.path().canonicalize().unwrap();
    assert!(error.contains(named.to_str().unwrap()), "{error}");
    assert!(error.contains(&std::process::id().to_string()), "{error}");
    drop(first);
    Cluster::start(&options(dir.path())).unwrap();
}

#[test]
fn only_the_owner_gets_in_and_nothing_listens_on_tcp() {
    let dir = TempDir::new("private");
    let cluster = Cluster::start(&options(dir.path())).unwrap();
    let mode = fs::metadata(cluster.socket_dir()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let pid = fs::read_to_string(dir.path().join("postgres/data/postmaster.pid")).unwrap();
    assert_eq!(pid.lines().nth(5).map(str::trim), Some(""), "a TCP address: {pid}");
}

#[test]
fn a_long_path_still_gets_a_socket() {
    let dir = TempDir::new("long");
    let deep = dir.path().join("a".repeat(60)).join("b".repeat(60));
    let cluster = Cluster::start(&options(&deep)).unwrap();
    let socket = cluster.socket_dir().to_owned();
    assert!(!socket.starts_with(&deep));
    UnixStream::connect(socket.join(".s.PGSQL.5432")).unwrap();
    drop(cluster);
    assert!(!socket.exists(), "the short directory stays behind");
}

#[test]
fn a_stale_pid_file_is_no_obstacle() {
    let dir = TempDir::new("stale");
    drop(Cluster::start(&options(dir.path())).unwrap());
    // As after a crash in a container: the number is by now another process's.
    let file = dir.path().join("postgres/data/postmaster.pid");
    fs::write(&file, format!("{}\n", std::process::id())).unwrap();
    Cluster::start(&options(dir.path())).unwrap();
}

#[tokio::test]
async fn a_killed_server_recovers_at_the_next_start() {
    let dir = TempDir::new("crash");
    let cluster = Cluster::start(&options(dir.path())).unwrap();
    let mut db = PgConnection::connect(&cluster.url("postgres")).await.unwrap();
    sqlx::query("create table kept as select 'yes' as word").execute(&mut db).await.unwrap();
    kill(Pid::from_raw(cluster.pid().try_into().unwrap()), Signal::SIGKILL).unwrap();
    drop(cluster);
    let cluster = Cluster::start(&options(dir.path())).unwrap();
    assert_eq!(answer(&cluster.url("postgres"), "select word from kept").await, "yes");
}

/// Holds a cluster until it is killed. A test that does nothing unless it is the
/// child of the next one.
#[test]
fn holder() {
    let Some(dir) = env::var_os("BURSAR_TEST_HOLD") else { return };
    let cluster = Cluster::start(&options(Path::new(&dir))).unwrap();
    let (new, file) = (Path::new(&dir).join("pid.new"), Path::new(&dir).join("pid"));
    fs::write(&new, cluster.pid().to_string()).unwrap();
    fs::rename(new, file).unwrap();
    std::thread::sleep(Duration::from_mins(2));
}

fn hold(exe: &Path, dir: &Path, user: Option<User>) -> Child {
    let mut child = Command::new(exe);
    child.args(["--exact", "postgres::holder"]).env("BURSAR_TEST_HOLD", dir);
    child.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
    if let Some(user) = user {
        child.uid(user.uid.as_raw()).gid(user.gid.as_raw());
    }
    child.spawn().unwrap()
}

#[test]
fn the_server_dies_with_a_killed_parent_and_the_next_start_works() {
    let dir = TempDir::new("killed");
    let mut holder = hold(&env::current_exe().unwrap(), dir.path(), None);
    support::wait_for(|| dir.path().join("pid").exists());
    holder.kill().unwrap();
    holder.wait().unwrap();
    // At once, while the old server may still be shutting down.
    let cluster = Cluster::start(&options(dir.path())).unwrap();
    let old = fs::read_to_string(dir.path().join("pid")).unwrap();
    assert_ne!(old, cluster.pid().to_string());
    support::wait_for(|| !Path::new("/proc").join(&old).exists());
}

#[test]
fn an_ordinary_user_runs_it_too() {
    let nobody = User::from_name("nobody").unwrap();
    let (true, Some(nobody)) = (Uid::effective().is_root(), nobody) else {
        // Then every other test here is this one.
        return;
    };
    let dir = TempDir::new("user");
    nix::unistd::chown(dir.path(), Some(nobody.uid), Some(nobody.gid)).unwrap();
    // The test binary must be where that user can read it.
    let exe = dir.path().join("it");
    fs::copy(env::current_exe().unwrap(), &exe).unwrap();
    let mut holder = hold(&exe, dir.path(), Some(nobody));
    support::wait_for(|| dir.path().join("pid").exists());
    holder.kill().unwrap();
    holder.wait().unwrap();
}

#[test]
fn a_directory_that_root_alone_may_pass_is_named() {
    if !Uid::effective().is_root() {
        return;
    }
    let dir = TempDir::new("closed");
    let closed = dir.path().join("closed");
    fs::create_dir_all(closed.join("data")).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let error = Cluster::start(&options(&closed.join("data"))).unwrap_err().to_string();
    let named = closed.canonicalize().unwrap();
    assert!(error.contains(named.to_str().unwrap()), "{error}");
}
