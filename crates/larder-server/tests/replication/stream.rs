//! The bytes that replicas are sent, beside Valkey's.

use crate::{follow, info, start, wait_for_link};
use larder_testkit::{Client, Kind, Server, Value, wait_until, words};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A replica that only listens.
struct Listener(BufReader<TcpStream>);

impl Listener {
    /// Follows a server from now on; the snapshot is thrown away.
    fn follow(server: &Server) -> Listener {
        let mut listener = Listener::that_loads(server);
        listener.acknowledge();
        listener
    }

    /// The same, but it does not say that it has loaded the snapshot.
    fn that_loads(server: &Server) -> Listener {
        let socket = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        socket.set_read_timeout(Some(crate::PATIENCE)).unwrap();
        let mut listener = Listener(BufReader::new(socket));
        listener.send("REPLCONF listening-port 1\r\n");
        assert_eq!(listener.line(), "+OK");
        listener.send("REPLCONF capa eof capa psync2\r\nREPLCONF version 9.1.2\r\n");
        assert_eq!([listener.line(), listener.line()], ["+OK", "+OK"]);
        listener.send("PSYNC ? -1\r\n");
        assert!(listener.line().starts_with("+FULLRESYNC "));
        let head = listener.line();
        let mark = head.strip_prefix("$EOF:").expect("the end is marked").to_owned();
        let mut snapshot = Vec::new();
        let mut byte = [0];
        while !snapshot.ends_with(mark.as_bytes()) {
            listener.0.read_exact(&mut byte).unwrap();
            snapshot.push(byte[0]);
        }
        listener
    }

    fn acknowledge(&mut self) {
        self.send("*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$1\r\n0\r\n");
    }

    fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// The next line that is not empty.
    fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the server has closed the connection");
            if !line.trim_end().is_empty() {
                return line.trim_end().to_owned();
            }
        }
    }

    /// The commands up to `SET the-end`, without signs of life and questions.
    fn commands(&mut self) -> Vec<String> {
        let mut commands = Vec::new();
        loop {
            let count: usize = self.line().strip_prefix('*').expect("a command").parse().unwrap();
            let args: Vec<String> = (0..count)
                .map(|_| {
                    let len: usize = self.line().strip_prefix('$').expect("an argument").parse().unwrap();
                    let mut arg = vec![0; len + 2];
                    self.0.read_exact(&mut arg).unwrap();
                    shown(&arg[..len])
                })
                .collect();
            match args[0].to_ascii_lowercase().as_str() {
                "ping" | "replconf" => {}
                "set" if args[1] == "the-end" => return commands,
                _ => commands.push(args.join(" ")),
            }
        }
    }
}

/// An argument; times of today are all the same.
fn shown(arg: &[u8]) -> String {
    let text = String::from_utf8_lossy(arg).into_owned();
    let is_time =
        |text: &str| text.len() == 13 && text.starts_with('1') && text.bytes().all(|b| b.is_ascii_digit());
    if is_time(&text) { "TIME".to_owned() } else { text }
}

fn run(kind: Kind, commands: &[&str]) -> (Vec<String>, Server) {
    let server = start(kind, &[]);
    let mut client = server.client();
    let mut listener = Listener::follow(&server);
    for command in commands {
        client.cmd(&words(command));
    }
    assert_eq!(client.ask("SET the-end 1").text(), "OK");
    // Valkey does not listen to the first one while its child has not ended.
    listener.acknowledge();
    let stream = listener.commands();
    (stream, server)
}

