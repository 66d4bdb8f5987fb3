//! `repl-diskless-load swapdb`: a snapshot is loaded beside the data.

use crate::{follow, info, offset, start, wait_for_link, wait_for_same_data, wait_until};
use larder_testkit::{Client, Kind, Server, Value, wait_until_rewritten};

/// Microseconds that loading a key takes: enough to look around meanwhile.
const SLOW: &[&str] = &["--repl-diskless-load", "swapdb", "--key-load-delay", "2000", "--threads", "2"];
const KEYS: usize = 2000;

fn add_function(client: &mut Client, library: &str, name: &str, result: i64) {
    let code = format!(
        "#!lua name={library}\nredis.register_function{{function_name='{name}', callback=function() return {result} end, flags={{'no-writes'}}}}"
    );
    assert_eq!(client.cmd(&["FUNCTION", "LOAD", &code]).text(), library);
}

fn filled_primary() -> Server {
    let primary = start(
        Kind::Larder,
        &["--repl-backlog-size", "16384", "--rdbcompression", "no", "--enable-debug-command", "yes"],
    );
    let mut client = primary.client();
    add_function(&mut client, "one", "f", 1);
    for i in 0..KEYS {
        client.ask(&format!("SET key:{i} old"));
    }
    client.ask("HSET hash f v");
    client.ask("HEXPIRE hash 100000 FIELDS 1 f");
    primary
}

/// Has the replica lose what it missed, so that it needs a snapshot of the same history.
fn cut_and_change(primary: &Server, replica: &Server) {
    let mut ours = primary.client();
    let mut theirs = replica.client();
    theirs.ask("REPLICAOF 127.0.0.1 1");
    for i in 0..KEYS {
        ours.ask(&format!("SET key:{i} new"));
    }
    ours.ask("DEL hash");
    add_function(&mut ours, "two", "g", 2);
}

fn wait_until_loading(client: &mut Client, field: &str) {
    wait_until("loading begins", || info(client, "persistence", field) == "1");
}

#[test]
fn data_of_the_same_history_is_served_meanwhile() {
    let (primary, replica) = (filled_primary(), start(Kind::Larder, SLOW));
    let mut client = replica.client();
    follow(&mut client, &primary);
    wait_for_same_data("at first", &primary, &replica);
    cut_and_change(&primary, &replica);

    let (mut watcher, mut cacher) = (replica.client(), replica.client());
    watcher.ask("WATCH key:1");
    cacher.ask("HELLO 3");
    cacher.ask("CLIENT TRACKING ON");
    assert_eq!(cacher.ask("GET key:1").text(), "old");
    follow(&mut client, &primary);
    wait_until_loading(&mut client, "async_loading");
    assert_eq!(info(&mut client, "persistence", "loading"), "0");
    assert_eq!(client.ask("GET key:1").text(), "old");
    assert_eq!(client.ask("FCALL_RO f 0").int(), 1);
    let eval = ["EVAL_RO", "return redis.call('get', KEYS[1])", "1", "key:2"];
    assert_eq!(client.cmd(&eval).text(), "old");
    for refused in ["BGSAVE", "SAVE", "BGREWRITEAOF", "REPLICAOF NO ONE"] {
        let reply = client.ask(refused);
        assert!(reply.text().starts_with("LOADING"), "{refused}: {reply}");
    }
    assert!(client.ask("SET key:1 x").text().starts_with("READONLY"));
    assert_eq!(info(&mut client, "persistence", "async_loading"), "1", "all of this was meanwhile");

    wait_for_link(&mut client);
    wait_for_same_data("after the exchange", &primary, &replica);
    assert_eq!(client.ask("GET key:1").text(), "new");
    assert_eq!(client.ask("EXISTS hash").int(), 0);
    assert_eq!(client.ask("FCALL_RO g 0").int(), 2);
    assert_eq!(info(&mut client, "persistence", "async_loading"), "0");
    watcher.ask("MULTI");
    watcher.ask("PING");
    assert_eq!(watcher.ask("EXEC"), Value::NullArray, "the key that was watched is another one");
    let first = cacher.ask("PING").to_string();
    assert!(first.contains("invalidate"), "who caches is told: {first}");
}

#[test]
fn data_of_another_history_stays_until_the_snapshot_is_whole() {
    let (primary, replica) = (filled_primary(), start(Kind::Larder, SLOW));
    let mut client = replica.client();
    client.ask("SET own 1");
    // More than sockets and threads take in before it is loaded.
    primary.client().ask("DEBUG POPULATE 400 big 100000");
    follow(&mut client, &primary);
    wait_until_loading(&mut client, "loading");
    assert_eq!(info(&mut client, "persistence", "async_loading"), "0");
    assert!(client.ask("GET own").text().starts_with("LOADING"));
    drop(primary);
    wait_until("loading ends", || info(&mut client, "persistence", "loading") == "0");
    assert_eq!(client.ask("GET own").text(), "1", "the snapshot broke off");
    assert_eq!(client.ask("DBSIZE").int(), 1);
    wait_until("the log says why", || replica.log().contains("The link to the primary ended"));
}

/// Peers send in other formats; the log begins again with the new data, and a restart finds it.
#[test]
fn what_was_loaded_is_kept() {
    for kind in [Kind::Redis, Kind::Valkey] {
        let primary = start(kind, &[]);
        let args = ["--repl-diskless-load", "swapdb", "--appendonly", "yes"];
        let mut replica = start(Kind::Larder, &args);
        primary.client().ask("RPUSH list a b c");
        replica.client().ask("SET own 1");
        follow(&mut replica.client(), &primary);
        wait_for_same_data("loaded", &primary, &replica);
        let mut client = replica.client();
        wait_until_rewritten(&mut client);
        primary.client().ask("RPUSH list d");
        let end = offset(&mut primary.client());
        wait_until("the rest arrives", || offset(&mut client) >= end);
        client.ask("REPLICAOF NO ONE");
        client.ask("SET last 1");
        assert_eq!(client.ask("WAITAOF 1 0 0").items()[0].int(), 1);
        drop(client);
        replica.kill();
        assert!(replica.start_again(&args), "{}", replica.log());
        assert_eq!(replica.client().ask("LRANGE list 0 -1").to_string().matches(' ').count(), 3);
        assert_eq!(replica.client().ask("EXISTS own").int(), 0);
    }
}
