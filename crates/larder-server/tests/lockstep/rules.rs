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
    /// The elements, and those of elements, in any order.
    UnorderedDeep,
    /// The kind of the reply and its length: what it contains is drawn at random, or a server's own.
    Shape,
    /// Everything, but that numbers as large as this are the same.
    UpTo(i64),
    /// Everything, but which of two encodings a sorted set has, and a short string.
    Encoding,
    /// The same, in any order.
    ShapeUnordered,
    /// Everything, but what comes after a zero byte in an element.
    UpToZero,
    /// Whether it is an error, and which.
    Success,
    /// The elements of all steps of a scan, each once.
    Scan,
    /// It is not sent: its effect is random, a server's own, or ends the comparison.
    Never,
}

/// Times from then on are all the same.
pub const FAR_TIME_MS: i64 = 1 << 47;
const FAR_MS: Rule = Rule::UpTo(FAR_TIME_MS);
const FAR_S: Rule = Rule::UpTo(FAR_TIME_MS / 1000);

/// Commands that are not compared as everything else is. The longest name that fits counts.
const RULES: &[(&str, Rule)] = &[
    ("KEYS", Rule::Unordered),
    ("SMEMBERS", Rule::Unordered),
    ("SINTER", Rule::Unordered),
    ("SUNION", Rule::Unordered),
    ("SDIFF", Rule::Unordered),
    ("HKEYS", Rule::Unordered),
    ("HVALS", Rule::Unordered),
    // Valkey counts fields that are overdue.
    ("HLEN", Rule::Shape),
    ("HGETALL", Rule::UnorderedPairs),
    ("SCAN", Rule::Scan),
    ("HSCAN", Rule::Scan),
    ("SSCAN", Rule::Scan),
    ("ZSCAN", Rule::Scan),
    ("SRANDMEMBER", Rule::Shape),
    ("HRANDFIELD", Rule::Shape),
    ("ZRANDMEMBER", Rule::Shape),
    ("DUMP", Rule::Shape),
    ("MEMORY USAGE", Rule::Shape),
    ("TIME", Rule::Shape),
    ("XINFO STREAM", Rule::Shape),
    // Deadlines have 48 bits.
    ("PTTL", FAR_MS),
    ("HPTTL", FAR_MS),
    ("PEXPIRETIME", FAR_MS),
    ("HPEXPIRETIME", FAR_MS),
    ("TTL", FAR_S),
    ("HTTL", FAR_S),
    ("EXPIRETIME", FAR_S),
    ("HEXPIRETIME", FAR_S),
    ("OBJECT FREQ", Rule::Shape),
    // In Valkey a queued argument that has become a value is counted twice until the transaction ends.
    ("OBJECT REFCOUNT", Rule::Shape),
    // SORT of Valkey turns any sorted set that it reads into a skiplist, and scripts leave some integers as text.
    ("OBJECT ENCODING", Rule::Encoding),
    ("ACL DRYRUN", Rule::Same),
    ("ACL USERS", Rule::Same),
    ("ACL WHOAMI", Rule::Same),
    ("CLIENT CAPA", Rule::Same),
    ("CLIENT GETNAME", Rule::Same),
    ("CLIENT GETREDIR", Rule::Same),
    ("CLIENT NO-EVICT", Rule::Same),
    ("CLIENT NO-TOUCH", Rule::Same),
    ("CLIENT SETINFO", Rule::Same),
    ("CLIENT SETNAME", Rule::Same),
    ("CLIENT TRACKINGINFO", Rule::Same),
    ("COMMAND GETKEYS", Rule::Same),
    ("COMMAND GETKEYSANDFLAGS", Rule::Same),
    ("CONFIG RESETSTAT", Rule::Same),
    ("FUNCTION DELETE", Rule::Same),
    ("FUNCTION DUMP", Rule::Shape),
    ("FUNCTION FLUSH", Rule::Same),
    ("FUNCTION KILL", Rule::Same),
    ("FUNCTION LIST", Rule::UnorderedDeep),
    ("FUNCTION LOAD", Rule::Same),
    ("PUBSUB CHANNELS", Rule::Unordered),
    ("PUBSUB SHARDCHANNELS", Rule::Unordered),
    ("SCRIPT EXISTS", Rule::Same),
    ("SCRIPT FLUSH", Rule::Same),
    ("SCRIPT KILL", Rule::Same),
    ("SCRIPT LOAD", Rule::Same),
    ("SCRIPT SHOW", Rule::Same),
    ("SPOP", Rule::Never),
    // It deletes overdue keys that it draws.
    ("RANDOMKEY", Rule::Never),
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
    ("PSYNC", Rule::Never),
    ("REPLCONF", Rule::Never),
    ("REPLICAOF", Rule::Never),
    ("ROLE", Rule::Never),
    ("SAVE", Rule::Never),
    ("SCRIPT", Rule::Never),
    ("SHUTDOWN", Rule::Never),
    ("SLAVEOF", Rule::Never),
    ("SLOWLOG", Rule::Never),
    ("SYNC", Rule::Never),
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
    // It takes longer than a thousand others.
    ("PFSELFTEST", Rule::Never),
    // Waits for replicas and disks.
    ("WAIT", Rule::Never),
    ("WAITAOF", Rule::Never),
];

