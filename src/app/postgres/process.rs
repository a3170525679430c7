//! The server as a process: made, started, watched and stopped.

use std::{
    fs::{self, File},
    io,
    os::unix::{net::UnixStream, process::CommandExt},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{Options, PORT, USER, binaries::Binaries, place::Place};

/// Recovery after a crash is part of a start.
const START_TIME_MAX: Duration = Duration::from_mins(2);
/// For the checkpoint of a shutdown; then once more for one without.
const STOP_TIME_MAX: Duration = Duration::from_secs(15);
const STEP: Duration = Duration::from_millis(10);
const WATCH: Duration = Duration::from_millis(500);
/// How much of a program's complaint an error repeats.
const COMPLAINT_BYTES_MAX: usize = 400;

/// A running server, held by a thread of its own: the kernel's word that a
/// parent died is about the thread that spawned the child.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) pid: u32,
    /// Dropped to say stop.
    stop: Option<mpsc::SyncSender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts the server of a made cluster; returns when it takes connections.
    pub(super) fn start(binaries: &Binaries, place: &Place, options: &Options) -> Result<Self> {
        let command = server_command(binaries, place, options)?;
        let (stop, stopped) = mpsc::sync_channel(0);
        let (spawned, started) = mpsc::sync_channel(1);
        let keeper = thread::Builder::new()
            .name("postgres-keeper".to_owned())
            .spawn(move || keep(command, &spawned, &stopped))?;
        let pid = started.recv().context("the keeper of Postgres ended")?;
        let pid = pid.with_context(|| format!("running {}", binaries.dir.display()))?;
        let server = Self { pid, stop: Some(stop), keeper: Some(keeper) };
        server.await_ready(place)?;
        Ok(server)
    }

    fn await_ready(&self, place: &Place) -> Result<()> {
        let socket = place.socket.join(format!(".s.PGSQL.{PORT}"));
        let ended = || self.keeper.as_ref().is_none_or(JoinHandle::is_finished);
        let ready = until(START_TIME_MAX, || {
            if ended() {
                let log = fs::read(&place.log).unwrap_or_default();
                bail!("Postgres ended at its start: {}", one_line(&log));
            }
            let ours = status(&place.data).is_some_and(|it| it == (self.pid, true));
            Ok((ours && UnixStream::connect(&socket).is_ok()).then_some(()))
        })?;
        ready.with_context(|| {
            format!(
                "Postgres takes no connections after {} s: see {}",
                START_TIME_MAX.as_secs(),
                place.log.display()
            )
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(keeper) = self.keeper.take() {
            // It only waits and signals; there is nobody to tell of a failure.
            let _ = keeper.join();
        }
    }
}

/// Makes the cluster, whole or not at all.
pub(super) fn make(binaries: &Binaries, place: &Place, durable: bool) -> Result<()> {
    let new = place.data.with_extension("new");
    if new.exists() {
        fs::remove_dir_all(&new)?;
    }
    let mut initdb = as_servant(&binaries.dir.join("initdb"), place);
    initdb.arg("--pgdata").arg(&new).args(["--username", USER, "--auth", "trust"]);
    initdb.args(["--encoding", "UTF8", "--locale", "C", "--no-instructions"]);
    if !durable {
        initdb.arg("--no-sync");
    }
    let output = initdb.output().with_context(|| {
        format!("running initdb of {}; as root, another user runs it", binaries.dir.display())
    })?;
    if !output.status.success() {
        bail!("initdb: {}", one_line(&output.stderr));
    }
    fs::rename(&new, &place.data)?;
    Ok(())
}

fn server_command(binaries: &Binaries, place: &Place, options: &Options) -> Result<Command> {
    let sync = if options.durable { "on" } else { "off" };
    let socket = place.socket.to_str().context("the path of the socket is not UTF-8")?;
    let ours = [
        ("listen_addresses", ""),
        ("port", PORT),
        ("unix_socket_directories", socket),
        ("unix_socket_permissions", "0700"),
        ("max_connections", "200"),
        ("shared_buffers", "128MB"),
        ("timezone", "UTC"),
        ("log_timezone", "UTC"),
        ("fsync", sync),
        ("full_page_writes", sync),
        // Statements and rows are nobody's business in a log.
        ("log_min_error_statement", "panic"),
        ("log_error_verbosity", "terse"),
    ];
    let mut command = as_servant(&binaries.dir.join("postgres"), place);
    command.arg("-D").arg(&place.data);
    let theirs = options.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in ours.into_iter().chain(theirs) {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    // An interrupt from the terminal is for us: we stop the server when drained.
    command.process_group(0);
    command.stdout(Stdio::null()).stderr(File::create(&place.log)?);
    die_with_parent(&mut command)?;
    Ok(command)
}

/// Elsewhere than on Linux a killed parent leaves an orphan, which the next
/// start ends.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
fn die_with_parent(_: &mut Command) -> Result<()> {
    Ok(())
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "only a hook between fork and exec can tie the server to us")]
fn die_with_parent(command: &mut Command) -> Result<()> {
    let parent = raw(std::process::id())?;
    let hook = move || {
        nix::sys::prctl::set_pdeathsig(Signal::SIGINT)?;
        // Died in between: nobody would send the signal any more.
        if nix::unistd::getppid() == parent { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    };
    // SAFETY: the hook makes two system calls and allocates nothing.
    unsafe { command.pre_exec(hook) };
    Ok(())
}

/// The keeper's life: spawn, say so, wait for the word or the end, stop.
fn keep(
    mut command: Command,
    spawned: &mpsc::SyncSender<io::Result<u32>>,
    stopped: &mpsc::Receiver<()>,
) {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(why) => {
            // The starter waits for exactly this word.
            let _ = spawned.send(Err(why));
            return;
        }
    };
    let _ = spawned.send(Ok(child.id()));
    loop {
        match stopped.recv_timeout(WATCH) {
            Err(RecvTimeoutError::Timeout) => {
                if let Ok(Some(status)) = child.try_wait() {
                    tracing::error!(%status, "the private Postgres ended by itself");
                    return;
                }
            }
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return stop(&mut child),
        }
    }
}

/// Fast shutdown, then immediate, then the end.
fn stop(child: &mut Child) {
    for signal in [Signal::SIGINT, Signal::SIGQUIT] {
        // A child that is not waited for yet keeps its id, so this hits no other.
        let _ = raw(child.id()).map(|pid| kill(pid, signal));
        if let Ok(Some(_)) = until(STOP_TIME_MAX, || Ok(child.try_wait()?)) {
            return;
        }
        tracing::warn!(%signal, "the private Postgres does not stop");
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Deals with a `postmaster.pid` left behind. We hold the lock of the place, so
/// a server that still runs there is an orphan and is stopped; a number that by
/// now is some other process's is removed, or the server would refuse to start.
pub(super) fn end_orphan(data: &Path) -> Result<()> {
    let Some((pid, _)) = status(data) else { return Ok(()) };
    if runs_in(pid, data) {
        match kill(raw(pid)?, Signal::SIGINT) {
            // ESRCH: it went by itself in between.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(why) => return Err(why).context("stopping the Postgres of an earlier run"),
        }
        let gone = until(STOP_TIME_MAX, || Ok((!runs_in(pid, data)).then_some(())))?;
        gone.with_context(|| {
            format!("an earlier Postgres (process {pid}) still runs in {}", data.display())
        })?;
    }
    match fs::remove_file(data.join("postmaster.pid")) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The process in `postmaster.pid`, and whether it says of itself that it is ready.
fn status(data: &Path) -> Option<(u32, bool)> {
    let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let mut lines = text.lines();
    let pid = lines.next()?.trim().parse().ok()?;
    Some((pid, lines.nth(6).is_some_and(|it| it.trim() == "ready")))
}

/// Whether this process is a server of these data, by its command line.
fn runs_in(pid: u32, data: &Path) -> bool {
    let line = if cfg!(target_os = "linux") {
        fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()
    } else {
        let mut ps = command(Path::new("ps"));
        ps.args(["-o", "args=", "-p", &pid.to_string()]);
        ps.output().map(|it| it.stdout).unwrap_or_default()
    };
    let line = String::from_utf8_lossy(&line);
    line.contains("postgres") && data.to_str().is_some_and(|it| line.contains(it))
}

/// Looks until there is something, for about this long.
pub(super) fn until<T>(
    limit: Duration,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
    let mut waited = Duration::ZERO;
    loop {
        if let Some(seen) = look()? {
            return Ok(Some(seen));
        }
        if waited >= limit {
            return Ok(None);
        }
        thread::sleep(STEP);
        waited += STEP;
    }
}

/// A program that sees nothing of our environment: no key, no `PG*` variable.
pub(super) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("LC_ALL", "C");
    command.current_dir("/").stdin(Stdio::null());
    command
}

fn as_servant(program: &Path, place: &Place) -> Command {
    let mut command = command(program);
    if let Some((uid, gid)) = place.servant {
        command.uid(uid.as_raw()).gid(gid.as_raw());
    }
    command
}

fn raw(pid: u32) -> Result<Pid> {
    Ok(Pid::from_raw(i32::try_from(pid)?))
}

/// The end of a complaint, on one line.
pub(super) fn one_line(bytes: &[u8]) -> String {
    let from = bytes.len().saturating_sub(COMPLAINT_BYTES_MAX);
    let text = String::from_utf8_lossy(&bytes[from..]);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