/// Everything whose effect is not simply the command.
const COMMANDS: &[&str] = &[
    "SET a 1 EX 100",
    "SETEX a 100 b",
    "PSETEX a 100000 b",
    "SET a 1 PXAT 99999999999999",
    "set lower case",
    "SET a 1 NX",
    "SET fresh 1 NX",
    "SET a 2 XX GET",
    "SET a 3 KEEPTTL",
    "GETSET a 4",
    "GETDEL a",
    "GETDEL none",
    "SET a 1",
    "EXPIRE a 100",
    "PEXPIRE a 100000",
    "EXPIREAT a 99999999999",
    "PERSIST a",
    "PERSIST a",
    "EXPIRE a -1",
    "EXPIRE a 10",
    "SET a 1",
    "GETEX a EX 100",
    "GETEX a",
    "GETEX a PERSIST",
    "INCRBYFLOAT a 1.5",
    "INCR n",
    "DECRBY n 5",
    "APPEND a x",
    "SETRANGE a 3 xyz",
    "HSET h f 1 g 2",
    "HINCRBYFLOAT h f 1.5",
    "HINCRBY h f2 3",
    "HSETNX h f 1",
    "HDEL h none",
    "HDEL h g",
    "HEXPIRE h 100 FIELDS 1 f",
    "HPERSIST h FIELDS 1 f",
    "HSETEX h EX 100 FIELDS 1 f v",
    "HGETEX h EX 100 FIELDS 1 f",
    "SADD s 1",
    "SADD s 1",
    "SPOP s",
    "SADD s 1 2",
    "SPOP s 5",
    "SMOVE s t 1",
    "SADD s 1",
    "SMOVE s t 1",
    "SUNIONSTORE u s t",
    "RPUSH l 1 2 3",
    "LPOP l 2",
    "LMOVE l m LEFT RIGHT",
    "BLPOP m 0.01",
    "BLMOVE l m LEFT RIGHT 1",
    "BRPOPLPUSH m l 1",
    "LREM l 0 none",
    "LMPOP 1 l LEFT",
    "ZADD z 1 a 2 b 3 c",
    "ZADD z 1 a",
    "ZADD z INCR 5 a",
    "ZPOPMIN z",
    "BZPOPMIN z 1",
    "ZRANGESTORE y z 0 -1",
    "BZMPOP 1 1 z MIN",
    "GEOADD g 1 2 p",
    "GEOSEARCHSTORE q g FROMLONLAT 1 2 BYRADIUS 10 km",
    "XADD x 1-1 f v",
    "XADD x MAXLEN ~ 10 2-1 f v",
    "XADD x MAXLEN 1 3-1 f v",
    "XGROUP CREATE x g 0",
    "XREADGROUP GROUP g c STREAMS x >",
    "XACK x g 3-1",
    "XADD x 4-1 f v",
    "XREADGROUP GROUP g c NOACK STREAMS x >",
    "XTRIM x MAXLEN ~ 1",
    "XADD x 5-1 f v",
    "XREADGROUP GROUP g c STREAMS x >",
    "XCLAIM x g d 0 5-1",
    "XAUTOCLAIM x g e 0 0",
    "XDEL x 9-9",
    "XSETID x 10-1",
    "PFADD p a b",
    "PFADD p a",
    "PFCOUNT p",
    "PFCOUNT p",
    "PFMERGE p2 p",
    "SETBIT b 7 1",
    "BITFIELD b SET u8 0 255",
    "BITFIELD b GET u8 0",
    "BITOP NOT c b",
    "MULTI",
    "SET a 1",
    "SET b 2",
    "EXEC",
    "MULTI",
    "GET a",
    "EXEC",
    "MULTI",
    "INCR one",
    "EXEC",
    "MULTI",
    "SET a 1",
    "SELECT 3",
    "SET a 2",
    "EXEC",
    "SELECT 0",
    "EVAL \"redis.call('set','k','1') redis.call('incr','k') return 1\" 0",
    "EVAL \"return redis.call('get','k')\" 0",
    "EVAL \"redis.call('incr','k')\" 0",
    "EVAL \"redis.call('publish','c','m') redis.call('set','k','1')\" 0",
    "PUBLISH channel message",
    "SPUBLISH shard message",
    "MULTI",
    "PUBLISH a b",
    "SET a 1",
    "EXEC",
    "RENAME a a2",
    "COPY a2 a3",
    "COPY a2 none DB 2",
    "MOVE a2 4",
    "SWAPDB 0 1",
    "SWAPDB 0 1",
    "SORT l BY nosort STORE sorted",
    "MSET a 1 b 2",
    "MSETNX a 1 b 2",
    "DEL none",
    "UNLINK a none b",
    "TOUCH a",
    "SET r 1",
    "RESTORE copy 100000 \"\\x00\\xc0\\x01\\x0b\\x00\\xb5\\x1f\\x9d\\x9f\\x5f\\x8a\\x0b\\x2c\" REPLACE",
    "FUNCTION LOAD \"#!lua name=lib\\nredis.register_function('f', function(keys) return redis.call('incr', keys[1]) end)\"",
    "FCALL f 1 fk",
    "FUNCTION DELETE lib",
    "SCRIPT LOAD \"return 1\"",
    "SCRIPT FLUSH",
    "SET short 1 PX 1",
    "DEBUG SLEEP 0.01",
    "GET short",
    "SET short 1 PX 1",
    "DEBUG SLEEP 0.01",
    "INCR short",
    "SET short 1 PX 1",
    "DEBUG SLEEP 0.01",
    "MULTI",
    "SET other 1",
    "INCR short",
    "EXEC",
    "FLUSHDB",
    "FLUSHDB",
    "FLUSHALL",
    "FLUSHALL",
];

