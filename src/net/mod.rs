//! The only HTTP client. It goes where it is told and nowhere else: no redirect, no
//! proxy from the environment, no retry of its own.

mod private;

use std::{sync::Arc, time::Duration};

pub use private::{Private, host, is_private};
pub use reqwest::{Client, Error as RequestError};
use reqwest::{ClientBuilder, redirect, retry};
use rustls::crypto::{self, CryptoProvider};

/// The longest time until a connection stands.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an unused connection is kept; shorter than most servers keep theirs, so
/// that a request seldom meets one that is being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// Unused connections kept a host.
const IDLE_PER_HOST_MAX: usize = 64;

/// No client can be made.
#[derive(Debug, thiserror::Error)]
#[error("no HTTP client can be made: {0}")]
pub struct Error(#[from] reqwest::Error);

/// Makes the client; clones share its connections. It has no time limit beyond the
/// connection: who calls bounds the wait.
///
/// On a machine without certificates, such as a bare container, it trusts nobody:
/// plain http works, and every https server is unreachable. A name that leads to private
/// addresses alone is unreachable too, unless `private` has it.
pub fn client(private: &Private) -> Result<Client, Error> {
    install_provider();
    if let Ok(client) = builder(private).build() {
        return Ok(client);
    }
    let client = builder(private).tls_certs_only([]).build()?;
    tracing::warn!("no CA certificates were found: no https backend can be reached");
    Ok(client)
}

fn builder(private: &Private) -> ClientBuilder {
    Client::builder()
        .dns_resolver(Arc::new(private.clone()))
        .redirect(redirect::Policy::none())
        .referer(false)
        // A request that may have been billed is repeated by nobody but the core.
        .retry(retry::never())
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
        .user_agent(concat!("bursar/", env!("CARGO_PKG_VERSION")))
}

/// Makes ring the process's cryptography. Later calls change nothing.
pub fn install_provider() {
    if CryptoProvider::get_default().is_none() {
        // Only a race with another installer fails here, and it installs the same.
        drop(crypto::ring::default_provider().install_default());
    }
}
