//! Addresses of primaries: `redis://[user[:password]@]host[:port][/database]`, or `valkey://`, or `larder://`; with an s after the name, by TLS.

use std::fmt;

const PORT: u16 = 6379;
const SCHEMES: &[&str] = &["redis", "valkey", "larder"];
const SECURE_SCHEMES: &[&str] = &["rediss", "valkeys", "larders"];

/// What is wrong with an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UrlError {
    /// The database is no number.
    Database(String),
    /// A percent sign is not followed by two hexadecimal digits, or the bytes are no text.
    Escape(String),
    /// There is no host, or no end of it.
    Host(String),
    /// The port is no number of 16 bits, or 0.
    Port(String),
    /// It begins with something else.
    Scheme(String),
    /// TLS is wanted, and this library was built without the feature `tls`.
    Tls,
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UrlError::Database(text) => write!(f, "'{text}' is not a database number"),
            UrlError::Escape(text) => write!(f, "'{text}' has a percent sign without two hexadecimal digits"),
            UrlError::Host(text) => write!(f, "'{text}' does not name a host"),
            UrlError::Port(text) => write!(f, "'{text}' is not a port"),
            UrlError::Scheme(text) => {
                write!(f, "'{text}' does not begin with redis://, valkey:// or larder://")
            }
            UrlError::Tls => f.write_str("this library was built without TLS"),
        }
    }
}

impl std::error::Error for UrlError {}

/// A primary, and who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    pub host: String,
    pub port: u16,
    /// Empty for the default user.
    pub user: String,
    /// Empty for none.
    pub password: String,
    pub db: usize,
    /// Whether it is talked to by TLS.
    pub is_secure: bool,
}

impl Address {
    /// Reads an address.
    pub fn parse(url: &str) -> Result<Address, UrlError> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| UrlError::Scheme(url.to_owned()))?;
        let is_secure = SECURE_SCHEMES.contains(&scheme);
        if is_secure && !cfg!(feature = "tls") {
            return Err(UrlError::Tls);
        }
        if !is_secure && !SCHEMES.contains(&scheme) {
            return Err(UrlError::Scheme(scheme.to_owned()));
        }
        let (authority, db) = match rest.split_once('/') {
            Some((authority, "")) => (authority, 0),
            Some((authority, db)) => (authority, db.parse().map_err(|_| UrlError::Database(db.to_owned()))?),
            None => (rest, 0),
        };
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (host, port) = place_of(place)?;
        let (user, password) = (unescaped(user)?, unescaped(password)?);
        Ok(Address { host: host.to_owned(), port, user, password, db, is_secure })
    }
}

fn place_of(place: &str) -> Result<(&str, u16), UrlError> {
    let wrong = || UrlError::Host(place.to_owned());
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or_else(wrong)?;
            match port.strip_prefix(':') {
                None if !port.is_empty() => return Err(wrong()),
                port => (host, port),
            }
        }
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    if host.is_empty() || host.contains(char::is_whitespace) {
        return Err(wrong());
    }
    let parse = |text: &str| text.parse().ok().filter(|port| *port != 0);
    let port = port.map_or(Ok(PORT), |text| parse(text).ok_or_else(|| UrlError::Port(text.to_owned())))?;
    Ok((host, port))
}

fn unescaped(text: &str) -> Result<String, UrlError> {
    let wrong = || UrlError::Escape(text.to_owned());
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'%' {
            bytes.push(byte);
            rest = after;
            continue;
        }
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let is_hex = |digits: &&str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let digits = digits.filter(is_hex).ok_or_else(wrong)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let address = |user: &str, password: &str, host: &str, port, db| Address {
            host: host.to_owned(),
            port,
            user: user.to_owned(),
            password: password.to_owned(),
            db,
            is_secure: false,
        };
        for (url, wanted) in [
            ("redis://localhost", address("", "", "localhost", 6379, 0)),
            ("valkey://10.0.0.1:7000/", address("", "", "10.0.0.1", 7000, 0)),
            ("larder://[::1]:7000/3", address("", "", "::1", 7000, 3)),
            ("redis://[::1]", address("", "", "::1", 6379, 0)),
            ("redis://:se%3Acret@h", address("", "se:cret", "h", 6379, 0)),
            ("redis://ada:p%40ss@h:1/15", address("ada", "p@ss", "h", 1, 15)),
        ] {
            assert_eq!(Address::parse(url), Ok(wanted), "{url}");
        }
        let secure = Address { is_secure: true, ..address("", "", "h", 1, 0) };
        for scheme in SECURE_SCHEMES {
            let wanted = if cfg!(feature = "tls") { Ok(secure.clone()) } else { Err(UrlError::Tls) };
            assert_eq!(Address::parse(&format!("{scheme}://h:1")), wanted);
        }
    }

    #[test]
    fn what_is_no_address() {
        let text = |text: &str| text.to_owned();
        for (url, wanted) in [
            ("localhost:6379", UrlError::Scheme(text("localhost:6379"))),
            ("http://h", UrlError::Scheme(text("http"))),
            ("redis://", UrlError::Host(text(""))),
            ("redis://:1", UrlError::Host(text(":1"))),
            ("redis://a b", UrlError::Host(text("a b"))),
            ("redis://[::1", UrlError::Host(text("[::1"))),
            ("redis://[::1]x", UrlError::Host(text("[::1]x"))),
            ("redis://h:0", UrlError::Port(text("0"))),
            ("redis://h:70000", UrlError::Port(text("70000"))),
            ("redis://h/x", UrlError::Database(text("x"))),
            ("redis://a%4@h", UrlError::Escape(text("a%4"))),
            ("redis://a:%ff@h", UrlError::Escape(text("%ff"))),
            ("redis://a:%+1@h", UrlError::Escape(text("%+1"))),
        ] {
            assert_eq!(Address::parse(url), Err(wanted), "{url}");
        }
    }
}
