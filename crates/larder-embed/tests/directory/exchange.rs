//! Files that a store has written and a server reads, and the reverse.

use super::{Dir, ask, commands, contents};
use larder_embed::Store;
use larder_testkit::{Client, Server};

/// How data is kept: the arguments of a server, and whether it is saved before the end.
const WAYS: &[(&[&str], bool)] = &[
    (&[], true),
    (&["--rdbcompression", "no", "--dbfilename", "other.rdb"], true),
    (&["--appendonly", "yes"], false),
    (&["--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--appendfsync", "always"], false),
    (&["--appendonly", "yes", "--appenddirname", "parts", "--appendfilename", "a b.aof"], false),
];

fn lines() -> Vec<String> {
    let short = commands::LINES.iter().map(|&line| line.to_owned());
    short.chain(commands::long_lines()).collect()
}

fn fill_server(client: &mut Client) {
    for line in lines() {
        let reply = client.ask(&line);
        assert!(!reply.is_error(), "{line}: {}", reply.text());
    }
}

fn digest(client: &mut Client) -> String {
    client.ask("DEBUG DIGEST").text()
}

/// Opens the store of a directory with the options that a server has by its arguments.
fn open(dir: &std::path::Path, args: &[&str]) -> Store {
    let options = larder_embed::Options::new().directory(dir).persist(false);
    let options = args
        .chunks(2)
        .fold(options, |options, pair| options.option(pair[0].trim_start_matches("--"), pair[1]));
    Store::open(&options).expect("the store opens")
}

#[test]
fn a_store_reads_and_goes_on_with_what_a_server_has_written() {
    for &(args, saves) in WAYS {
        let mut server = Server::larder(args);
        let mut client = server.client();
        fill_server(&mut client);
        let before = digest(&mut client);
        if saves {
            client.ask("SAVE");
        }
        drop(client);
        server.stop();
        let store = open(server.dir(), args);
        let there = contents(&store);
        store.set("by the store", "1").unwrap();
        if saves {
            ask(&store, "SAVE");
        }
        store.close().unwrap();
        assert!(server.start_again(&[&["--enable-debug-command", "yes"], args].concat()), "{}", server.log());
        let mut client = server.client();
        assert_eq!(client.cmd(&["GET", "by the store"]).text(), "1", "{args:?}");
        client.cmd(&["DEL", "by the store"]);
        assert_eq!(digest(&mut client), before, "{args:?}");
        client.ask("SET by_the_server 2");
        if saves {
            client.ask("SAVE");
        }
        drop(client);
        server.stop();
        let store = open(server.dir(), args);
        assert_eq!(store.get("by_the_server").unwrap().as_deref(), Some(&b"2"[..]), "{args:?}");
        store.del(&["by_the_server"]).unwrap();
        assert_eq!(contents(&store), there, "{args:?}");
    }
}

#[test]
fn a_server_reads_what_a_store_has_written() {
    let reference = Server::larder(&[]);
    let mut client = reference.client();
    fill_server(&mut client);
    let wanted = digest(&mut client);
    let ends = client.ask("PEXPIRETIME ends").int();
    for &(args, saves) in WAYS {
        for rewrites in [false, true] {
            let dir = Dir::new();
            let store = open(&dir.0, args);
            for (at, line) in lines().iter().enumerate() {
                ask(&store, line);
                if rewrites && at == 1000 {
                    ask(&store, "BGREWRITEAOF");
                }
            }
            if saves {
                ask(&store, "SAVE");
            }
            drop(store);
            let at = dir.0.to_string_lossy().into_owned();
            let server = Server::larder(&[&["--dir", &at], args].concat());
            let mut client = server.client();
            assert_eq!(digest(&mut client), wanted, "{args:?}, rewritten: {rewrites}");
            assert_eq!(client.ask("PEXPIRETIME ends").int(), ends, "{args:?}");
        }
    }
}
