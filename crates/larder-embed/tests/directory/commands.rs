//! Commands that leave something of every type. Deadlines are in the year 2100. What they do depends on nothing but the data.

/// The commands, one a line.
pub const LINES: &[&str] = &[
    "SET string value",
    "SET number 12",
    "SETRANGE sparse 3000 end",
    "SET ends value PXAT 4102444800000",
    "APPEND string more",
    "RPUSH list a b c d",
    "LPOP list",
    "SADD set a b c",
    "SADD integers 1 2 3 70000",
    "SREM set b",
    "ZADD zset 1 a 2.5 b inf c",
    "ZINCRBY zset 2 a",
    "HSET hash a 1 b 2 c 3",
    "HINCRBY hash a 41",
    "HPEXPIREAT hash 4102444800000 FIELDS 1 c",
    "PEXPIREAT hash 4102444800000",
    "XADD stream 1-1 a 1",
    "XADD stream 1-2 b 2",
    "XGROUP CREATE stream group 1-1",
    "XADD stream 2-1 c 3",
    "XDEL stream 1-1",
    "PFADD hyper a b c",
    "SETBIT bits 70 1",
    "GEOADD places 13.361389 38.115556 Palermo",
    "SET gone 1",
    "DEL gone",
    "RENAME number renamed",
    "COPY list copied",
];

/// More than a few elements, so that collections are made of several blocks: commands in the same form.
pub fn long_lines() -> Vec<String> {
    let mut lines = Vec::new();
    for number in 0..700 {
        let text = "x".repeat(number % 90);
        lines.push(format!("RPUSH long:list {number}{text}"));
        lines.push(format!("SADD long:set {number}{text}"));
        lines.push(format!("HSET long:hash {number} {text}."));
        lines.push(format!("ZADD long:zset {} {number}", number * 7 % 31));
        lines.push(format!("SET key:{number} {text}."));
    }
    lines
}
