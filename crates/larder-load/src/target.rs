//! Who is loaded: where it is, and what it says about itself.

use crate::build::Form;
use crate::connection::{Connection, text_of};
use crate::error::{Error, Result};
use crate::security::Security;
use crate::slot::SLOTS;
use larder_rdb::Version;
use larder_resp::Value;

/// Where a server is, and who we are there.
#[derive(Clone, Debug)]
pub struct Target {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// The user; None for the default one.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
    /// How it is talked to, and all nodes of its cluster.
    pub security: Security,
}

/// What a target says about itself.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Name and version, for the report.
    pub name: String,
    /// The payloads that it takes.
    pub form: Form,
    /// The addresses of the owners of slots, if it is a node of a cluster.
    pub slots: Option<Vec<String>>,
}

impl Target {
    /// The address of the server.
    pub fn address(&self) -> String {
        if self.host.contains(':') {
            return format!("[{}]:{}", self.host, self.port);
        }
        format!("{}:{}", self.host, self.port)
    }

    /// Connects to a server of the target and selects a database, with the rights that were given.
    pub fn connect(&self, address: &str, db: u32) -> Result<Connection> {
        let mut connection = Connection::open(address, &self.security)?;
        let mut say = |words: &[&[u8]]| match connection.ask(words)? {
            Value::Error(error) => Err(Error::Target(format!("{address}: {error}"))),
            _ => Ok(()),
        };
        if let Some(password) = &self.password {
            let user = self.user.as_deref().unwrap_or("default");
            say(&[b"AUTH", user.as_bytes(), password.as_bytes()])?;
        }
        if db > 0 {
            say(&[b"SELECT", db.to_string().as_bytes()])?;
        }
        Ok(connection)
    }

    /// Asks who it is.
    pub fn facts(&self) -> Result<Facts> {
        let mut connection = self.connect(&self.address(), 0)?;
        let info = text_of(&self.ask(&mut connection, &[b"INFO"])?);
        let field = |name: &str| {
            info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
        };
        let (name, form) = form_of(field);
        let is_cluster = field("cluster_enabled") == Some("1");
        let slots = is_cluster.then(|| slots(&mut connection, &self.host)).transpose()?;
        Ok(Facts { name, form, slots })
    }

    /// One command and its reply, which is no error.
    pub fn ask(&self, connection: &mut Connection, words: &[&[u8]]) -> Result<Value> {
        match connection.ask(words)? {
            Value::Error(error) => Err(Error::Target(format!("{}: {error}", self.address()))),
            reply => Ok(reply),
        }
    }
}

/// The name of a server by the fields of its INFO, and what it takes. Blocks are for a Larder of this version only: another
/// may have other ones.
fn form_of<'a>(field: impl Fn(&str) -> Option<&'a str>) -> (String, Form) {
    let standard = |version| Form { version, newest: version, own: false, measures: false };
    if let Some(version) = field("larder_version") {
        let own = version == env!("CARGO_PKG_VERSION");
        return (
            format!("Larder {version}"),
            Form { version: Version::V11, newest: Version::V80, own, measures: false },
        );
    }
    let major = |version: &str| version.split('.').next().and_then(|part| part.parse().ok()).unwrap_or(0_u32);
    if let Some(version) = field("valkey_version") {
        let newest = if major(version) >= 9 { Version::V80 } else { Version::V11 };
        return (
            format!("Valkey {version}"),
            Form { version: Version::V11, newest, own: false, measures: false },
        );
    }
    let version = field("redis_version").unwrap_or("of an unknown version");
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let knows_11 = (numbers.next(), numbers.next()) >= (Some(7), Some(2));
    (format!("Redis {version}"), standard(if knows_11 { Version::V11 } else { Version::V10 }))
}

/// The owners of all slots.
fn slots(connection: &mut Connection, host: &str) -> Result<Vec<String>> {
    let odd = || Error::Target("invalid reply to CLUSTER SLOTS".to_owned());
    let reply = connection.ask(&[b"CLUSTER", b"SLOTS"])?;
    let Value::Array(ranges) = reply else { return Err(Error::Target(text_of(&reply))) };
    let mut owners = vec![String::new(); SLOTS];
    for range in &ranges {
        let Value::Array(parts) = range else { return Err(odd()) };
        let [Value::Int(first), Value::Int(last), Value::Array(node), ..] = &parts[..] else {
            return Err(odd());
        };
        let [name, Value::Int(port), ..] = &node[..] else { return Err(odd()) };
        let name = Some(text_of(name)).filter(|name| !name.is_empty()).unwrap_or_else(|| host.to_owned());
        let (first, last) =
            (usize::try_from(*first).map_err(|_| odd())?, usize::try_from(*last).map_err(|_| odd())?);
        owners.get_mut(first..=last).ok_or_else(odd)?.fill(format!("{name}:{port}"));
    }
    match owners.iter().position(String::is_empty) {
        Some(slot) => Err(Error::Target(format!("slot {slot} of the cluster has no owner"))),
        None => Ok(owners),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_by_what_servers_say() {
        let form = |name: &'static str, version: &'static str| {
            form_of(move |field| (field == name).then_some(version)).1
        };
        assert!(form("larder_version", env!("CARGO_PKG_VERSION")).own && !form("larder_version", "99.0").own);
        let of_valkey =
            |version| (form("valkey_version", version).version, form("valkey_version", version).newest);
        assert_eq!(of_valkey("9.1.2"), (Version::V11, Version::V80));
        assert_eq!(of_valkey("8.1.0"), (Version::V11, Version::V11));
        let of_redis = |version| form("redis_version", version).version;
        assert_eq!(
            ["7.0.15", "6.2.1", "7.2.0", "8.0.6", "x"].map(of_redis),
            [Version::V10, Version::V10, Version::V11, Version::V11, Version::V10]
        );
    }
}
