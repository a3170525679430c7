//! Which service a command talks to, and as whom.

use std::{
    env, fs,
    io::Read,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Deserialize;

use super::stop::Stop;
use crate::client::Client;

/// The most that is read of a ready file, in bytes.
const READY_BYTES_MAX: u64 = 64 * 1024;

/// Where the service is and which key opens it.
#[derive(Debug, Clone, Default, Args)]
pub struct Target {
    /// The service's gRPC address; without it, the running `bursar dev`
    #[arg(
        long,
        global = true,
        env = "BURSAR_ENDPOINT",
        value_name = "URL",
        help_heading = "Connection"
    )]
    pub endpoint: Option<String>,
    /// The API key; without it, the one that `bursar dev` made for this command
    #[arg(
        long,
        global = true,
        env = "BURSAR_KEY",
        value_name = "KEY",
        hide_env_values = true,
        help_heading = "Connection"
    )]
    pub key: Option<String>,
}

/// What every command that talks to a service takes.
#[derive(Debug, Clone, Default, Args)]
pub struct Common {
    /// Where to.
    #[command(flatten)]
    pub target: Target,
    /// Print JSON in place of what is for people
    #[arg(long, global = true)]
    pub json: bool,
}

/// The role whose key a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Sampling and envelopes.
    Host,
    /// The ledger.
    Finance,
    /// Administration.
    Operator,
}

/// Where a command goes, decided.
#[derive(Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The gRPC address.
    pub endpoint: String,
    /// The key.
    pub key: String,
    /// Whose sampling it is unless a flag says otherwise; only from a ready file.
    pub user: Option<String>,
    /// The server to sample for unless a flag says otherwise; only from a ready file.
    pub server: Option<String>,
}

/// What a running `bursar dev` leaves in its data directory.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Ready {
    grpc: String,
    host_key: String,
    operator_key: String,
    finance_key: String,
    user: String,
    server: String,
}

impl Target {
    /// Decides from flags, environment and ready file, and connects.
    pub(super) async fn connect(self, role: Role) -> Result<(Client, Resolved), Stop> {
        let resolved = self.resolve(role, Ready::find().as_ref())?;
        let client = Client::connect(&resolved.endpoint, &resolved.key).await?;
        Ok((client, resolved))
    }

    /// What was given wins. The ready file's key, user and server are used only
    /// at its own address, so that they are never shown to another service.
    pub fn resolve(self, role: Role, ready: Option<&Ready>) -> Result<Resolved, Stop> {
        let given = |it: Option<String>| it.filter(|it| !it.trim().is_empty());
        let (endpoint, key) = (given(self.endpoint), given(self.key));
        if let Some(bare) =
            endpoint.as_deref().filter(|it| !it.contains("://") && !it.contains('@'))
        {
            return Err(Stop::new(format!(
                "the endpoint lacks http:// or https://: give --endpoint http://{bare}"
            )));
        }
        let same = |it: &&Ready| {
            let trimmed = |it: &str| it.trim_end_matches('/').to_owned();
            endpoint.as_deref().is_none_or(|given| trimmed(given) == trimmed(&it.grpc))
        };
        let ready = ready.filter(same);
        let endpoint = endpoint.or_else(|| ready.map(|it| it.grpc.clone()));
        let key = key.or_else(|| ready.map(|it| it.key(role).to_owned()));
        match (endpoint, key) {
            (Some(endpoint), Some(key)) => Ok(Resolved {
                endpoint,
                key,
                user: ready.map(|it| it.user.clone()),
                server: ready.map(|it| it.server.clone()),
            }),
            (None, _) => Err(Stop::new(
                "no service to talk to: start one with `bursar dev`, or give --endpoint URL and \
                 --key KEY (or BURSAR_ENDPOINT and BURSAR_KEY)",
            )),
            (Some(_), None) => Err(Stop::new(format!(
                "no key for this endpoint: give --key KEY or BURSAR_KEY, with the role {}",
                role.name()
            ))),
        }
    }
}

impl Resolved {
    /// The user of the flag, or the ready file's.
    pub(super) fn user(&self, flag: Option<&str>) -> Result<String, Stop> {
        chosen(flag, self.user.as_ref(), "--user ID: on whose behalf")
    }

    /// The server of the flag, or the ready file's.
    pub(super) fn server(&self, flag: Option<&str>) -> Result<String, Stop> {
        chosen(flag, self.server.as_ref(), "--server ID: in which MCP server's name")
    }
}

fn chosen(flag: Option<&str>, default: Option<&String>, what: &str) -> Result<String, Stop> {
    let chosen = flag.map(str::to_owned).or_else(|| default.cloned());
    chosen.ok_or_else(|| Stop::new(format!("give {what}")))
}

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Finance => "finance",
            Self::Operator => "operator",
        }
    }
}

impl Ready {
    /// Reads a ready file's text.
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The file in the default data directory, where there is a readable one.
    fn find() -> Option<Self> {
        Self::read(&data_dir()?.join("ready.json"))
    }

    fn read(path: &Path) -> Option<Self> {
        let mut text = String::new();
        let file = fs::File::open(path).ok()?;
        file.take(READY_BYTES_MAX).read_to_string(&mut text).ok()?;
        Self::from_json(&text)
    }

    fn key(&self, role: Role) -> &str {
        match role {
            Role::Host => &self.host_key,
            Role::Finance => &self.finance_key,
            Role::Operator => &self.operator_key,
        }
    }
}

/// The default data directory of `bursar dev`: `BURSAR_DATA_DIR` where set, else
/// `/var/lib/bursar` for root, else under the user's data folder.
pub fn data_dir() -> Option<PathBuf> {
    let is_root = nix::unistd::geteuid().is_root();
    data_dir_of(is_root, |name| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from))
}

/// The same, from what it depends on.
pub fn data_dir_of(is_root: bool, variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let own = || {
        let data = variable("XDG_DATA_HOME").filter(|it| it.is_absolute());
        Some(data.or_else(|| Some(variable("HOME")?.join(".local/share")))?.join("bursar"))
    };
    let default = || if is_root { Some(PathBuf::from("/var/lib/bursar")) } else { own() };
    variable("BURSAR_DATA_DIR").or_else(default)
}
