//! The embedded default: a private Postgres, a demonstration, a running service.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow};
use serde_json::json;

use super::{
    postgres::{Cluster, Options},
    service::Running,
};
use crate::{
    admin::{
        demo::{self, Demo, Extra},
        prices::ship_prices,
    },
    config::Config,
    net, store,
    vault::Vault,
};

/// The database of the service in the private cluster.
const DATABASE: &str = "bursar";

/// What `bursar dev` is told.
#[derive(Debug, Clone)]
pub struct Wish {
    /// Where the cluster lives.
    pub data_dir: PathBuf,
    /// Where the ready file goes besides.
    pub ready_file: Option<PathBuf>,
    /// Where gRPC is served; port 0: any.
    pub grpc: std::net::SocketAddr,
    /// Where HTTP is served; port 0: any.
    pub http: std::net::SocketAddr,
    /// A server to be offered besides the scripted models.
    pub extra: Option<Extra>,
}

/// A running demonstration.
pub struct Dev {
    /// The service.
    pub running: Running,
    /// Its tenant and keys.
    pub demo: Demo,
    /// Its database.
    pub database_url: String,
    cluster: Cluster,
    ready_files: Vec<PathBuf>,
}

/// Starts everything and writes the ready files, last.
pub async fn start(wish: Wish) -> Result<Dev> {
    let options = Options::new(&wish.data_dir);
    let cluster = tokio::task::spawn_blocking(move || {
        let cluster = Cluster::start(&options)?;
        cluster.ensure_database(DATABASE)?;
        Ok::<_, anyhow::Error>(cluster)
    })
    .await
    .context("starting Postgres")??;
    let database_url = cluster.url(DATABASE);
    store::migrate(&database_url).await.context("migrating the database")?;
    let config = Config {
        scripted_backend: true,
        // A demonstration may ask a model of this machine, with the key that it was given.
        private_hosts: vec!["*".to_owned()],
        key_hosts: key_hosts(wish.extra.as_ref()),
        vault_key: Some(vault_key(&wish.data_dir)?.into()),
        ..Config::of(database_url.clone(), wish.grpc, wish.http)
    };
    let running = Running::start(&config).await?;
    let seeded = demo::seed(running.services.desk(), wish.extra.as_ref()).await;
    let demo = seeded.map_err(|it| anyhow!("seeding the demonstration: {it}"))?;
    let shipped = ship_prices(running.services.desk()).await;
    shipped.map_err(|it| anyhow!("putting the shipped prices into effect: {it}"))?;
    let own = wish.data_dir.join("ready.json");
    let ready_files: Vec<PathBuf> = [Some(own), wish.ready_file].into_iter().flatten().collect();
    let dev = Dev { running, demo, database_url, cluster, ready_files };
    for path in &dev.ready_files {
        write_whole(path, &dev.ready().to_string())
            .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(dev)
}

impl Dev {
    /// The ready file's object.
    pub fn ready(&self) -> serde_json::Value {
        json!({
            "grpc": format!("http://{}", self.running.grpc),
            "http": format!("http://{}", self.running.http),
            "tenant": format!("tenants/{}", self.demo.tenant),
            "host_key": self.demo.host_key.reveal(),
            "operator_key": self.demo.operator_key.reveal(),
            "finance_key": self.demo.finance_key.reveal(),
            "user": demo::USER,
            "server": demo::SERVER,
            "database_url": self.database_url,
        })
    }

    /// Ends the service in good order, then Postgres.
    pub async fn stop(self) {
        for path in &self.ready_files {
            // Gone already is as good.
            let _ = fs::remove_file(path);
        }
        self.running.stop().await;
        let cluster = self.cluster;
        // Stopping blocks for a while; there is nothing left to do if it fails.
        let _ = tokio::task::spawn_blocking(move || drop(cluster)).await;
    }
}

/// The key of kept replies: made on the first start, beside the data it is for.
fn vault_key(data_dir: &Path) -> Result<String> {
    let path = data_dir.join("vault.key");
    match fs::read_to_string(&path) {
        Ok(key) => Ok(key),
        Err(it) if it.kind() == io::ErrorKind::NotFound => {
            let key = Vault::generate();
            write_whole(&path, &key).with_context(|| format!("writing {}", path.display()))?;
            Ok(key)
        }
        Err(it) => Err(it).with_context(|| format!("reading {}", path.display())),
    }
}

/// Nobody ever reads half a file, and nobody but the owner reads the keys in it.
fn write_whole(path: &Path, text: &str) -> Result<()> {
    let beside = path.with_extension("part");
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    fs::rename(&beside, path)?;
    Ok(())
}

/// The key of the command line goes to the server of the command line.
fn key_hosts(extra: Option<&Extra>) -> Vec<String> {
    let host = extra.and_then(|it| net::host(&it.base_url));
    host.map(|it| format!("OPENAI_API_KEY={it}")).into_iter().collect()
}
