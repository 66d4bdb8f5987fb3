//! A call of every command, from `commands.txt`, and the data that they work on.

use larder_testkit::{Client, words};

const COMMANDS: &str = include_str!("commands.txt");

const DATA: &str = "
    FLUSHALL
    SET s v
    SET n 1
    RPUSH l a b c
    HSET h f v c 1
    SADD t a b
    SADD t2 b c
    ZADD z 1 a 2 b
    ZADD z2 1 b
    XADD x 1-1 f v
    XGROUP CREATE x g 0
    PFADD hll a
";

/// Puts the data in the place of all that there is.
pub fn fill(client: &mut Client) {
    ask_all(client, DATA);
}

/// Sends these commands, a line each, of which none fails.
pub fn ask_all(client: &mut Client, lines: &str) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let reply = client.cmd(&words(line));
        assert!(!reply.is_error(), "{line}: {reply}");
    }
}

/// The calls, with what is done before them.
pub fn lines() -> impl Iterator<Item = &'static str> {
    COMMANDS.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}
