//! The values of arguments: few of each kind, so that calls meet each other's data, and some at the ends of their range.

use super::{Argument, Kind, Source};

/// What values are drawn from.
///
/// No value makes a call take long or need much memory, whatever argument it lands in, and unless `near` is set no time is near: a
/// key or a field that gets a deadline keeps it for the whole of a test, or loses it at once. Blocking commands get short
/// timeouts, but a nearly valid call may have one that never ends: run these in transactions, where nobody waits.
pub struct Vocabulary {
    /// Whether an argument is used where it may be left out, or is one of several.
    pub allows: fn(&Argument) -> bool,
    /// For servers whose clock the test moves: most deadlines are at most 500 seconds or milliseconds away,
    /// and blocking commands wait for 50 seconds or more.
    pub near: bool,
}

impl Default for Vocabulary {
    fn default() -> Self {
        Vocabulary { allows: |_| true, near: false }
    }
}

/// Keys of each group of commands. Others are taken at times.
const KEYS: &[(&str, &[&str])] = &[
    ("bitmap", &["s1", "s2", "b1", "b2"]),
    ("geo", &["g1", "g2"]),
    ("hash", &["h1", "h2", "h3"]),
    ("hyperloglog", &["p1", "p2"]),
    ("list", &["l1", "l2", "l3"]),
    ("set", &["t1", "t2", "t3", "t4"]),
    ("sorted-set", &["z1", "z2", "z3"]),
    ("stream", &["x1", "x2"]),
    ("string", &["s1", "s2", "n1", "n2"]),
];

const ANY_KEY: &[&str] =
    &["s1", "n1", "b1", "l1", "h1", "t1", "t4", "z1", "x1", "g1", "p1", "s2", "l2", "h2", "z2", "none"];

const INTEGERS: &[&str] = &["0", "1", "2", "3", "5", "10", "-1", "-2", "-3", "7", "100", "-100"];

const EDGE_INTEGERS: &[&str] = &[
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "4611686018427387904",
    "01",
    "+1",
    " 1",
    "1 ",
    "1.0",
    "",
    "x",
    "-0",
];

const DOUBLES: &[&str] = &["0", "1", "2", "-1", "1.5", "-2.5", "3", "10", "0.001", "100"];

const EDGE_DOUBLES: &[&str] = &[
    "inf", "-inf", "+inf", "nan", "1e400", "-1e-400", "1e5", "0x10", "(1", "(2.5", " 1", "1 ", "", "x", "-0",
];

const PATTERNS: &[&str] =
    &["*", "f*", "m*", "?1", "[a-m]*", "m[^1]", "\\*", "[", "", "nothing*", "w_*", "h1->f1"];

const JUNK: &[&str] =
    &["", "x", "0", "-1", "*", "1.5", "LIMIT", "COUNT", "NX", "l1", "none", "9223372036854775807", "-inf"];

/// Strings by what arguments are called.
const STRINGS: &[(&str, &[&str])] = &[
    ("category", &["read", "string", "nonsense"]),
    ("channel", &["c1", "c2"]),
    ("consumer", &["c1", "c2", "c3"]),
    ("encoding", &["u8", "i8", "u1", "i64", "u63", "u64", "i16", "u0", "x"]),
    ("field", &["f1", "f2", "f3", "f4", "f5", "f6"]),
    ("group", &["g1", "g2", "g3"]),
    (
        "id",
        &[
            "0",
            "1-1",
            "2",
            "3-1",
            "5-*",
            "0-0",
            "9-9",
            "$",
            ">",
            "-",
            "+",
            "*",
            "1-",
            "x",
            "18446744073709551615-1",
        ],
    ),
    ("member", &["m1", "m2", "m3", "m4", "1", "2", "a", "b"]),
    ("threshold", &["0", "1", "2", "100", "1-1", "3-1", "9999-0"]),
];

const RANGE_ENDS: &[&str] = &[
    "-", "+", "[a", "(a", "[m2", "(m3", "[", "(", "0", "1", "-1", "2", "(1", "(2", "-inf", "+inf", "1-1",
    "(3-1", "x",
];

const VALUES: &[&str] =
    &["v", "1", "a", "b", "10", "-5", "1.5", "m1", "f1", "", "hello world", "\r\n", "3000000000"];

impl Vocabulary {
    /// Whether a word is the name of a key: one of those that commands are given, though it may be meant as something else.
    pub fn is_key(word: &[u8]) -> bool {
        ANY_KEY.iter().chain(KEYS.iter().flat_map(|(_, keys)| *keys)).any(|key| key.as_bytes() == word)
    }

    pub(super) fn allows(&self, argument: &Argument) -> bool {
        (self.allows)(argument)
    }

