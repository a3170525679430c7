//! A thin client of `bursar.v1` for Rust hosts and for the command line: one
//! connection, one key, the generated services.

mod error;

use std::{fmt, time::Duration};

use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Channel, ClientTlsConfig, Endpoint},
};

pub use self::error::{Error, Failure};
use crate::proto::{
    admin_service_client::AdminServiceClient, envelope_service_client::EnvelopeServiceClient,
    ledger_service_client::LedgerServiceClient, price_service_client::PriceServiceClient,
    sampling_service_client::SamplingServiceClient,
};

/// The largest message that is sent or taken: 64 MiB.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A connection whose every request carries the key.
pub type Authorized = InterceptedService<Channel, Authorization>;

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection. Default: ten seconds.
    pub connect: Duration,
    /// For the head of a reply, which for a unary call is the whole of it. Default:
    /// an hour and a minute, just over the longest call that a grant may allow.
    /// Set a deadline on the request to bound a call more tightly.
    pub reply: Duration,
}

/// A client with one connection. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Client {
    service: Authorized,
}

/// Puts the key on each request.
#[derive(Clone)]
pub struct Authorization(MetadataValue<Ascii>);

impl Client {
    /// Connects to `http://HOST:PORT` or `https://HOST[:PORT]` (with the public web's
    /// certificate roots).
    pub async fn connect(endpoint: &str, key: &str) -> Result<Self, Error> {
        Self::connect_within(endpoint, key, Timeouts::default()).await
    }

    /// The same, with timeouts of the caller's.
    pub async fn connect_within(
        endpoint: &str,
        key: &str,
        timeouts: Timeouts,
    ) -> Result<Self, Error> {
        let authorization = Authorization::from_key(key)?;
        let channel = prepare(endpoint, timeouts)?
            .connect()
            .await
            .map_err(|cause| Error::unreachable(endpoint, &cause))?;
        Ok(Self { service: InterceptedService::new(channel, authorization) })
    }

    /// Sampling.
    pub fn sampling(&self) -> SamplingServiceClient<Authorized> {
        SamplingServiceClient::new(self.service.clone())
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX)
    }

    /// Envelopes.
    pub fn envelopes(&self) -> EnvelopeServiceClient<Authorized> {
        EnvelopeServiceClient::new(self.service.clone())
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX)
    }

    /// The ledger; for keys of the role finance.
    pub fn ledger(&self) -> LedgerServiceClient<Authorized> {
        LedgerServiceClient::new(self.service.clone())
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX)
    }

    /// Price books; for keys of the role operator or platform.
    pub fn prices(&self) -> PriceServiceClient<Authorized> {
        PriceServiceClient::new(self.service.clone())
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX)
    }

    /// Administration; for keys of the role operator or platform.
    pub fn admin(&self) -> AdminServiceClient<Authorized> {
        AdminServiceClient::new(self.service.clone())
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX)
    }
}

fn prepare(endpoint: &str, timeouts: Timeouts) -> Result<Endpoint, Error> {
    let secure = endpoint.starts_with("https://");
    // User information in a URL would end up in error messages.
    if !(secure || endpoint.starts_with("http://")) || endpoint.contains('@') {
        return Err(Error::Endpoint);
    }
    let mut prepared = Endpoint::from_shared(endpoint.to_owned())
        .map_err(|_| Error::Endpoint)?
        .connect_timeout(timeouts.connect)
        .timeout(timeouts.reply)
        .tcp_keepalive(Some(Duration::from_secs(30)))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20));
    if secure {
        // A second installation is refused, which is as good as the first.
        let _already = rustls::crypto::ring::default_provider().install_default();
        prepared = prepared
            .tls_config(ClientTlsConfig::new().with_webpki_roots())
            .map_err(|_| Error::Endpoint)?;
    }
    Ok(prepared)
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), reply: Duration::from_mins(61) }
    }
}

impl Authorization {
    fn from_key(key: &str) -> Result<Self, Error> {
        let key = key.trim();
        if key.is_empty() || !key.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(Error::Key);
        }
        let mut value: MetadataValue<Ascii> =
            format!("Bearer {key}").parse().map_err(|_| Error::Key)?;
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

impl Interceptor for Authorization {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorization(..)")
    }
}
