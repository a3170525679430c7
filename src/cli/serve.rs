//! `bursar serve`, `bursar migrate` and `bursar doctor`: production.

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::Args;
use serde::Serialize;

use super::{
    logs,
    output::{Output, Tone, plain},
    stop::Stop,
};
use crate::{
    app::{doctor, service::Running, signals},
    config::Config,
    domain::fault::chain,
    store,
};

/// Where a configuration comes from.
#[derive(Debug, Clone, Args)]
struct From_ {
    /// A TOML file; environment variables win over it
    #[arg(long, env = "BURSAR_CONFIG", value_name = "PATH")]
    config: Option<PathBuf>,
    /// Where Postgres is
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    database_url: Option<String>,
}

/// The arguments of `serve`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The configuration file and the environment know, each with a good default but the first:
  database_url            DATABASE_URL                 postgresql://...
  grpc, http              BURSAR_GRPC, BURSAR_HTTP     0.0.0.0:7420, 0.0.0.0:7421
  lane_tenants            BURSAR_LANE_TENANTS          many; one where the database is
                                                       distributed by tenant
  lanes                   BURSAR_LANES                 2; 32 where lane_tenants is one
  call_connections        BURSAR_CALL_CONNECTIONS      16
  report_connections      BURSAR_REPORT_CONNECTIONS    4
  requests_per_key        BURSAR_REQUESTS_PER_KEY      2000 a second
  requests_per_server     BURSAR_REQUESTS_PER_SERVER   2000 a second
  body_mib_in_flight      BURSAR_BODY_MIB_IN_FLIGHT    512
  drain_seconds           BURSAR_DRAIN_SECONDS         20
  http_hosts              BURSAR_HTTP_HOSTS            []: any Host; a list of names: those
                                                       alone, besides the machine's own
  private_hosts           BURSAR_PRIVATE_HOSTS         []: backends are at public addresses;
                                                       a list of hosts that need not be
  key_hosts               BURSAR_KEY_HOSTS             []: the only host that each key is sent
                                                       to, [BURSAR_BACKEND_EU=llm.example.org];
                                                       OpenAI's and Anthropic's go to them
  question_seconds        BURSAR_QUESTION_SECONDS      300: how long a user may think about a
                                                       question
  vault_key               BURSAR_VAULT_KEY             none: 32 bytes in base64, or up to 4
                                                       with commas, the newest first
  scripted_backend        BURSAR_SCRIPTED_BACKEND      false; true lets prompts script their
                                                       answers: never in production

A request that bears a request_id is answered once: repeated within ten minutes it gets
the same reply and costs nothing. Replies are kept sealed with vault_key. Without one they
are not kept, and a repeated request ends as ABORTED, REQUEST_REPLY_NOT_KEPT. Questions to
users are sealed with it too: without one nobody is asked to extend an envelope.
`openssl rand -base64 32` makes a key; all replicas need the same.

Logs go to standard error; BURSAR_LOG chooses what, as in info or bursar=debug.")]
pub struct Serve {
    #[command(flatten)]
    from: From_,
    /// Where gRPC is served
    #[arg(long, value_name = "ADDR")]
    grpc: Option<SocketAddr>,
    /// Where HTTP is served
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
}

/// The arguments of `migrate`.
#[derive(Debug, Clone, Args)]
pub struct Migrate {
    /// Where Postgres is, as the owner of the schema and without a pooler in between
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    database_url: String,
}

/// The arguments of `doctor`.
#[derive(Debug, Clone, Args)]
pub struct Doctor {
    #[command(flatten)]
    from: From_,
    /// Print JSON in place of what is for people
    #[arg(long)]
    json: bool,
}

impl From_ {
    fn read(self) -> Result<Config, Stop> {
        Config::read(self.config.as_deref(), self.database_url)
            .map_err(|it| Stop::new(format!("{it:#}")))
    }
}

/// Runs the service until it is asked to end, then drains.
pub(super) async fn serve(args: Serve) -> Result<ExitCode, Stop> {
    logs::start("bursar=info,sqlx=error");
    let mut config = args.from.read()?;
    config.grpc = args.grpc.unwrap_or(config.grpc);
    config.http = args.http.unwrap_or(config.http);
    let failed = |it: anyhow::Error| Stop::new(format!("{it:#}"));
    let mut running = Running::start(&config).await.map_err(failed)?;
    tracing::info!(grpc = %running.grpc, http = %running.http, "serving");
    let broken = tokio::select! {
        asked = signals::asked_to_end() => asked.err(),
        broken = running.broken() => broken.err(),
    };
    running.stop().await;
    broken.map_or(Ok(ExitCode::SUCCESS), |it| Err(failed(it)))
}

/// Brings the schema up to date.
pub(super) async fn migrate(args: Migrate, output: &mut Output<'_>) -> Result<ExitCode, Stop> {
    let failed = |it: store::Error| Stop::new(format!("migrating: {}", chain(&it)));
    store::migrate(&args.database_url).await.map_err(failed)?;
    let (_, applied) = store::migrate::versions(&args.database_url).await.map_err(failed)?;
    output.write(&format!("The schema is up to date: {applied} migrations.\n"))?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Report<'a> {
    ok: bool,
    findings: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    ok: bool,
    detail: &'a str,
}

impl<'a> From<&'a doctor::Finding> for Line<'a> {
    fn from(it: &'a doctor::Finding) -> Self {
        Self { name: it.name, ok: it.ok, detail: &it.detail }
    }
}

/// Says what is wrong with a set-up; exit status 1 when something is.
pub(super) async fn doctor(args: Doctor, output: &mut Output<'_>) -> Result<ExitCode, Stop> {
    let for_service = args.from.config.is_some() || args.from.database_url.is_some();
    let config = if for_service { Some(args.from.read()?) } else { None };
    let findings = doctor::examine(config.as_ref()).await;
    let ok = findings.iter().all(|it| it.ok);
    if args.json {
        output.json(&Report { ok, findings: findings.iter().map(Line::from).collect() })?;
    } else {
        for it in &findings {
            let mark = if it.ok { "ok" } else { "PROBLEM" };
            let tone = if it.ok { Tone::Good } else { Tone::Bad };
            let line = format!("{:<9} {:<10} {}\n", mark, it.name, plain(&it.detail));
            output.write(&output.toned(tone, &line))?;
        }
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
