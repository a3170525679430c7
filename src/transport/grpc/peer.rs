//! Where a request comes from: told by the connection, in a header that nobody outside
//! can set, so that it goes the way of the rest of the metadata.

use std::net::IpAddr;

use http::{HeaderMap, HeaderValue, Request};
use tonic::{metadata::MetadataMap, transport::server::TcpConnectInfo};

const PEER: &str = "bursar-peer";

/// Says in the header where the request comes from, whatever stood there.
pub(super) fn tell<T>(request: &mut Request<T>) {
    let peer = request.extensions().get::<TcpConnectInfo>().and_then(TcpConnectInfo::remote_addr);
    let headers: &mut HeaderMap = request.headers_mut();
    headers.remove(PEER);
    let said = peer.and_then(|it| HeaderValue::from_str(&it.ip().to_string()).ok());
    if let Some(it) = said {
        headers.insert(PEER, it);
    }
}

/// Where a request came from; none where it came without a connection.
pub(super) fn of(metadata: &MetadataMap) -> Option<IpAddr> {
    metadata.get(PEER)?.to_str().ok()?.parse().ok()
}