#[test]
fn is_the_stream_that_valkey_sends() {
    let mut commands = vec!["DEBUG SET-ACTIVE-EXPIRE 0"];
    commands.extend(COMMANDS);
    let (expected, valkey) = run(Kind::Valkey, &commands);
    let (stream, _larder) = run(Kind::Larder, &commands);
    assert!(expected.len() > 120, "{}", expected.len());
    let (expected, stream) = (plain(&expected), plain(&stream));
    let differs = |at: &usize| expected.get(*at) != stream.get(*at);
    let Some(at) = (0..expected.len().max(stream.len())).find(differs) else { return };
    let around = |units: &[Vec<String>]| {
        let shown = units.iter().skip(at.saturating_sub(2)).take(6);
        shown.map(|unit| format!("  {}\n", unit.join(" | "))).collect::<String>()
    };
    let difference = format!("at {at}\nvalkey:\n{}larder:\n{}", around(&expected), around(&stream));
    Kind::Valkey.judge(&mut valkey.client(), &difference);
}

/// Units of commands, without what is another way to say the same: Larder sends a command as it was given if it does the same
/// anywhere, and says when a consumer was made that has read nothing yet.
fn plain(commands: &[String]) -> Vec<Vec<String>> {
    let mut units: Vec<Vec<String>> = Vec::new();
    let mut transaction = None;
    for command in commands {
        match command.as_str() {
            "MULTI" => transaction = Some(Vec::new()),
            "EXEC" => units.extend(transaction.take().filter(|unit| !unit.is_empty())),
            text if text.starts_with("XGROUP CREATECONSUMER") => {}
            text => {
                let text =
                    text.replace("GETSET ", "SET ").replace("GETDEL ", "DEL ").replace("UNLINK ", "DEL ");
                let text =
                    text.replace(" XX GET", " XX").replace("ZPOPMIN z 1", "ZPOPMIN z").to_ascii_lowercase();
                match &mut transaction {
                    Some(unit) => unit.push(text),
                    None => units.push(vec![text]),
                }
            }
        }
    }
    units
}

/// DEBUG REPLICATE sends what the primary does not execute.
#[test]
fn replicas_are_sent_what_was_not_done() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let (primary, replica) = (start(kind, &[]), start(Kind::Larder, &[]));
        follow(&mut replica.client(), &primary);
        let (mut ours, mut theirs) = (primary.client(), replica.client());
        wait_for_link(&mut theirs);
        ours.ask("SET own 1");
        assert_eq!(ours.ask("DEBUG REPLICATE SET there 1").text(), "OK");
        assert!(ours.ask("DEBUG REPLICATE").is_error());
        wait_until("it has come", || theirs.ask("GET there").text() == "1");
        assert_eq!((ours.ask("EXISTS there").int(), ours.ask("EXISTS own").int()), (0, 1));
    }
}

/// A replica that acknowledges, asks and misbehaves, as the wire has it.
#[test]
fn a_replica_must_not_ask_for_answers() {
    let server = start(Kind::Larder, &[]);
    let mut client = server.client();
    let mut listener = Listener::follow(&server);
    listener.send("REPLCONF GETACK *\r\nREPLCONF ACK 5\r\nPSYNC ? -1\r\n\n\n");
    crate::wait_until("the acknowledgement has come", || {
        client.ask("ROLE").items()[2].items().first().is_some_and(|replica| replica.items()[2].text() == "5")
    });
    listener.send("PING\r\n");
    crate::wait_until("the connection is closed", || client.ask("ROLE").items()[2].items().is_empty());
    assert!(server.log().contains("Replica generated a reply"));
    assert_eq!(client.ask("PING"), Value::Simple("PONG".to_owned()));
}

