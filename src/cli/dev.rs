//! `bursar dev`: everything on this machine, ready to try.

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::Args;

use super::{
    logs,
    output::{Output, Tone},
    stop::Stop,
    target,
};
use crate::{
    admin::demo::{self, Extra},
    app::{
        dev::{self, Wish},
        signals,
    },
    domain::price::{Price, Prices},
};

/// The arguments of `dev`.
#[derive(Debug, Clone, Args)]
pub struct Dev {
    /// Where gRPC is served; port 0: any
    #[arg(long, default_value = "127.0.0.1:7420", value_name = "ADDR")]
    grpc: SocketAddr,
    /// Where HTTP is served; port 0: any
    #[arg(long, default_value = "127.0.0.1:7421", value_name = "ADDR")]
    http: SocketAddr,
    /// Where the data lives [default: in your data folder, /var/lib/bursar for root]
    #[arg(long, env = "BURSAR_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Write addresses and keys here as JSON once everything is ready
    #[arg(long, value_name = "PATH")]
    ready_file: Option<PathBuf>,
    /// The real backend to offer besides the scripted one
    #[command(flatten)]
    backend: BackendArgs,
}

/// A real backend. All four or none: a model without a price is never used.
#[derive(Debug, Clone, Args)]
#[group(multiple = true)]
struct BackendArgs {
    /// An OpenAI-compatible server to ask, up to and including /v1; its key comes
    /// from OPENAI_API_KEY
    #[arg(long, value_name = "URL", requires_all = ["backend_model", "price_input", "price_output"])]
    backend_url: Option<String>,
    /// The model to ask there
    #[arg(long, value_name = "NAME", requires = "backend_url")]
    backend_model: Option<String>,
    /// USD per million tokens of its prompts; free is said as 0
    #[arg(long, value_name = "USD", requires = "backend_url")]
    price_input: Option<String>,
    /// USD per million tokens of its answers; free is said as 0
    #[arg(long, value_name = "USD", requires = "backend_url")]
    price_output: Option<String>,
}

pub(super) async fn run(args: Dev, output: &mut Output<'_>) -> Result<ExitCode, Stop> {
    logs::start("bursar=warn,sqlx=error");
    let no_folder = || Stop::new("no data folder is known here: give --data-dir DIR");
    let wish = Wish {
        data_dir: args.data_dir.or_else(target::data_dir).ok_or_else(no_folder)?,
        ready_file: args.ready_file,
        grpc: args.grpc,
        http: args.http,
        extra: args.backend.read()?,
    };
    let data_dir = wish.data_dir.display().to_string();
    let extra = wish.extra.as_ref().map(|it| it.model.clone());
    let mut dev = dev::start(wish).await.map_err(|it| Stop::new(format!("{it:#}")))?;
    let welcome = welcome(&dev, &data_dir, extra.as_deref(), output);
    output.write(&welcome)?;
    let broken = tokio::select! {
        asked = signals::asked_to_end() => asked.err(),
        broken = dev.running.broken() => broken.err(),
    };
    dev.stop().await;
    match broken {
        None => Ok(ExitCode::SUCCESS),
        Some(it) => Err(Stop::new(format!("{it:#}"))),
    }
}

impl BackendArgs {
    fn read(self) -> Result<Option<Extra>, Stop> {
        let (Some(base_url), Some(model), Some(input), Some(output)) =
            (self.backend_url, self.backend_model, self.price_input, self.price_output)
        else {
            return Ok(None);
        };
        let price = |flag: &str, text: &str| {
            text.parse::<Price>().map_err(|it| Stop::new(format!("{flag}: {it}")))
        };
        let (input, output) = (price("--price-input", &input)?, price("--price-output", &output)?);
        let prices = Prices::of(input, output);
        let has_key = std::env::var_os("OPENAI_API_KEY").is_some_and(|it| !it.is_empty());
        let base_url = base_url.trim_end_matches('/').to_owned();
        Ok(Some(Extra { base_url, model, prices, has_key }))
    }
}

/// How this program is called from the same folder, so that what is printed can be
/// pasted. Another data directory than the default one has to be named.
fn this_program(data_dir: &str) -> String {
    let program = std::env::current_exe().ok();
    let here = std::env::current_dir().ok();
    let short = program.as_deref().map(|program| {
        let inside = here.as_deref().and_then(|it| program.strip_prefix(it).ok());
        inside.unwrap_or(program).display().to_string()
    });
    let program = short.unwrap_or_else(|| "bursar".to_owned());
    let default = target::data_dir().map(|it| it.display().to_string());
    if default.as_deref() == Some(data_dir) {
        program
    } else {
        format!("BURSAR_DATA_DIR={data_dir} {program}")
    }
}

/// What to try next, ready to paste.
fn welcome(dev: &dev::Dev, data_dir: &str, extra: Option<&str>, output: &Output<'_>) -> String {
    let bold = |text: &str| output.toned(Tone::Good, text);
    let model = extra.map_or_else(
        || "scripted models; give --backend-url to ask a real one".to_owned(),
        |it| format!("{it}, and the scripted models"),
    );
    let bursar = this_program(data_dir);
    format!(
        "{}\n\n  gRPC   http://{}\n  HTTP   http://{}\n  data   {data_dir}\n  models {model}\n\n\
         {}\n\n  {bursar} sample \"Say hello\"\n  \
         {bursar} sample \"Count to ten\" --calls 2 --seconds 30 --money 0.01 --max-tokens 64\n  \
         {bursar} ledger query\n\n\
         In another terminal; as user {} of server {}. Ctrl-C ends everything.\n",
        bold("Bursar is ready."),
        dev.running.grpc,
        dev.running.http,
        bold("Try next:"),
        demo::USER,
        demo::SERVER,
    )
}
