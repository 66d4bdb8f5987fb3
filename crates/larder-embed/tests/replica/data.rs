//! Data of every type, and what two ends say of it.

use larder_embed::{Reply, Store};
use larder_testkit::{Client, Value};
use std::collections::BTreeMap;

/// Fills a server.
pub fn fill(client: &mut Client) {
    for (i, value) in ["", "1", "-129", "9223372036854775807", "3.5", &"x".repeat(100_000)].iter().enumerate()
    {
        client.cmd(&["SET", &format!("string:{i}"), value]);
    }
    for count in [5, 9, 40, 2000] {
        let mut put = |name: &str, key: &str, words: Vec<String>| {
            client.cmd(&[vec![name.to_owned(), format!("{key}:{count}")], words].concat());
        };
        let member = |i: usize| format!("member:{i}");
        put("RPUSH", "list", (0..count).map(member).collect());
        put("SADD", "set", (0..count).map(member).collect());
        put("SADD", "numbers", (0..count).map(|i| (i * 7).to_string()).collect());
        put("HSET", "hash", (0..count).flat_map(|i| [member(i), (i * i).to_string()]).collect());
        put("ZADD", "zset", (0..count).flat_map(|i| [(i as f64 / 4.0).to_string(), member(i)]).collect());
    }
    for line in [
        "XADD stream 1-1 f v",
        "XADD stream 2-1 f w g x",
        "XGROUP CREATE stream group 0",
        "PFADD hll a b c",
        "SETBIT bits 1000 1",
        "SET timed v EX 10000",
        "GEOADD geo 13.361389 38.115556 Palermo",
    ] {
        client.ask(line);
    }
    for i in 0..5000 {
        client.send(&["SET", &format!("many:{i}"), &i.to_string()]);
    }
    (0..5000).for_each(|_| drop(client.read().expect("it answers")));
}

/// Something that commands can be asked of.
pub trait Source {
    /// The strings in a reply, one after the other.
    fn words(&mut self, command: &[&str]) -> Vec<String>;
}

impl Source for Client {
    fn words(&mut self, command: &[&str]) -> Vec<String> {
        fn flat(value: &Value, into: &mut Vec<String>) {
            match value {
                Value::Int(n) => into.push(n.to_string()),
                other if other.items().is_empty() => into.push(other.text()),
                other => other.items().iter().for_each(|item| flat(item, into)),
            }
        }
        let value = self.cmd(command);
        let mut words = Vec::new();
        assert!(!value.is_error(), "{command:?}: {value}");
        flat(&value, &mut words);
        words
    }
}

/// A store that is asked.
pub struct Reader<'s>(pub &'s Store);

impl Source for Reader<'_> {
    fn words(&mut self, command: &[&str]) -> Vec<String> {
        fn flat(reply: &Reply, into: &mut Vec<String>) {
            match reply {
                Reply::Int(n) => into.push(n.to_string()),
                Reply::Double(n) => into.push(n.to_string()),
                Reply::Map(pairs) => pairs.iter().for_each(|(name, value)| {
                    flat(name, into);
                    flat(value, into);
                }),
                Reply::Array(items) | Reply::Set(items) if !items.is_empty() => {
                    items.iter().for_each(|item| flat(item, into));
                }
                other => {
                    into.push(String::from_utf8_lossy(other.as_bytes().unwrap_or_default()).into_owned());
                }
            }
        }
        let mut words = Vec::new();
        flat(&self.0.command(command).unwrap_or_else(|error| panic!("{command:?}: {error}")), &mut words);
        words
    }
}

/// Every key with its type and its value.
pub fn describe(source: &mut impl Source) -> BTreeMap<String, String> {
    let mut described = BTreeMap::new();
    let keys: Vec<String> = source.words(&["KEYS", "*"]).into_iter().filter(|key| !key.is_empty()).collect();
    for key in keys {
        let kind = source.words(&["TYPE", &key]).remove(0);
        let (command, sorts, pairs): (&[&str], bool, bool) = match kind.as_str() {
            "string" => (&["GET", &key], false, false),
            "list" => (&["LRANGE", &key, "0", "-1"], false, false),
            "set" => (&["SMEMBERS", &key], true, false),
            "hash" => (&["HGETALL", &key], true, true),
            "zset" => (&["ZRANGE", &key, "0", "-1", "WITHSCORES"], false, false),
            "stream" => (&["XRANGE", &key, "-", "+"], false, false),
            // Its time is over.
            "none" => continue,
            other => panic!("{key} is a {other}"),
        };
        let mut words = source.words(command);
        if pairs {
            words = words.chunks(2).map(|pair| pair.join("=")).collect();
        }
        if sorts {
            words.sort();
        }
        let deadline = source.words(&["PEXPIRETIME", &key]).remove(0);
        described.insert(key, format!("{kind} {deadline} {}", words.join("|")));
    }
    described
}