/// A replica that has the snapshot, and still loads it, is waited for as one that lags.
#[test]
fn the_end_waits_for_a_replica_that_loads() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let mut server = start(kind, &["--shutdown-timeout", "600", "--repl-diskless-sync-delay", "0"]);
        let mut listener = Listener::that_loads(&server);
        let mut client = server.client();
        crate::wait_until("the snapshot is sent", || {
            crate::info(&mut client, "replication", "slave0").contains("state=online")
        });
        assert_eq!(client.ask("SET a 1").text(), "OK");
        client.send(&["SHUTDOWN", "NOSAVE"]);
        crate::wait_until("it waits", || server.log().to_ascii_lowercase().contains("waiting for replicas"));
        assert!(server.has_ended().is_none(), "{kind:?}");
        let end: u64 =
            crate::info(&mut server.client(), "replication", "master_repl_offset").parse().unwrap();
        listener.acknowledge();
        let digits = end.to_string();
        listener.send(&format!("*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n${}\r\n{digits}\r\n", digits.len()));
        assert!(server.wait().success(), "{kind:?}");
    }
}

/// What a replica that does not read still has to get is no reason to evict keys, and it goes when the replica does, whoever writes then.
#[test]
fn a_slow_replica_costs_no_keys_and_leaves_no_memory() {
    for threads in ["1", "4"] {
        let args = ["--threads", threads, "--repl-diskless-sync-delay", "0", "--repl-backlog-size", "1mb"];
        let server = start(Kind::Larder, &args);
        let mut client = server.client();
        let number = |client: &mut Client, name: &str| info(client, "all", name).parse::<u64>().unwrap();
        for n in 0..1000 {
            client.cmd(&["SET", &format!("key:{n}"), &"v".repeat(1000)]);
        }
        let slow = Listener::follow(&server);
        client.ask("CONFIG SET maxmemory-policy allkeys-random");
        let limit = number(&mut client, "used_memory") + (8 << 20);
        client.ask(&format!("CONFIG SET maxmemory {limit}"));
        for _ in 0..600 {
            assert_eq!(client.cmd(&["SET", "k", &"v".repeat(100_000)]).text(), "OK");
        }
        assert_eq!(number(&mut client, "evicted_keys"), 0);
        assert!(number(&mut client, "mem_not_counted_for_evict") > 40 << 20);
        assert!(number(&mut client, "mem_clients_slaves") > 40 << 20);
        let list = client.ask("CLIENT LIST TYPE replica").text();
        let field = |name: &str| list.split(' ').find_map(|pair| pair.strip_prefix(name)).unwrap().to_owned();
        let bytes = field("omem=").parse::<u64>().unwrap();
        assert!(bytes > 40 << 20 && field("tot-mem=").parse::<u64>().unwrap() > bytes, "{list}");
        assert!(field("oll=").parse::<u64>().unwrap() > 100 && field("events=") == "rw", "{list}");
        // Nothing may be evicted, and nothing is written: all the same it goes.
        client.ask("CONFIG SET maxmemory-policy noeviction");
        drop(slow);
        wait_until("the memory to come back", || {
            number(&mut client, "mem_total_replication_buffers") < 2 << 20
        });
        assert_eq!(client.cmd(&["SET", "k", &"v".repeat(100_000)]).text(), "OK");
        // And so does a backlog that is made smaller.
        client.ask("CONFIG SET repl-backlog-size 16kb");
        wait_until("the backlog to become smaller", || {
            number(&mut client, "mem_total_replication_buffers") < 100 << 10
        });
    }
}

/// Nor in a way whose answer comes later, or from others: it would stand between the commands of its stream, and an element would be lost.
#[test]
fn a_replica_must_not_wait_for_answers() {
    let server = start(Kind::Larder, &[]);
    let mut client = server.client();
    for asked in
        ["BLPOP q 0", "XREAD BLOCK 0 STREAMS s $", "WAIT 1 0", "SUBSCRIBE c", "CLIENT REPLY ON", "RESET"]
    {
        let mut listener = Listener::follow(&server);
        listener.send(&format!("{asked}\r\n"));
        crate::wait_until(asked, || client.ask("ROLE").items()[2].items().is_empty());
        assert_eq!(client.ask("RPUSH q element").int(), 1, "{asked}");
        assert_eq!(client.ask("LPOP q").text(), "element", "{asked}");
    }
}
