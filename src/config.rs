//! What a service is told: one small struct a concern, from a file and the
//! environment, the environment winning.

use std::{fmt, net::SocketAddr, num::NonZeroU32, path::Path};

use anyhow::{Context, Result};
use figment::{
    Figment,
    providers::{Env, Format, Toml},
};
use serde::Deserialize;

/// Everything. Unknown keys are refused, so that a typing error is not a default.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where Postgres is, as `postgresql://...`; also `DATABASE_URL`.
    #[serde(default)]
    pub database_url: String,
    /// Where gRPC is served.
    #[serde(default = "Config::grpc")]
    pub grpc: SocketAddr,
    /// Where HTTP is served: health.
    #[serde(default = "Config::http")]
    pub http: SocketAddr,
    /// Lanes of the budget engine, each with a connection of its own. None: as many as
    /// are good for `lane_tenants`.
    #[serde(default)]
    pub lanes: Option<u32>,
    /// Whether one transaction of a lane may write for several tenants.
    #[serde(default)]
    pub lane_tenants: LaneTenants,
    /// Connections for calls besides those of the lanes.
    #[serde(default = "Config::call_connections")]
    pub call_connections: u32,
    /// Connections for reports and administration.
    #[serde(default = "Config::report_connections")]
    pub report_connections: u32,
    /// Requests per second of one key before some are shed.
    #[serde(default = "Config::per_key")]
    pub requests_per_key: NonZeroU32,
    /// Requests per second of one server before some are shed.
    #[serde(default = "Config::per_key")]
    pub requests_per_server: NonZeroU32,
    /// Mebibytes of request bodies that may be under way at once.
    #[serde(default = "Config::body_mib")]
    pub body_mib_in_flight: u32,
    /// How long running calls may go on once the process is told to end.
    #[serde(default = "Config::drain_seconds")]
    pub drain_seconds: u64,
    /// How long a user may think about a question, in seconds, 1 to 3,600.
    #[serde(default = "Config::question_seconds")]
    pub question_seconds: u32,
    /// Seals the replies that are kept for repeated requests, and questions to users: 32
    /// bytes in base64, or up to four such separated by commas, the newest first. Without
    /// it none are kept and nobody is asked.
    #[serde(default)]
    pub vault_key: Option<Secret>,
    /// Whether the scripted backend may be used. Never in production.
    #[serde(default)]
    pub scripted_backend: bool,
    /// The names that HTTP requests may be sent to, as in their `Host`, without a port.
    /// None: any, or on a loopback address that machine's own names alone, so that no web
    /// page can have a browser talk to it under a name of its own.
    #[serde(default)]
    pub http_hosts: Vec<String>,
    /// Hosts of backends that may be at private addresses, without a port; `*`: all. None:
    /// only public ones.
    #[serde(default)]
    pub private_hosts: Vec<String>,
    /// To which host each key of backends goes, such as `BURSAR_BACKEND_EU=llm.example.org`.
    /// Those of OpenAI and Anthropic go to their makers unless named.
    #[serde(default)]
    pub key_hosts: Vec<String>,
}

/// How many tenants one transaction of a lane writes for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LaneTenants {
    /// All that wait: the fewest commits, for a database on one machine.
    #[default]
    Many,
    /// One: for a database that is distributed by tenant, where a transaction on
    /// several nodes costs more than several transactions.
    One,
}

/// A text that is not shown.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(it: String) -> Self {
        Self(it)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Config {
    /// Reads a TOML file, where there is one, and what `env` knows.
    pub fn read(file: Option<&Path>, database_url: Option<String>) -> Result<Self> {
        let figment = file.map_or_else(Figment::new, |it| Figment::from(Toml::file_exact(it)));
        let figment = figment.merge(Env::raw().only(&["DATABASE_URL"])).merge(
            Env::prefixed("BURSAR_").only(&[
                "grpc",
                "http",
                "lanes",
                "lane_tenants",
                "call_connections",
                "report_connections",
                "requests_per_key",
                "requests_per_server",
                "body_mib_in_flight",
                "drain_seconds",
                "question_seconds",
                "vault_key",
                "scripted_backend",
                "http_hosts",
                "private_hosts",
                "key_hosts",
            ]),
        );
        let given = database_url.map(|it| ("database_url", it));
        let figment = given.into_iter().fold(figment, |all, it| all.merge(it));
        let config: Self = figment.extract().context("the configuration")?;
        anyhow::ensure!(
            !config.database_url.is_empty(),
            "database_url is missing: set DATABASE_URL or --database-url, or name it in the file"
        );
        anyhow::ensure!(
            (1..=3_600).contains(&config.question_seconds),
            "question_seconds must be from 1 to 3600"
        );
        Ok(config)
    }

    /// The defaults, for a database.
    pub fn of(database_url: String, grpc: SocketAddr, http: SocketAddr) -> Self {
        Self {
            database_url,
            grpc,
            http,
            lanes: None,
            lane_tenants: LaneTenants::default(),
            call_connections: Self::call_connections(),
            report_connections: Self::report_connections(),
            requests_per_key: Self::per_key(),
            requests_per_server: Self::per_key(),
            body_mib_in_flight: Self::body_mib(),
            drain_seconds: Self::drain_seconds(),
            question_seconds: Self::question_seconds(),
            vault_key: None,
            scripted_backend: false,
            http_hosts: Vec::new(),
            private_hosts: Vec::new(),
            key_hosts: Vec::new(),
        }
    }

    /// On every address, as a service does.
    fn grpc() -> SocketAddr {
        SocketAddr::from(([0, 0, 0, 0], 7420))
    }

    fn http() -> SocketAddr {
        SocketAddr::from(([0, 0, 0, 0], 7421))
    }

    /// How many lanes there are to be.
    pub fn lane_count(&self) -> u32 {
        self.lanes.unwrap_or(match self.lane_tenants {
            // Few, for then much waits for each and is committed at once.
            LaneTenants::Many => 2,
            // Many, for commits of different tenants are to wait side by side.
            LaneTenants::One => 32,
        })
    }

    const fn call_connections() -> u32 {
        16
    }

    const fn report_connections() -> u32 {
        4
    }

    fn per_key() -> NonZeroU32 {
        NonZeroU32::MIN.saturating_add(1_999)
    }

    const fn body_mib() -> u32 {
        512
    }

    const fn drain_seconds() -> u64 {
        20
    }

    const fn question_seconds() -> u32 {
        300
    }
}
