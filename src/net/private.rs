//! Addresses that lead into a network of the operator's own, and who may be reached there.
//! A name is judged by what it leads to at the moment of connecting, so that one that
//! changes its mind afterwards gains nothing.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

/// Stands for every host.
const ANY: &str = "*";

/// Hosts that may be at private addresses. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Private(Arc<[String]>);

/// Every address that a name leads to is private.
#[derive(Debug, thiserror::Error)]
#[error("the host is at a private address")]
struct IsPrivate;

// === impl Private ===

impl Private {
    /// These, as URLs name them, without a port; `*`: every host.
    pub fn of(hosts: &[String]) -> Self {
        Self(hosts.iter().map(|it| it.to_ascii_lowercase()).collect())
    }

    /// Whether requests may go to what this URL names, as far as that can be told without
    /// asking where a name leads. What is no URL may not be.
    pub fn permits(&self, url: &str) -> bool {
        host(url).is_some_and(|host| self.lists(&host) || !is_private_word(&host))
    }

    fn lists(&self, host: &str) -> bool {
        self.0.iter().any(|it| it == ANY || it == host)
    }
}

impl Resolve for Private {
    fn resolve(&self, name: Name) -> Resolving {
        let lists = self.lists(&name.as_str().to_ascii_lowercase());
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found: Vec<SocketAddr> = found.filter(|it| lists || !is_private(it.ip())).collect();
            if found.is_empty() {
                tracing::warn!(
                    host = name.as_str(),
                    "a host leads to private addresses alone; private_hosts names those that may"
                );
                return Err(IsPrivate.into());
            }
            let found: Addrs = Box::new(found.into_iter());
            Ok(found)
        })
    }
}

/// The host of a URL, lower case, an address in its usual writing.
pub fn host(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    Some(url.host_str()?.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase())
}

fn is_private_word(host: &str) -> bool {
    let name = host.trim_end_matches('.');
    let own = name == "localhost" || name.ends_with(".localhost");
    own || host.parse().is_ok_and(is_private)
}

/// Whether an address is anything but a public one: the machine's own, a private network's,
/// a carrier's, one of documentation or one that only means such an address.
pub fn is_private(it: IpAddr) -> bool {
    match it {
        IpAddr::V4(it) => is_private_v4(it),
        IpAddr::V6(it) => is_private_v6(it),
    }
}

/// By the registry of special addresses (RFC 6890).
fn is_private_v4(it: Ipv4Addr) -> bool {
    let [a, b, c, _] = it.octets();
    it.is_loopback()
        || it.is_private()
        || it.is_link_local()
        || it.is_documentation()
        || a == 0
        || a >= 224
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b))
}

fn is_private_v6(it: Ipv6Addr) -> bool {
    let all = it.segments();
    let low = |high: u16, low: u16| {
        let bits = u32::from(high) << 16 | u32::from(low);
        is_private_v4(Ipv4Addr::from_bits(bits))
    };
    match all {
        // None, itself, and IPv4 in the two old writings.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, last] => all[..7] == [0; 7] || low(high, last),
        // Translated to IPv4, and 6to4.
        [0x64, 0xff9b, 0, 0, 0, 0, high, last] | [0x2002, high, last, ..] => low(high, last),
        [0x64, 0xff9b, 1, ..] | [0x2001, 0xdb8, ..] | [0x100, 0, 0, 0, ..] => true,
        // Unique local, link and site local, and to many.
        [first, ..] => first & 0xfe00 == 0xfc00 || first & 0xff80 == 0xfe80 || first >= 0xff00,
    }
}