    /// Commands that fill the keys.
    pub fn data() -> &'static [&'static str] {
        &[
            "MSET s1 hello s2 world n1 10 n2 -3 b1 abc b2 zz",
            "RPUSH l1 a b c 1 2 3",
            "RPUSH l2 1 2 10 m1",
            "HSET h1 f1 v1 f2 2 f3 3.5",
            "HSET h2 f1 1 f4 x",
            "SADD t1 m1 m2 m3 a",
            "SADD t2 m2 m3 b",
            "SADD t4 1 2 3",
            "ZADD z1 1 m1 2 m2 3 m3 4 a",
            "ZADD z2 0 a 0 b 0 m1 0 m2",
            "XADD x1 1-1 f1 v1",
            "XADD x1 2-1 f2 v2 f3 v3",
            "XADD x1 3-1 f1 v4",
            "XGROUP CREATE x1 g1 0",
            "XREADGROUP GROUP g1 c1 COUNT 2 STREAMS x1 >",
            "GEOADD g1 13.361389 38.115556 m1 15.087269 37.502669 m2",
            "PFADD p1 a b c",
        ]
    }

    pub(super) fn value(&self, argument: &Argument, group: &str, source: &mut impl Source) -> Vec<u8> {
        let text = match argument.kind {
            Kind::Key => key(argument, group, source),
            Kind::Integer => integer(argument, self.near, source),
            Kind::UnixTime => time(argument, source),
            Kind::Double => double(argument, self.near, source),
            Kind::Pattern => (*source.choose(PATTERNS)).to_owned(),
            _ => string(&argument.name.to_lowercase(), source),
        };
        text.into_bytes()
    }

    pub(super) fn junk(&self, source: &mut impl Source) -> Vec<u8> {
        match source.below(10) {
            0 => (*source.choose(EDGE_INTEGERS)).into(),
            1 => (*source.choose(EDGE_DOUBLES)).into(),
            2 => vec![0, 0xff, b'\'', b'"'],
            _ => (*source.choose(JUNK)).into(),
        }
    }
}

fn key(argument: &Argument, group: &str, source: &mut impl Source) -> String {
    let own = KEYS.iter().find(|(name, _)| *name == group).map_or(ANY_KEY, |(_, keys)| *keys);
    let any = argument.name.starts_with("dest") || argument.name == "newkey" || source.once_in(12);
    (*source.choose(if any { ANY_KEY } else { own })).to_owned()
}

fn integer(argument: &Argument, near: bool, source: &mut impl Source) -> String {
    let few = |all: &[&str], source: &mut _| (*Source::choose(source, all)).to_owned();
    match (&*argument.name, argument.token.as_deref()) {
        ("cursor", _) if !source.once_in(10) => "0".to_owned(),
        ("db" | "destination-db" | "index1" | "index2", _) => {
            few(&["0", "1", "2", "15", "16", "-1", "x"], source)
        }
        ("milliseconds", Some("BLOCK")) | ("timeout", _) if near => {
            few(&["0", "50000", "90000", "-1", "x"], source)
        }
        ("seconds" | "milliseconds" | "ttl", _) if near && !source.once_in(3) => {
            few(&["1", "5", "50", "500", "100"], source)
        }
        ("milliseconds", Some("BLOCK")) | ("timeout", _) => few(&["1", "2", "-1", "x"], source),
        ("seconds" | "milliseconds" | "ttl", _) => span(argument, source),
        ("bit" | "value", _) if !source.once_in(4) => few(&["0", "1"], source),
        ("client-id", _) => few(&["999999", "0", "-1", "x"], source),
        _ if source.once_in(12) => few(EDGE_INTEGERS, source),
        _ => few(INTEGERS, source),
    }
}

/// How long until a deadline: far away, past, or out of range.
fn span(argument: &Argument, source: &mut impl Source) -> String {
    let far = if argument.name == "milliseconds" { "10000000" } else { "10000" };
    let all =
        [far, far, far, "0", "-1", "9223372036854775807", "9223372036854776", "x", "-9223372036854775808"];
    (*source.choose(&all)).to_owned()
}

fn time(argument: &Argument, source: &mut impl Source) -> String {
    let far = if argument.name.contains("milli") { "9999999999000" } else { "9999999999" };
    let all = [far, far, far, "1", "0", "-1", "9223372036854775807", "9223372036854776", "x"];
    (*source.choose(&all)).to_owned()
}

fn double(argument: &Argument, near: bool, source: &mut impl Source) -> String {
    if argument.name == "timeout" && near {
        return (*source.choose(&["0", "50", "90.5", "-1", "x"])).to_owned();
    }
    if argument.name == "timeout" {
        return (*source.choose(&["0.001", "0.002", "-1", "x"])).to_owned();
    }
    let edge = source.once_in(12);
    (*source.choose(if edge { EDGE_DOUBLES } else { DOUBLES })).to_owned()
}

fn string(name: &str, source: &mut impl Source) -> String {
    let own = STRINGS.iter().find(|(part, _)| name.ends_with(part) || name.starts_with(part));
    let all = match (name, own) {
        ("min" | "max" | "start" | "stop" | "end", _) => RANGE_ENDS,
        ("min-idle-time" | "bits", _) => INTEGERS,
        ("type", _) => &["string", "list", "LIST", "hash", "stream", "zset", "set", "nonsense"],
        (_, Some((_, all))) => *all,
        _ => VALUES,
    };
    (*source.choose(all)).to_owned()
}