/// A sorted set whose members all have the same score.
pub const LEX_KEY: &[u8] = b"zl";

/// Where a command that reads members in their own order has its key.
pub fn lex_key(args: &[Vec<u8>]) -> Option<usize> {
    let is = |arg: &[u8], name: &str| arg.eq_ignore_ascii_case(name.as_bytes());
    let has = |word: &str| args.iter().any(|arg| is(arg, word));
    let name = args.first()?;
    match name {
        _ if is(name, "ZRANGESTORE") && has("BYLEX") => Some(2),
        _ if is(name, "ZRANGE") && has("BYLEX") => Some(1),
        _ if ["ZRANGEBYLEX", "ZREVRANGEBYLEX", "ZLEXCOUNT", "ZREMRANGEBYLEX"]
            .iter()
            .any(|lex| is(name, lex)) =>
        {
            Some(1)
        }
        _ => None,
    }
}

/// The rule of a command.
pub fn rule_of(args: &[Vec<u8>]) -> Rule {
    let upper = |at: usize| args.get(at).map(|arg| String::from_utf8_lossy(arg).to_uppercase());
    let name = upper(0).unwrap_or_default();
    let is_sort = matches!(&*name, "SORT" | "SORT_RO");
    let has = |word: &str| args[1..].iter().any(|arg| arg.eq_ignore_ascii_case(word.as_bytes()));
    if is_sort {
        // Elements of equal weight come in any order. In alphabetical order Valkey compares elements up to a zero byte, unless they
        // are stored.
        let is_any = has("BY") || has("ALPHA") && has("GET") && !has("STORE");
        return match (is_any, has("STORE"), has("LIMIT")) {
            (true, true, _) => Rule::Never,
            (true, false, true) => Rule::Shape,
            (true, false, false) => Rule::Unordered,
            (false, false, _) if has("ALPHA") => Rule::UpToZero,
            _ => Rule::Same,
        };
    }
    // Valkey counts a negative offset from the other end of a skiplist, and not in a listpack.
    let offset = args.iter().position(|arg| arg.eq_ignore_ascii_case(b"LIMIT")).map(|at| at + 1);
    if name.starts_with('Z') && offset.and_then(|at| args.get(at)).is_some_and(|arg| arg.starts_with(b"-")) {
        return Rule::Never;
    }
    // Deadlines have 48 bits: none of those beyond is later than another.
    let is_far_time =
        |arg: &Vec<u8>| String::from_utf8_lossy(arg).parse::<i64>().is_ok_and(|n| n >= FAR_TIME_MS / 1000);
    if name.contains("EXPIRE") && (has("LT") || has("GT")) && args.iter().any(is_far_time) {
        return Rule::Never;
    }
    let full = upper(1).map(|sub| format!("{name} {sub}"));
    // Without equal scores, where such a range begins depends on the levels of a skiplist.
    if let Some(at) = lex_key(args)
        && args.get(at).is_some_and(|key| key != LEX_KEY)
    {
        return Rule::Never;
    }
    // Valkey takes the lower 32 bits of the index.
    let is_far =
        |arg: &Vec<u8>| String::from_utf8_lossy(arg).parse::<i64>().is_ok_and(|n| i32::try_from(n).is_err());
    if name == "LSET" && args.get(2).is_some_and(is_far) {
        return Rule::Never;
    }
    // Valkey takes a key of such a name for the word.
    const WORDS: &[&str] =
        &["FIELDS", "FNX", "FXX", "NX", "XX", "EX", "PX", "EXAT", "PXAT", "KEEPTTL", "PERSIST"];
    if matches!(&*name, "HSETEX" | "HGETEX") && upper(1).is_some_and(|key| WORDS.contains(&&*key)) {
        return Rule::Never;
    }
    // Valkey breaks the protocol.
    if name == "FUNCTION" && args.iter().any(|arg| arg.contains(&b'\n')) && !has("LOAD") {
        return Rule::Never;
    }
    // Valkey looks at what stands before the first zero byte.
    if name == "CLIENT" && args.iter().any(|arg| arg.contains(&0)) {
        return Rule::Never;
    }
    // The texts are our own.
    if args.len() == 2 && upper(1).as_deref() == Some("HELP") {
        return Rule::Never;
    }
    let find = |name: &str| RULES.iter().find(|(known, _)| *known == name).map(|(_, rule)| *rule);
    full.and_then(|full| find(&full)).or_else(|| find(&name)).unwrap_or(Rule::Same)
}

