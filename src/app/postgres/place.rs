//! Where a cluster lives: who owns it, who may use it now, and a socket path
//! that fits into a socket address.

use std::{
    env,
    fs::{self, File, Permissions, TryLockError},
    hash::{DefaultHasher, Hash, Hasher},
    io::Write,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use nix::unistd::{Gid, Uid, User};

use super::process;

/// The longest path in a `sockaddr_un`, without its closing zero; 103 elsewhere.
const SOCKET_PATH_MAX: usize = if cfg!(target_os = "linux") { 107 } else { 103 };
/// A killed owner's last child may hold the lock for a moment more.
const LOCK_TIME_MAX: Duration = Duration::from_millis(500);
const SOCKET_NAME: &str = ".s.PGSQL.5432";
/// Whom root becomes, the first that exists: the server refuses to run as root.
const SERVANTS: [&str; 2] = ["postgres", "nobody"];

/// A data directory that is ours alone for as long as this lives.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) data: PathBuf,
    pub(super) socket: PathBuf,
    pub(super) log: PathBuf,
    pub(super) packages: PathBuf,
    /// Whom to become for the server; absent where we are no root.
    pub(super) servant: Option<(Uid, Gid)>,
    /// Held open: the kernel frees it however we end.
    lock: File,
}

impl Place {
    /// Makes what is missing of `dir` and claims it.
    pub(super) fn claim(dir: &Path) -> Result<Self> {
        let servant = servant()?;
        make(dir).with_context(|| format!("making {}", dir.display()))?;
        let dir = dir.canonicalize().with_context(|| format!("opening {}", dir.display()))?;
        let lock = lock(&dir)?;
        if let Some(servant) = servant {
            traversable(&dir, servant)?;
        }
        let own = dir.join("postgres");
        private(&own, servant)?;
        let socket = socket_dir(&own);
        private(&socket, servant)?;
        Ok(Self {
            data: own.join("data"),
            log: own.join("log"),
            packages: dir.join("packages"),
            socket,
            servant,
            lock,
        })
    }

    /// The major version that made the cluster; none when there is none yet.
    pub(super) fn major(&self) -> Result<Option<u32>> {
        let file = self.data.join("PG_VERSION");
        if !file.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&file)?;
        let major = text.trim().parse();
        Ok(Some(major.with_context(|| format!("{} holds no version", file.display()))?))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Closing is not enough: a child that another thread has just forked keeps
        // a copy until its exec. When it fails, the kernel frees it all the same.
        let _ = self.lock.unlock();
        if Some(self.socket.as_path()) != self.data.parent() {
            // Left behind it does no harm: the next start uses it again.
            let _ = fs::remove_dir_all(&self.socket);
        }
    }
}

fn servant() -> Result<Option<(Uid, Gid)>> {
    if !Uid::effective().is_root() {
        return Ok(None);
    }
    let found = SERVANTS.iter().find_map(|it| User::from_name(it).ok().flatten());
    let found = found.context(
        "Postgres refuses to run as root, and there is no user postgres or nobody to become: \
         add one, or run as another user",
    )?;
    Ok(Some((found.uid, found.gid)))
}

/// Makes what is missing of the way, so that the servant can pass through it
/// whatever the umask says.
fn make(dir: &Path) -> std::io::Result<()> {
    let missing = |it: &&Path| !it.as_os_str().is_empty() && !it.exists();
    let missing: Vec<_> = dir.ancestors().take_while(missing).collect();
    fs::create_dir_all(dir)?;
    missing.iter().try_for_each(|it| fs::set_permissions(it, Permissions::from_mode(0o711)))
}

fn lock(dir: &Path) -> Result<File> {
    let path = dir.join("lock");
    let mut file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .with_context(|| format!("writing {}", path.display()))?;
    let locked = process::until(LOCK_TIME_MAX, || match file.try_lock() {
        Ok(()) => Ok(Some(())),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(why)) => {
            Err(why).with_context(|| format!("locking {}", path.display()))
        }
    })?;
    if locked.is_none() {
        let owner = fs::read_to_string(&path).unwrap_or_default();
        bail!(
            "the data directory {} is in use by another bursar (process {}): stop that one, \
             or give --data-dir another directory",
            dir.display(),
            owner.trim()
        );
    }
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())?;
    Ok(file)
}

/// Whether the servant gets as far as `dir`, by the mode bits of the way.
fn traversable(dir: &Path, (uid, gid): (Uid, Gid)) -> Result<()> {
    for step in dir.ancestors() {
        let meta = fs::metadata(step)?;
        let bit = match (meta.uid() == uid.as_raw(), meta.gid() == gid.as_raw()) {
            (true, _) => 0o100,
            (false, true) => 0o010,
            (false, false) => 0o001,
        };
        ensure!(
            meta.mode() & bit != 0,
            "as root the private Postgres runs as another user, who cannot pass through {}: \
             chmod o+x it, or give --data-dir another directory",
            step.display()
        );
    }
    Ok(())
}

/// The socket lies beside the data where that path will do, else in a directory
/// of the same name each time, so that a crash leaves no pile of them.
fn socket_dir(own: &Path) -> PathBuf {
    if will_do(own) {
        return own.to_owned();
    }
    let mut hasher = DefaultHasher::new();
    own.hash(&mut hasher);
    let name = format!("bursar-{:016x}", hasher.finish());
    let short = env::temp_dir().join(&name);
    if will_do(&short) { short } else { Path::new("/tmp").join(name) }
}

/// Whether it fits into a socket address, and holds nothing that the server's
/// or a client's list of directories would take for more than a name.
fn will_do(dir: &Path) -> bool {
    let path = dir.join(SOCKET_NAME);
    let bytes = path.as_os_str().as_bytes();
    let plain = |it: &u8| it.is_ascii_alphanumeric() || b"/-_.~+".contains(it);
    bytes.len() <= SOCKET_PATH_MAX && bytes.iter().all(plain)
}

/// A directory that only the server's user may enter. One that somebody else has
/// put there first is refused, links included.
fn private(dir: &Path, servant: Option<(Uid, Gid)>) -> Result<()> {
    let (uid, gid) = servant.unwrap_or((Uid::effective(), Gid::effective()));
    match fs::DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => nix::unistd::chown(dir, Some(uid), Some(gid))?,
        Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(why) => return Err(why).with_context(|| format!("making {}", dir.display())),
    }
    let meta = fs::symlink_metadata(dir)?;
    ensure!(
        meta.is_dir() && meta.uid() == uid.as_raw(),
        "{} is not a directory of the user {uid} whom Postgres runs as: remove it, \
         or give --data-dir another directory",
        dir.display()
    );
    fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_or_odd_data_path_gets_a_short_socket() {
        let short = Path::new("/var/lib/bursar/postgres");
        assert_eq!(socket_dir(short), short);
        let long = PathBuf::from(format!("/{}", "a".repeat(120)));
        let socket = socket_dir(&long);
        assert!(will_do(&socket));
        assert_eq!(socket, socket_dir(&long));
        assert_ne!(socket, socket_dir(&long.join("b")));
        assert!(will_do(&socket_dir(Path::new("/a, b/postgres"))));
    }
}
