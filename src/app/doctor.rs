//! What is wrong with a set-up, each finding with its remedy.

use super::postgres;
use crate::{
    clock::Clock,
    config::Config,
    store::{self, Store},
};

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub name: &'static str,
    /// Whether it is as it should be.
    pub ok: bool,
    /// How it is, and what to do if it is not well.
    pub detail: String,
}

/// Looks at a set-up for `bursar serve`, or, without a configuration, for `bursar dev`.
pub async fn examine(config: Option<&Config>) -> Vec<Finding> {
    match config {
        None => vec![
            postgres_binaries().await,
            found("database_url", true, "not set: only what `bursar dev` needs was looked at"),
        ],
        Some(config) => {
            let mut findings = vec![schema(config).await];
            if let Ok(store) = settings(config) {
                findings.push(role(&store).await);
                findings.push(clocks(&store).await);
                store.close().await;
            }
            findings
        }
    }
}

fn found(name: &'static str, ok: bool, detail: impl Into<String>) -> Finding {
    Finding { name, ok, detail: detail.into() }
}

async fn postgres_binaries() -> Finding {
    let looked = tokio::task::spawn_blocking(postgres::installed).await;
    match looked {
        Ok(Some(it)) => found("postgres", true, format!("server binaries in {}", it.display())),
        Ok(None) | Err(_) => found(
            "postgres",
            false,
            "no server binaries of version 15 or later; `bursar dev` would fetch a package. \
             Debian: apt-get install postgresql; macOS: brew install postgresql@17",
        ),
    }
}

fn settings(config: &Config) -> Result<Store, store::Error> {
    Store::open(&store::Settings {
        url: config.database_url.clone(),
        call_connections: 1,
        report_connections: 1,
    })
}

async fn schema(config: &Config) -> Finding {
    match store::migrate::versions(&config.database_url).await {
        Ok((known, applied)) if i64::try_from(known) == Ok(applied) => {
            found("schema", true, format!("{applied} migrations"))
        }
        Ok((known, applied)) => found(
            "schema",
            false,
            format!("{applied} of {known} migrations are applied; run `bursar migrate`"),
        ),
        // An undefined table: nothing was ever migrated.
        Err(store::Error::Refused { code, .. }) if code.starts_with("42P01") => {
            found("schema", false, "the database has no schema; run `bursar migrate`")
        }
        Err(it) => found("database", false, format!("{it}; check DATABASE_URL")),
    }
}

async fn role(store: &Store) -> Finding {
    match store.is_bound_by_row_security().await {
        Ok(true) => found("role", true, "row-level security binds the service"),
        Ok(false) => found("role", false, "row-level security does not bind bursar_app"),
        Err(it) => found(
            "role",
            false,
            format!("{it}; the login role must be granted bursar_app and bursar_duty"),
        ),
    }
}

async fn clocks(store: &Store) -> Finding {
    match store.clock_ahead_ms(Clock::default().own_unix_ms()).await {
        Ok(ahead) if ahead.unsigned_abs() <= 1_000 => {
            found("clock", true, format!("{ahead} ms behind the database"))
        }
        Ok(ahead) => found(
            "clock",
            false,
            format!("{ahead} ms behind the database; run a time service on both"),
        ),
        Err(it) => found("clock", false, it.to_string()),
    }
}