/// Whether a command changes to which channels its connection listens. How many replies that has depends on what it did
/// before.
pub fn subscribes(args: &[Vec<u8>]) -> bool {
    const NAMES: [&str; 6] =
        ["SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE", "SUNSUBSCRIBE"];
    args.first().is_some_and(|name| NAMES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes())))
}

/// The rule by which the reply is compared, of a script that of the command that it calls.
pub fn rule_of_reply(args: &[Vec<u8>]) -> Rule {
    const SCRIPTS: [&str; 6] = ["EVAL", "EVAL_RO", "EVALSHA", "EVALSHA_RO", "FCALL", "FCALL_RO"];
    let is_script = args
        .first()
        .is_some_and(|name| SCRIPTS.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes())));
    match rule_of(args) {
        _ if is_script && args.len() > 3 => match rule_of(&args[3..]) {
            Rule::Same if may_set_protocol(args) => Rule::UnorderedDeep,
            Rule::Shape => Rule::ShapeUnordered,
            Rule::Never => Rule::Same,
            rule => rule,
        },
        Rule::Never if args.first().is_some_and(|name| name.eq_ignore_ascii_case(b"HELLO")) => Rule::Success,
        Rule::Never => Rule::Same,
        rule => rule,
    }
}

/// Whether a script may ask for the newer protocol: of one that is named by its hash, nobody knows.
fn may_set_protocol(args: &[Vec<u8>]) -> bool {
    args[0].to_ascii_uppercase().starts_with(b"EVALSHA")
        || args[1].windows(10).any(|part| part == b"setresp(3)")
}

/// A reply without what the rule lets differ.
pub fn normal(value: &Value, rule: Rule) -> Value {
    match rule {
        Rule::Unordered => reorder(value, 1),
        Rule::UnorderedPairs => reorder(value, 2),
        Rule::UnorderedDeep => reorder_all(value),
        Rule::Shape => shape(value),
        Rule::ShapeUnordered => reorder_all(&shape(value)),
        Rule::Scan => scanned(value),
        Rule::UpTo(most) => up_to(value, most),
        Rule::Encoding => match &*value.text() {
            "skiplist" => Value::Bulk(b"listpack".to_vec()),
            "int" => Value::Bulk(b"embstr".to_vec()),
            // In Valkey overdue fields make a hash remain what it was.
            "hashtable" => Value::Bulk(b"listpack".to_vec()),
            _ => value.clone(),
        },
        Rule::UpToZero => up_to_zero(value),
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

/// Nothing of one step of a scan: how far it goes is a server's own. Whole scans are compared where they can be.
fn scanned(value: &Value) -> Value {
    if matches!(value.items(), [_, _]) { Value::Null } else { value.clone() }
}

fn up_to_zero(value: &Value) -> Value {
    match value {
        Value::Bulk(bytes) => Value::Bulk(bytes.split(|&byte| byte == 0).next().unwrap_or_default().to_vec()),
        Value::Array(items) => Value::Array(items.iter().map(up_to_zero).collect()),
        other => other.clone(),
    }
}

fn up_to(value: &Value, most: i64) -> Value {
    match value {
        // Lua's numbers lose the last bits of large ones.
        Value::Int(number) => Value::Int(number.saturating_abs().min(most)),
        Value::Array(items) => Value::Array(items.iter().map(|item| up_to(item, most)).collect()),
        other => other.clone(),
    }
}

/// The same with all collections in order, those in others too: Lua's tables have no order that scripts can rely on.
fn reorder_all(value: &Value) -> Value {
    let all = |items: &[Value]| items.iter().map(reorder_all).collect();
    match value {
        Value::Array(items) => reorder(&Value::Array(all(items)), 1),
        Value::Set(items) => reorder(&Value::Set(all(items)), 1),
        Value::Map(items) => reorder(&Value::Map(all(items)), 2),
        other => other.clone(),
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
        Value::Push(items) => Value::Push(items.iter().map(shape).collect()),
        other => other.clone(),
    }
}
