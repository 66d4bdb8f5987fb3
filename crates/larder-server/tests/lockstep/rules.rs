//! How the replies to a command are compared.

use larder_testkit::Value;

/// What two replies must have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Everything.
    Same,
    /// The elements, in any order.
    Unordered,
    /// Pairs of elements, in any order.
    UnorderedPairs,
    /// The kind of the reply and its length: what it contains is drawn at random, or a server's own.
    Shape,
    /// Whether it is an error, and which.
    Success,
    /// The elements of all steps of a scan, each once.
    Scan,
    /// It is not sent: its effect is random, a server's own, or ends the comparison.
    Never,
}

/// Commands that are not compared as everything else is. The longest name that fits counts.
const RULES: &[(&str, Rule)] = &[
    ("KEYS", Rule::Unordered),
    ("SMEMBERS", Rule::Unordered),
    ("SINTER", Rule::Unordered),
    ("SUNION", Rule::Unordered),
    ("SDIFF", Rule::Unordered),
    ("HKEYS", Rule::Unordered),
    ("HVALS", Rule::Unordered),
    ("HGETALL", Rule::UnorderedPairs),
    ("SCAN", Rule::Scan),
    ("HSCAN", Rule::Scan),
    ("SSCAN", Rule::Scan),
    ("ZSCAN", Rule::Scan),
    ("SRANDMEMBER", Rule::Shape),
    ("HRANDFIELD", Rule::Shape),
    ("ZRANDMEMBER", Rule::Shape),
    ("RANDOMKEY", Rule::Shape),
    ("DUMP", Rule::Shape),
    ("MEMORY USAGE", Rule::Shape),
    ("TIME", Rule::Shape),
    ("XINFO STREAM", Rule::Shape),
    ("OBJECT FREQ", Rule::Shape),
    ("SPOP", Rule::Never),
    ("HELLO", Rule::Never),
    ("QUIT", Rule::Never),
    ("RESTORE", Rule::Never),
    ("MIGRATE", Rule::Never),
    ("ACL", Rule::Never),
    ("ASKING", Rule::Never),
    ("AUTH", Rule::Never),
    ("BGREWRITEAOF", Rule::Never),
    ("BGSAVE", Rule::Never),
    ("CLIENT", Rule::Never),
    ("CLUSTER", Rule::Never),
    ("COMMAND", Rule::Never),
    ("COMMANDLOG", Rule::Never),
    ("CONFIG", Rule::Never),
    ("DEBUG", Rule::Never),
    ("FAILOVER", Rule::Never),
    ("FUNCTION", Rule::Never),
    ("INFO", Rule::Never),
    ("LASTSAVE", Rule::Never),
    ("LATENCY", Rule::Never),
    ("LOLWUT", Rule::Never),
    ("MEMORY", Rule::Never),
    ("MODULE", Rule::Never),
    ("MONITOR", Rule::Never),
    ("PSUBSCRIBE", Rule::Never),
    ("PSYNC", Rule::Never),
    ("PUNSUBSCRIBE", Rule::Never),
    ("REPLCONF", Rule::Never),
    ("REPLICAOF", Rule::Never),
    ("ROLE", Rule::Never),
    ("SAVE", Rule::Never),
    ("SCRIPT", Rule::Never),
    ("SHUTDOWN", Rule::Never),
    ("SLAVEOF", Rule::Never),
    ("SLOWLOG", Rule::Never),
    ("SSUBSCRIBE", Rule::Never),
    ("SUBSCRIBE", Rule::Never),
    ("SUNSUBSCRIBE", Rule::Never),
    ("SYNC", Rule::Never),
    ("UNSUBSCRIBE", Rule::Never),
    // They are sent where a sequence wants them.
    ("MULTI", Rule::Never),
    ("EXEC", Rule::Never),
    ("DISCARD", Rule::Never),
    ("WATCH", Rule::Never),
    ("EVAL", Rule::Never),
    ("EVAL_RO", Rule::Never),
    ("EVALSHA", Rule::Never),
    ("EVALSHA_RO", Rule::Never),
    ("FCALL", Rule::Never),
    ("FCALL_RO", Rule::Never),
    // Waits for replicas and disks.
    ("WAIT", Rule::Never),
    ("WAITAOF", Rule::Never),
];

