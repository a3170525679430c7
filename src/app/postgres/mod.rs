//! A private Postgres: a cluster of one's own under a data directory, reached by
//! a unix socket that only its owner may open, and ended with the process.
//!
//! Everything here blocks; call it from a thread that may wait.

mod binaries;
mod place;
mod process;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use self::{binaries::Binaries, place::Place, process::Server};

/// The superuser of every private cluster.
pub const USER: &str = "bursar";
/// The port that names the socket's file. Nothing listens on TCP.
const PORT: &str = "5432";

/// How a private cluster is to be run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory that holds the cluster, its socket and its log. Made when
    /// missing; what else lies in it is left alone.
    pub dir: PathBuf,
    /// Whether a commit survives the machine's end, not only the server's. Off
    /// only for tests.
    pub durable: bool,
    /// More settings, as `postgres -c name=value`; they win over ours.
    pub settings: Vec<(String, String)>,
}

impl Options {
    /// A durable cluster in `dir`.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), durable: true, settings: Vec::new() }
    }
}

/// A running cluster. Dropping it stops the server, waiting for at most half a
/// minute; when the process is killed instead, the kernel stops the server.
#[derive(Debug)]
pub struct Cluster {
    // Stopped first, unlocked after.
    server: Server,
    place: Place,
    binaries: Binaries,
}

impl Cluster {
    /// Finds or fetches the binaries, makes the cluster when there is none, and
    /// starts it. An error is one line that says what to do.
    pub fn start(options: &Options) -> Result<Self> {
        let place = Place::claim(&options.dir)?;
        let binaries = Binaries::find_or_fetch(&place)?;
        process::end_orphan(&place.data)?;
        if place.major()?.is_none() {
            process::make(&binaries, &place, options.durable)?;
        }
        let server = Server::start(&binaries, &place, options)?;
        Ok(Self { server, place, binaries })
    }

    /// A URL of `database` that libpq, the drivers of other languages and sqlx
    /// read alike. It leaves nothing to the `PG*` variables of the environment.
    pub fn url(&self, database: &str) -> String {
        let socket = percent_encoded(&self.place.socket);
        format!("postgresql:///{database}?host={socket}&port={PORT}&user={USER}&sslmode=disable")
    }

    /// The directory of the unix socket.
    pub fn socket_dir(&self) -> &Path {
        &self.place.socket
    }

    /// The server's own log.
    pub fn log(&self) -> &Path {
        &self.place.log
    }

    /// The server's process id.
    pub fn pid(&self) -> u32 {
        self.server.pid
    }

    /// The major version that runs.
    pub fn major(&self) -> u32 {
        self.binaries.major
    }

    /// Makes a database, as a copy of `template` when one is named; nobody may be
    /// connected to the template.
    pub fn create_database(&self, name: &str, template: Option<&str>) -> Result<()> {
        let template = template.map(|it| format!("--template={it}"));
        self.client("createdb", template.as_slice(), name)
    }

    /// Makes a database unless it is there.
    pub fn ensure_database(&self, name: &str) -> Result<()> {
        match self.create_database(name, None) {
            Err(error) if format!("{error:#}").contains("already exists") => Ok(()),
            made => made,
        }
    }

    /// Drops a database, and whoever is still connected to it.
    pub fn drop_database(&self, name: &str) -> Result<()> {
        self.client("dropdb", &["--force".to_owned(), "--if-exists".to_owned()], name)
    }

    fn client(&self, program: &str, args: &[String], database: &str) -> Result<()> {
        ensure!(
            !database.is_empty()
                && database.len() <= 63
                && database.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_'),
            "the name of a database is 1 to 63 letters, digits and underscores"
        );
        let output = process::command(&self.binaries.dir.join(program))
            .arg("--host")
            .arg(&self.place.socket)
            .args(["--port", PORT, "--username", USER, "--no-password"])
            .args(["--maintenance-db", "postgres"])
            .args(args)
            .arg(database)
            .output()
            .with_context(|| format!("running {program}"))?;
        if !output.status.success() {
            bail!("{program}: {}", process::one_line(&output.stderr));
        }
        Ok(())
    }
}

/// Where server binaries are installed, if they are. Blocks.
pub fn installed() -> Option<PathBuf> {
    binaries::newest_installed()
}

/// A path as the value of a query parameter: only unreserved bytes stay.
fn percent_encoded(path: &Path) -> String {
    use std::{fmt::Write, os::unix::ffi::OsStrExt};
    path.as_os_str().as_bytes().iter().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(byte) {
            text.push(char::from(*byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_path_survives_the_url() {
        let check = |path: &str, expected: &str| {
            assert_eq!(percent_encoded(Path::new(path)), expected);
        };
        check("/tmp/a-b_c.d~e", "%2Ftmp%2Fa-b_c.d~e");
        check("/a b/&=?%/é", "%2Fa%20b%2F%26%3D%3F%25%2F%C3%A9");
    }
}
