//! docs/migrate.md: every line that begins with `old>` or `new>` is sent, in order.

use crate::{PATIENCE, blocks, document, wait_until};
use larder_testkit::{Client, Kind, Server, words};
use std::time::Instant;

const VALUES: usize = 500;

struct Move {
    old: Server,
    new: Server,
}

impl Move {
    fn client(&self, name: &str) -> Client {
        match name {
            "old" => self.old.client(),
            "new" => self.new.client(),
            other => panic!("no server {other}"),
        }
    }

    /// Runs the lines of a block. The addresses of the document are those of the servers.
    fn run(&self, block: &str) {
        for line in block.lines() {
            let (to, line) = line.split_once("> ").unwrap_or_else(|| panic!("{line:?} names no server"));
            let (command, wanted) = line.split_once('#').map_or((line, None), |(command, note)| {
                (command, Some(note.trim().strip_prefix("until it shows ").expect("a note says until when")))
            });
            let command = command
                .trim()
                .replace("10.0.0.1 6379", &format!("127.0.0.1 {}", self.old.port()))
                .replace("10.0.0.2 6379", &format!("127.0.0.1 {}", self.new.port()));
            let mut client = self.client(to);
            let Some(wanted) = wanted else {
                let reply = client.cmd(&words(&command));
                assert_eq!(reply.text(), "OK", "{to}> {command}");
                continue;
            };
            let deadline = Instant::now() + PATIENCE;
            loop {
                let reply = client.cmd(&words(&command)).to_string();
                if reply.contains(wanted) {
                    break;
                }
                assert!(Instant::now() < deadline, "{to}> {command} shows no {wanted}: {reply}");
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    }
}

fn fill(client: &mut Client, from: usize) {
    for i in from..from + VALUES {
        client.ask(&format!("SET key:{i} {i}"));
        client.ask(&format!("RPUSH list:{} {i}", i % 7));
        client.ask(&format!("ZADD scores {i}.5 member:{i}"));
        client.ask(&format!("HSET hash:{} field:{i} {i}", i % 5));
        client.ask(&format!("XADD stream * n {i}"));
    }
}

fn holds(client: &mut Client, count: usize) {
    for i in (0..count).step_by(37) {
        assert_eq!(client.ask(&format!("GET key:{i}")).text(), i.to_string());
    }
    assert_eq!(client.ask("ZCARD scores").int() as usize, count);
    assert_eq!(client.ask("XLEN stream").int() as usize, count);
    let lists: i64 = (0..7).map(|n| client.ask(&format!("LLEN list:{n}")).int()).sum();
    assert_eq!(lists as usize, count);
}

fn moves_in_and_out(kind: Kind) {
    let [moving_in, handing_over, moving_out, by_files] = &blocks(&document("migrate.md"), "text")[..] else {
        panic!("the document has other steps");
    };
    let args = ["--repl-diskless-sync-delay", "0"];
    let servers = Move { old: Server::of(kind, &args), new: Server::larder(&args) };
    fill(&mut servers.old.client(), 0);
    servers.run(moving_in);
    holds(&mut servers.new.client(), VALUES);
    servers.run(handing_over);
    assert!(servers.old.client().ask("SET a 1").text().starts_with("READONLY"), "{kind:?} is a replica");
    fill(&mut servers.new.client(), VALUES);
    servers.run(moving_out);
    assert!(servers.new.client().ask("SET a 1").text().starts_with("READONLY"), "Larder is a replica");
    holds(&mut servers.old.client(), 2 * VALUES);
    fill(&mut servers.old.client(), 2 * VALUES);
    let mut ours = servers.new.client();
    wait_until("what was written at the end arrives", || {
        ours.ask("XLEN stream").int() as usize == 3 * VALUES
    });
    // By files: another server of the old kind reads what Larder saves.
    servers.run(by_files);
    let mut reader = Server::of(kind, &[]);
    reader.stop();
    std::fs::copy(servers.new.dir().join("dump.rdb"), reader.dir().join("dump.rdb")).unwrap();
    assert!(reader.start_again(&["--enable-debug-command", "yes"]), "{}", reader.log());
    holds(&mut reader.client(), 3 * VALUES);
    // And Larder what the old one saves.
    assert_eq!(servers.old.client().ask("SAVE").text(), "OK");
    let mut larder = Server::larder(&[]);
    larder.stop();
    std::fs::copy(servers.old.dir().join("dump.rdb"), larder.dir().join("dump.rdb")).unwrap();
    let lenient: &[&str] = if kind == Kind::Redis8 { &["--rdb-version-check", "relaxed"] } else { &[] };
    assert!(larder.start_again(lenient), "{}", larder.log());
    holds(&mut larder.client(), 3 * VALUES);
}

#[test]
fn from_redis_7_and_back() {
    moves_in_and_out(Kind::Redis);
}

#[test]
fn from_redis_8_and_back() {
    moves_in_and_out(Kind::Redis8);
}

#[test]
fn from_valkey_and_back() {
    moves_in_and_out(Kind::Valkey);
}
