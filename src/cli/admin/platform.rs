//! The first key of an installation, which no service can be asked for.

use clap::Args;

use super::super::{record::Record, stop::Stop};
use crate::{
    admin,
    clock::Clock,
    store::{self, Store},
};

/// The arguments of `platform-key`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Then, with the key that is printed:
  bursar admin tenant create --display-name Acme --currency EUR --key KEY --endpoint URL")]
pub struct PlatformKey {
    /// Where Postgres is, as a user that is granted bursar_app
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    database_url: String,
}

/// Makes a key. It is shown this once.
pub(super) async fn make(args: &PlatformKey) -> Result<Record, Stop> {
    let settings = store::Settings {
        url: args.database_url.clone(),
        call_connections: 1,
        report_connections: 1,
    };
    let failed = |it: String| Stop::new(format!("making a platform key: {it}"));
    let store = Store::open(&settings).map_err(|it| failed(it.to_string()))?;
    let key = admin::platform_key(&store, &Clock::default()).await;
    store.close().await;
    let key = key.map_err(|it| failed(it.to_string()))?;
    Ok(Record::new().with("role", "PLATFORM".to_owned()).with("key", key.reveal().to_owned()))
}
