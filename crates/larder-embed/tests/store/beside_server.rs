//! The same random commands here and on servers that speak RESP3, which must answer alike.

use super::store;
use larder_embed::{Error, Reply, Store};
use larder_testkit::{Client, Kind, Server, Value, seed};

/// A reply in words that do not depend on who has read it.
fn of_reply(reply: &Result<Reply, Error>) -> String {
    match reply {
        Ok(reply) => text(reply),
        Err(Error::Command(text)) => format!("-{text}"),
        Err(other) => format!("{other:?}"),
    }
}

fn text(reply: &Reply) -> String {
    let all = |items: &[Reply]| items.iter().map(text).collect::<Vec<_>>().join(" ");
    match reply {
        Reply::Array(items) => format!("[{}]", all(items)),
        Reply::Set(items) => {
            let mut items: Vec<String> = items.iter().map(text).collect();
            items.sort();
            format!("~[{}]", items.join(" "))
        }
        Reply::Map(pairs) => {
            let mut pairs: Vec<String> =
                pairs.iter().map(|(name, value)| format!("{} {}", text(name), text(value))).collect();
            pairs.sort();
            format!("%[{}]", pairs.join(" "))
        }
        Reply::BigNumber(digits) => format!("({digits}"),
        Reply::Bool(yes) => format!("#{yes}"),
        Reply::Bytes(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        Reply::Double(number) => format!(",{number}"),
        Reply::Error(text) => format!("-{text}"),
        Reply::Int(number) => format!(":{number}"),
        Reply::Null => "_".to_owned(),
        Reply::Status(word) => format!("+{word}"),
    }
}

fn of_value(value: &Value) -> String {
    let all = |items: &[Value]| items.iter().map(of_value).collect::<Vec<_>>();
    match value {
        Value::Array(items) | Value::Push(items) => format!("[{}]", all(items).join(" ")),
        Value::Set(items) => {
            let mut items = all(items);
            items.sort();
            format!("~[{}]", items.join(" "))
        }
        Value::Map(items) => {
            let mut pairs: Vec<String> = all(items).chunks(2).map(|pair| pair.join(" ")).collect();
            pairs.sort();
            format!("%[{}]", pairs.join(" "))
        }
        Value::BigNumber(digits) => format!("({digits}"),
        Value::Bool(yes) => format!("#{yes}"),
        Value::Bulk(bytes) | Value::Verbatim(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        Value::Double(text) => format!(",{}", text.parse::<f64>().expect("it is a number")),
        Value::Error(text) => format!("-{text}"),
        Value::Int(number) => format!(":{number}"),
        Value::Null | Value::NullArray | Value::NullBulk => "_".to_owned(),
        Value::Simple(word) => format!("+{word}"),
    }
}

/// Commands whose answers depend on nothing but the data. `K` is a key, `W` a word, `N` a number.
const COMMANDS: &[&str] = &[
    "SET K W",
    "SET K N",
    "SET K W NX GET",
    "GET K",
    "GETDEL K",
    "APPEND K W",
    "STRLEN K",
    "INCRBY K N",
    "INCRBYFLOAT K 0.5",
    "SETRANGE K 3 W",
    "GETRANGE K 0 N",
    "MSET K W K W",
    "MGET K K K",
    "SETBIT K N 1",
    "BITCOUNT K",
    "BITOP OR K K K",
    "LCS K K",
    "DEL K",
    "UNLINK K K",
    "EXISTS K K",
    "TYPE K",
    "RENAME K K",
    "COPY K K",
    "EXPIRE K 10000",
    "EXPIRETIME none",
    "PERSIST K",
    "TTL none",
    "OBJECT ENCODING K",
    "DBSIZE",
    "TOUCH K",
    "LPUSH K W W",
    "RPUSH K N",
    "LPOP K",
    "RPOP K 2",
    "LRANGE K 0 -1",
    "LLEN K",
    "LINDEX K N",
    "LSET K 0 W",
    "LREM K 0 W",
    "LTRIM K 0 5",
    "LPOS K W",
    "LINSERT K BEFORE W W",
    "LMOVE K K LEFT RIGHT",
    "LMPOP 2 K K LEFT",
    "SADD K W N",
    "SREM K W",
    "SISMEMBER K W",
    "SMISMEMBER K W N",
    "SCARD K",
    "SMEMBERS K",
    "SINTER K K",
    "SUNION K K",
    "SDIFF K K",
    "SINTERSTORE K K K",
    "SMOVE K K W",
    "SINTERCARD 2 K K",
    "HSET K W W",
    "HSET K N N W W",
    "HGET K W",
    "HMGET K W N",
    "HDEL K W",
    "HGETALL K",
    "HLEN K",
    "HEXISTS K W",
    "HINCRBY K N N",
    "HINCRBYFLOAT K W 1.5",
    "HSETNX K W W",
    "HSTRLEN K W",
    "ZADD K N W",
    "ZADD K 1.5 W N W",
    "ZADD K XX CH INCR 1 W",
    "ZSCORE K W",
    "ZRANGE K 0 -1 WITHSCORES",
    "ZRANGE K 0 5 BYSCORE",
    "ZRANK K W WITHSCORE",
    "ZREVRANK K W",
    "ZINCRBY K 0.25 W",
    "ZREM K W",
    "ZCARD K",
    "ZCOUNT K -inf N",
    "ZPOPMIN K",
    "ZUNION 2 K K WITHSCORES",
    "ZINTERSTORE K 2 K K",
    "ZMSCORE K W N",
    "ZRANGESTORE K K 0 3",
    "ZREMRANGEBYRANK K 0 0",
    "PFADD K W",
    "PFCOUNT K",
    "GEOADD K 1.5 2.5 W",
    "GEODIST K W W",
    "GEOPOS K W",
    "XADD K 1-* W W",
    "XLEN K",
    "XRANGE K - +",
    "SORT K ALPHA",
    "ECHO W",
    "PING",
    "EVAL return{KEYS[1],1,false,{ok='x'}} 1 K",
    "GET",
    "LPUSH K",
    "NOSUCH K",
    "EXPIRE K x",
    "OBJECT HELP x",
    "BLPOP none 0.001",
    "SETEX K 0 W",
    "FLUSHDB",
];

fn command(rng: &mut fastrand::Rng) -> Vec<String> {
    // Emptying everything is rare.
    let at = if rng.u8(..) == 0 { COMMANDS.len() - 1 } else { rng.usize(..COMMANDS.len() - 1) };
    let word = |word: &str, rng: &mut fastrand::Rng| match word {
        "K" => format!("key:{}", rng.u8(..12)),
        "W" => {
            ["a", "b", "word", "another one", "\r\n\0", "x".repeat(200).as_str()][rng.usize(..6)].to_owned()
        }
        "N" => rng.i32(-3..40).to_string(),
        word => word.to_owned(),
    };
    COMMANDS[at].split(' ').map(|part| word(part, rng)).collect()
}

fn compare(kind: Kind, own: u64) {
    let server = Server::of(kind, &[]);
    let mut client: Client = server.client();
    client.ask("HELLO 3");
    let store: Store = store();
    let mut rng = fastrand::Rng::with_seed(seed(own));
    let mut differences = String::new();
    for _ in 0..4000 {
        let words = command(&mut rng);
        let (here, there) = (of_reply(&store.command(&words)), of_value(&client.cmd(&words)));
        if here != there {
            differences += &format!("{words:?}\n  {here}\n  {there}\n");
        }
    }
    kind.judge(&mut client, &differences);
}

#[test]
fn as_larder_by_a_socket() {
    compare(Kind::Larder, 1);
}

#[test]
fn as_valkey_by_a_socket() {
    compare(Kind::Valkey, 2);
}
