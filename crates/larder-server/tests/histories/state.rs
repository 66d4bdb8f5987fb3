//! What several servers have in common: the data, and the deadlines of keys and fields.

use crate::info;
use larder_testkit::{Client, Kind, Server, Value};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Deadlines from then on are all the same: Larder's have 48 bits.
const FAR_MS: i64 = 1 << 47;

/// How long servers may take to become equal.
const PATIENCE: Duration = Duration::from_secs(30);

/// Deadlines and groups of a server, by the database, the key and what else they belong to.
pub type Details = BTreeMap<String, String>;

/// Sends commands at once and reads their replies.
pub fn ask_all<A: AsRef<[u8]>>(client: &mut Client, commands: &[Vec<A>]) -> Vec<Value> {
    let mut request = Vec::new();
    commands.iter().for_each(|args| larder_testkit::encode(&mut request, args));
    client.send_raw(&request).expect("the server takes the request");
    commands.iter().map(|_| client.read().expect("the server answers")).collect()
}

/// Numbers of the databases that have keys.
fn databases(client: &mut Client) -> Vec<u32> {
    let text = client.ask("INFO keyspace").text();
    let numbers = text.lines().filter_map(|line| line.strip_prefix("db")?.split(':').next()?.parse().ok());
    numbers.collect()
}

fn args(words: &[&[u8]]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.to_vec()).collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Int(ms) if *ms >= FAR_MS => "far".to_owned(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// Reads all deadlines, and the groups of streams. Redis 7 knows no deadlines of fields.
pub fn details(kind: Kind, server: &Server) -> Details {
    let mut details = Details::new();
    let mut client = server.client();
    for db in databases(&mut client) {
        client.ask(&format!("SELECT {db}"));
        let keys: Vec<Vec<u8>> =
            client.ask("KEYS *").items().iter().map(|key| key.bytes().to_vec()).collect();
        let name = |key: &[u8]| format!("{db} {}", key.escape_ascii());
        let of_all = |command: &[u8]| keys.iter().map(|key| args(&[command, key])).collect::<Vec<_>>();
        let types = ask_all(&mut client, &of_all(b"TYPE"));
        for (key, deadline) in keys.iter().zip(ask_all(&mut client, &of_all(b"PEXPIRETIME"))) {
            details.insert(name(key), shown(&deadline));
        }
        for (key, kind_of_key) in keys.iter().zip(types) {
            match &*kind_of_key.text() {
                "hash" if kind != Kind::Redis => fields(&mut client, &name(key), key, &mut details),
                "stream" => groups(&mut client, &name(key), key, &mut details),
                _ => {}
            }
        }
    }
    details
}

fn fields(client: &mut Client, name: &str, key: &[u8], details: &mut Details) {
    let fields = client.cmd(&[&b"HKEYS"[..], key]);
    let fields: Vec<Vec<u8>> = fields.items().iter().map(|field| field.bytes().to_vec()).collect();
    let count = fields.len().to_string();
    let mut call = args(&[b"HPEXPIRETIME", key, b"FIELDS", count.as_bytes()]);
    call.extend(fields.clone());
    let deadlines = client.cmd(&call);
    for (field, deadline) in fields.iter().zip(deadlines.items()) {
        details.insert(format!("{name} field {}", field.escape_ascii()), shown(deadline));
    }
}

/// The groups of a stream: what is pending for whom, and what was delivered last.
fn groups(client: &mut Client, name: &str, key: &[u8], details: &mut Details) {
    let groups = client.cmd(&[&b"XINFO"[..], b"GROUPS", key]);
    for group in groups.items() {
        let fields = group.items();
        let of_group = format!("{name} group {}", fields[1]);
        let pending = client.cmd(&[&b"XPENDING"[..], key, fields[1].bytes(), b"-", b"+", b"1000"]);
        let pending: Vec<String> = pending
            .items()
            .iter()
            .map(|entry| format!("{} of {}", entry.items()[0], entry.items()[1]))
            .collect();
        details.insert(of_group, format!("up to {}, {}", fields[7], pending.join(", ")));
    }
}

/// The digest of all data.
pub fn digest(client: &mut Client) -> String {
    client.ask("DEBUG DIGEST").text()
}

/// A server that is compared with others.
pub struct Compared<'s> {
    pub name: &'s str,
    pub kind: Kind,
    pub server: &'s Server,
}

/// Waits until servers have the same data and details: deadlines pass meanwhile, and replicas hear of it later. The first one is
/// the primary.
///
/// # Errors
/// What differs for good.
pub fn wait_for_same(servers: &[Compared<'_>]) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    loop {
        let Some(difference) = difference(servers) else { return Ok(()) };
        if Instant::now() > end {
            return Err(difference);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn difference(servers: &[Compared<'_>]) -> Option<String> {
    let states: Vec<_> = servers
        .iter()
        .map(|compared| {
            let mut client = compared.server.client();
            (digest(&mut client), details(compared.kind, compared.server))
        })
        .collect();
    let (primary, replicas) = (&servers[0], &servers[1..]);
    for (replica, state) in replicas.iter().zip(&states[1..]) {
        if digest(&mut primary.server.client()) != states[0].0 {
            return Some(format!("{} changes by itself", primary.name));
        }
        if states[0].0 != state.0 {
            let keys = different_keys(primary, replica);
            return Some(format!("{} and {} have different data: {keys}", primary.name, replica.name));
        }
        let differing = different_details(&states[0].1, &state.1, replica.kind);
        if !differing.is_empty() {
            return Some(format!("{} and {} differ:\n{differing}", primary.name, replica.name));
        }
    }
    None
}

fn different_details(ours: &Details, theirs: &Details, kind: Kind) -> String {
    let is_known = |name: &&String| kind != Kind::Redis || !name.contains(" field ");
    let names: std::collections::BTreeSet<&String> =
        ours.keys().chain(theirs.keys()).filter(is_known).collect();
    let lines = names.into_iter().filter(|name| ours.get(*name) != theirs.get(*name));
    let lines = lines.map(|name| format!("{name}: {:?} and {:?}", ours.get(name), theirs.get(name)));
    lines.take(20).collect::<Vec<_>>().join("\n")
}

/// The keys whose values differ, for a message.
fn different_keys(ours: &Compared<'_>, theirs: &Compared<'_>) -> String {
    let all = |compared: &Compared<'_>| {
        let mut client = compared.server.client();
        let mut found = BTreeMap::new();
        for db in databases(&mut client) {
            client.ask(&format!("SELECT {db}"));
            for key in client.ask("KEYS *").items() {
                let digest = client.cmd(&[&b"DEBUG"[..], b"DIGEST-VALUE", key.bytes()]);
                found.insert(format!("{db} {}", key.bytes().escape_ascii()), digest.to_string());
            }
        }
        let offset = info(&mut client, "replication", "master_repl_offset");
        let keyspace = client.ask("INFO keyspace").text();
        (found, format!("offset {offset} {}", keyspace.replace("\r\n", " ")))
    };
    let ((ours, our_info), (theirs, their_info)) = (all(ours), all(theirs));
    let keys = ours.keys().chain(theirs.keys()).filter(|key| ours.get(*key) != theirs.get(*key));
    let mut lines: Vec<String> =
        keys.map(|key| format!("{key}: {:?} and {:?}", ours.get(key), theirs.get(key))).take(40).collect();
    lines.sort();
    lines.dedup();
    format!("\n{our_info}\n{their_info}\n{}", lines.join("\n"))
}
