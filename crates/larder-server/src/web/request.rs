//! Which requests are answered: those that a program has sent to this server, and not those that a page in a browser has made it send.
//!
//! A browser names the page in `Origin` when that asks for another site, and such requests are refused. A page may also have its own name
//! resolve to this server's address; then `Host` has that name. So a name is answered only if it is known: an address, `localhost`, the name of
//! the machine, or one of `metrics-hosts` or `console-hosts`.

use crate::sys;
use hyper::header::{HOST, HeaderMap, HeaderValue, ORIGIN};
use std::net::IpAddr;

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal(pub &'static str);

const OTHER_SITE: Refusal = Refusal("Requests from pages of other sites are refused.\n");

/// The names by which the server may be asked.
pub struct Hosts(Vec<String>);

impl Hosts {
    /// The usual ones, and those of an option, separated by blanks. `*` allows all.
    pub fn new(more: &str) -> Hosts {
        let machine = sys::host_name();
        let short = machine.split('.').next().unwrap_or_default().to_owned();
        let usual = ["localhost".to_owned(), short, machine];
        let all = usual.into_iter().chain(more.split_whitespace().map(str::to_owned));
        Hosts(all.filter(|name| !name.is_empty()).map(|name| name.to_ascii_lowercase()).collect())
    }

    /// Whether a request with these headers is answered by what no page asks.
    ///
    /// # Errors
    /// The reason, for the client to read.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if headers.contains_key(ORIGIN) {
            return Err(OTHER_SITE);
        }
        self.check_host(headers)
    }

    /// Whether a request with these headers is answered by what only its own page asks.
    ///
    /// # Errors
    /// The reason, for the client to read.
    pub fn check_own(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut origins = headers.get_all(ORIGIN).iter();
        let host = headers.get(HOST).map_or(&b""[..], HeaderValue::as_bytes);
        let is_own = |origin: &HeaderValue| {
            let origin = origin.as_bytes();
            [&b"http://"[..], b"https://"].iter().any(|scheme| origin.strip_prefix(*scheme) == Some(host))
        };
        let fetch = headers.get("sec-fetch-site").map_or(&b"none"[..], HeaderValue::as_bytes);
        if !origins.all(is_own) || !matches!(fetch, b"none" | b"same-origin") {
            return Err(OTHER_SITE);
        }
        self.check_host(headers)
    }

    /// Whether the server is asked by one of its names.
    ///
    /// # Errors
    /// The reason, for the client to read.
    pub fn check_host(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut hosts = headers.get_all(HOST).iter();
        let (host, None) = (hosts.next(), hosts.next()) else {
            return Err(Refusal("A request must have exactly one Host header.\n"));
        };
        // HTTP/1.0 need not say it, and no browser speaks that.
        let Some(host) = host else { return Ok(()) };
        match host.to_str() {
            Ok(host) if self.knows(host) => Ok(()),
            _ => Err(Refusal(
                "This host name is not allowed: see the options metrics-hosts and console-hosts.\n",
            )),
        }
    }

    fn knows(&self, host: &str) -> bool {
        let name = without_port(host);
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        let name = name.to_ascii_lowercase();
        bare.parse::<IpAddr>().is_ok() || self.0.iter().any(|known| *known == name || known == "*")
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) && !name.ends_with(':') => {
            name
        }
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(hosts: &Hosts, headers: &[(hyper::header::HeaderName, &'static str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_static(value));
        }
        hosts.check(&map).is_ok()
    }

    #[test]
    fn addresses_and_known_names_are_answered() {
        let hosts = Hosts::new("metrics.example Other.example");
        for host in [
            "127.0.0.1:9121",
            "10.0.0.1",
            "[::1]:9121",
            "[fe80::1]",
            "localhost:1",
            "LOCALHOST",
            "metrics.example:80",
            "other.EXAMPLE",
        ] {
            assert!(check(&hosts, &[(HOST, host)]), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:9121",
            "localhost.evil.example",
            "",
            "127.0.0.1.evil.example",
            "a:b",
        ] {
            assert!(!check(&hosts, &[(HOST, host)]), "{host}");
        }
        assert!(check(&Hosts::new("*"), &[(HOST, "any.example")]));
        assert!(check(&hosts, &[]));
    }

    #[test]
    fn pages_of_other_sites_are_not() {
        let hosts = Hosts::new("");
        assert!(!check(&hosts, &[(HOST, "localhost"), (ORIGIN, "http://localhost")]));
        assert!(!check(&hosts, &[(HOST, "localhost"), (HOST, "localhost")]));
    }

    #[test]
    fn a_page_asks_its_own_server() {
        let hosts = Hosts::new("");
        let check = |headers: &[(&'static str, &'static str)]| {
            let mut map = HeaderMap::new();
            for &(name, value) in headers {
                map.append(name, HeaderValue::from_static(value));
            }
            hosts.check_own(&map).is_ok()
        };
        let host = ("host", "localhost:9122");
        assert!(check(&[host]));
        assert!(check(&[host, ("origin", "http://localhost:9122"), ("sec-fetch-site", "same-origin")]));
        assert!(check(&[host, ("origin", "https://localhost:9122")]));
        for other in
            ["http://localhost", "http://localhost:9121", "http://evil.example", "null", "localhost:9122", ""]
        {
            assert!(!check(&[host, ("origin", other)]), "{other}");
        }
        assert!(!check(&[host, ("origin", "http://localhost:9122"), ("origin", "http://evil.example")]));
        assert!(!check(&[host, ("sec-fetch-site", "cross-site")]));
        assert!(!check(&[host, ("sec-fetch-site", "same-site")]));
        assert!(!check(&[("host", "evil.example"), ("origin", "http://evil.example")]));
    }
}
