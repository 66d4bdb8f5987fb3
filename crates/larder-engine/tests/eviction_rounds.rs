//! A worker evicts for its time once in a round of its event loop, however many commands wait there.

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use support::{Client, TestHost, engine_on};

fn evicted(client: &mut Client) -> u64 {
    let info = client.ask("INFO stats");
    let number = info.split_whitespace().find_map(|word| word.strip_prefix("evicted_keys:")?.parse().ok());
    number.expect("it is told")
}

/// The limit is lowered while many commands wait, and the memory in use does not become less.
#[test]
fn commands_of_one_round_evict_for_one_time() {
    let host: Arc<TestHost> = Arc::default();
    let engine = engine_on(Arc::clone(&host), 1);
    let mut client = Client::new(&engine, 0);
    (0..100_000).for_each(|n| assert_eq!(client.ask(&format!("SET key:{n} v")), "+OK"));
    host.used.store(100 << 20, Relaxed);
    client.ask("CONFIG SET maxmemory-policy allkeys-random maxmemory 70mb");
    let first = evicted(&mut client);
    assert!(first > 0 && first < 50_000, "{first}");
    (0..100).for_each(|n| assert_eq!(client.ask(&format!("SET key:{n} w")), "+OK"));
    assert_eq!(evicted(&mut client), first, "the round goes on");
    client.worker.finish_round();
    client.ask("PING");
    let second = evicted(&mut client);
    assert!(second > first, "{first} keys, then {second}");
    // Without a limit to the time there are no rounds.
    client.ask("CONFIG SET maxmemory-eviction-tenacity 100");
    client.ask("PING");
    assert_eq!(client.ask("DBSIZE"), ":0");
    assert!(client.ask("SET key v").starts_with("-OOM "));
}
