//! Where a dialect's requests go.

use http::{HeaderName, HeaderValue, header};
use reqwest::{Client, Response, Url};

use super::Cause;

/// The text is no address of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the base URL must be http or https, with a host and without a user or password")]
pub struct InvalidBaseUrl;

/// One address, and the client to reach it.
pub(super) struct Endpoint {
    url: Url,
    client: Client,
}

// === impl Endpoint ===

impl Endpoint {
    /// What `path` names below a base URL, whose query is kept.
    pub(super) fn new(
        base_url: &str,
        path: &[&str],
        client: Client,
    ) -> Result<Self, InvalidBaseUrl> {
        let mut url = Url::parse(base_url.trim()).map_err(|_| InvalidBaseUrl)?;
        let bare = url.username().is_empty() && url.password().is_none();
        if !bare || !matches!(url.scheme(), "http" | "https") {
            return Err(InvalidBaseUrl);
        }
        url.path_segments_mut().map_err(|()| InvalidBaseUrl)?.pop_if_empty().extend(path);
        Ok(Self { url, client })
    }

    /// The host, which is all of the address that may be shown: a query may hold a
    /// secret.
    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or("")
    }

    /// Sends a JSON body once and returns when the status is known, whatever it is.
    pub(super) async fn post(
        &self,
        body: Vec<u8>,
        headers: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
    ) -> Result<Response, Cause> {
        let mut request = self
            .client
            .post(self.url.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream, application/json")
            .body(body);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        request.send().await.map_err(|it| fault(&it))
    }
}

/// Without a connection nothing was sent; with one, who knows. The error itself
/// names the URL and is dropped.
fn fault(error: &reqwest::Error) -> Cause {
    if error.is_connect() { Cause::Unreachable } else { Cause::Disconnected }
}