/// The rule of a command.
pub fn rule_of(args: &[Vec<u8>]) -> Rule {
    let upper = |at: usize| args.get(at).map(|arg| String::from_utf8_lossy(arg).to_uppercase());
    let name = upper(0).unwrap_or_default();
    let is_sort = matches!(&*name, "SORT" | "SORT_RO");
    if is_sort {
        let has = |word: &str| args[1..].iter().any(|arg| arg.eq_ignore_ascii_case(word.as_bytes()));
        return match (has("BY"), has("STORE")) {
            (true, true) => Rule::Never,
            (true, false) => Rule::Unordered,
            _ => Rule::Same,
        };
    }
    let full = upper(1).map(|sub| format!("{name} {sub}"));
    // The texts are our own.
    if args.len() == 2 && upper(1).as_deref() == Some("HELP") {
        return Rule::Never;
    }
    let find = |name: &str| RULES.iter().find(|(known, _)| *known == name).map(|(_, rule)| *rule);
    full.and_then(|full| find(&full)).or_else(|| find(&name)).unwrap_or(Rule::Same)
}

/// The rule by which the reply is compared, of a script that of the command that it calls.
pub fn rule_of_reply(args: &[Vec<u8>]) -> Rule {
    let is_script = args
        .first()
        .is_some_and(|name| name.eq_ignore_ascii_case(b"EVAL") || name.eq_ignore_ascii_case(b"EVAL_RO"));
    match rule_of(args) {
        _ if is_script && args.len() > 3 => match rule_of(&args[3..]) {
            Rule::Never => Rule::Same,
            rule => rule,
        },
        Rule::Never if args.first().is_some_and(|name| name.eq_ignore_ascii_case(b"HELLO")) => Rule::Success,
        Rule::Never => Rule::Same,
        rule => rule,
    }
}

/// A reply without what the rule lets differ.
pub fn normal(value: &Value, rule: Rule) -> Value {
    match rule {
        Rule::Unordered => reorder(value, 1),
        Rule::UnorderedPairs => reorder(value, 2),
        Rule::Shape => shape(value),
        Rule::Scan => scanned(value),
        Rule::Success if !value.is_error() => Value::Null,
        Rule::Success => value.clone(),
        Rule::Same | Rule::Never => value.clone(),
    }
}

fn reorder(value: &Value, size: usize) -> Value {
    let sorted = |items: &[Value], size: usize| {
        let mut groups: Vec<&[Value]> = items.chunks(size).collect();
        groups.sort_by_key(|group| format!("{group:?}"));
        groups.concat()
    };
    match value {
        Value::Array(items) => Value::Array(sorted(items, size)),
        Value::Set(items) => Value::Set(sorted(items, 1)),
        Value::Map(items) => Value::Map(sorted(items, 2)),
        other => other.clone(),
    }
}

/// The elements of a scan that is done; of another, only that there is more.
fn scanned(value: &Value) -> Value {
    match value.items() {
        [cursor, items] if cursor.text() == "0" => reorder(items, 1),
        [_, _] => Value::Null,
        _ => value.clone(),
    }
}

fn shape(value: &Value) -> Value {
    match value {
        Value::Bulk(_) => Value::Bulk(Vec::new()),
        Value::Verbatim(_) => Value::Verbatim(Vec::new()),
        Value::Simple(_) => Value::Simple(String::new()),
        Value::Int(_) => Value::Int(0),
        Value::Double(_) => Value::Double(String::new()),
        Value::Array(items) => Value::Array(items.iter().map(shape).collect()),
        Value::Set(items) => Value::Set(items.iter().map(shape).collect()),
        Value::Map(items) => Value::Map(items.iter().map(shape).collect()),
        other => other.clone(),
    }
}
