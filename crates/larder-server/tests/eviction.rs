//! Memory limits: that they are kept, how well the keys that go are chosen beside redis-server, and what is noted of them.

use larder_testkit::{Client, Kind, Server, Value, full_run, wait_until};
use std::collections::HashMap;

/// Keys of the tests of accuracy.
const KEYS: usize = 20_000;

/// Sends all commands, then reads all replies.
fn pipe(client: &mut Client, commands: impl IntoIterator<Item = Vec<Vec<u8>>>) -> Vec<Value> {
    let mut replies = Vec::new();
    let commands: Vec<_> = commands.into_iter().collect();
    for some in commands.chunks(500) {
        some.iter().for_each(|words| client.send(words));
        replies.extend(some.iter().map(|_| client.read().expect("the server replies")));
    }
    replies
}

fn words(line: &str) -> Vec<Vec<u8>> {
    line.split(' ').map(|word| word.as_bytes().to_vec()).collect()
}

fn info(client: &mut Client) -> HashMap<String, String> {
    let text = client.ask("INFO all").text();
    text.lines().filter_map(|line| line.split_once(':')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
}

fn number(client: &mut Client, field: &str) -> i64 {
    info(client)[field].parse().unwrap_or_else(|_| panic!("{field} is a number"))
}

/// Waits until this much memory is in use.
fn wait_below(client: &mut Client, bytes: i64) {
    wait_until("memory to fall", || number(client, "used_memory") <= bytes);
}

/// Waits until this much memory is in use that counts.
fn wait_counted_below(client: &mut Client, bytes: i64) {
    wait_until("memory to fall", || {
        number(client, "used_memory") - number(client, "mem_not_counted_for_evict") <= bytes
    });
}

/// Keys of which number 0 is to stay longest and the last is to go first.
fn fill(client: &mut Client, policy: &str) {
    client.cmd(&["SET", "x", &"v".repeat(40)]);
    let payload = client.ask("DUMP x").bytes().to_vec();
    client.ask("DEL x");
    let mut order: Vec<usize> = (0..KEYS).collect();
    fastrand::Rng::with_seed(larder_testkit::seed(5)).shuffle(&mut order);
    let commands = order.into_iter().map(|n| {
        let (ttl, more) = match policy {
            "allkeys-lru" => (0, format!("IDLETIME {}", n * 10 + 5)),
            "allkeys-lfu" => (0, format!("FREQ {}", 255 - n * 250 / KEYS)),
            _ => (1_000_000_000 - n * 1000, "ABSTTL REPLACE".replace("ABSTTL ", "")),
        };
        let mut command = words(&format!("RESTORE key:{n} {ttl}"));
        command.push(payload.clone());
        command.extend(words(&more));
        command
    });
    assert!(pipe(client, commands).iter().all(|reply| *reply == Value::Simple("OK".to_owned())));
}

/// The share of the keys that went which are among those that should. Clients send commands until they have gone.
fn accuracy(kind: Kind, policy: &str, samples: u32, more: &[&str], clients: usize) -> f64 {
    let samples = samples.to_string();
    let args = [&["--maxmemory-policy", policy, "--maxmemory-samples", &samples], more].concat();
    let server = Server::of(kind, &args);
    let mut client = server.client();
    let mut others: Vec<Client> = (0..clients).map(|_| server.client()).collect();
    let before = number(&mut client, "used_memory");
    fill(&mut client, policy);
    let limit = before + (number(&mut client, "used_memory") - before) * 8 / 10;
    client.ask(&format!("CONFIG SET maxmemory {limit}"));
    wait_until("memory to fall", || {
        others.iter_mut().for_each(|other| drop(other.ask("PING")));
        number(&mut client, "used_memory") <= limit + 4096
    });
    let exist = pipe(&mut client, (0..KEYS).map(|n| words(&format!("EXISTS key:{n}"))));
    let gone: Vec<usize> = (0..KEYS).filter(|&n| exist[n] == Value::Int(0)).collect();
    assert!(gone.len() > KEYS / 20, "{} have gone", gone.len());
    let right = gone.iter().filter(|&&n| n >= KEYS - gone.len()).count();
    right as f64 / gone.len() as f64
}

#[test]
fn the_right_keys_go_more_often_than_with_redis() {
    for policy in ["allkeys-lru", "allkeys-lfu", "volatile-ttl"] {
        for samples in [5, 10] {
            let ours = accuracy(Kind::Larder, policy, samples, &[], 0);
            let theirs = accuracy(Kind::Redis, policy, samples, &[], 0);
            println!("{policy}, {samples} samples: {ours:.3}, redis-server {theirs:.3}");
            assert!(ours >= theirs - 0.01, "{policy}, {samples} samples: {ours:.3} < {theirs:.3}");
        }
    }
}

/// Threads that evict a little each, one after the other, choose as well as one alone.
#[test]
fn threads_share_the_sweep() {
    let alone = accuracy(Kind::Larder, "allkeys-lru", 5, &[], 0);
    let few = ["--io-threads", "4", "--maxmemory-eviction-tenacity", "1"];
    let together = accuracy(Kind::Larder, "allkeys-lru", 5, &few, 8);
    println!("alone {alone:.3}, together {together:.3}");
    assert!(together >= alone - 0.04, "alone {alone:.3}, together {together:.3}");
}

/// With every policy, under writes of new keys by two connections, the limit is kept.
#[test]
fn the_limit_is_kept_under_writes() {
    const LIMIT: i64 = 12 << 20;
    let rounds = if full_run() { 400_000 } else { 60_000 };
    for policy in ["allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-ttl"] {
        let server = Server::larder(&["--threads", "2", "--maxmemory", "12mb", "--maxmemory-policy", policy]);
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let mut client = server.client();
                scope.spawn(move || {
                    let value = "v".repeat(100 + writer * 300);
                    let commands =
                        (0..rounds).map(|n| words(&format!("SET key:{writer}:{n} {value} EX 10000")));
                    let replies = pipe(&mut client, commands);
                    assert!(replies.iter().all(|reply| !reply.is_error()), "{policy}");
                });
            }
        });
        let mut client = server.client();
        wait_below(&mut client, LIMIT + (64 << 10));
        assert!(number(&mut client, "evicted_keys") > 1000, "{policy}");
        let keys = client.ask("DBSIZE").int();
        assert!(keys > 20_000, "{policy}: {keys} keys are left, far fewer than there is room for");
        assert!(number(&mut client, "current_eviction_exceeded_time") == 0);
    }
}

/// Values of any size: the big ones are freed in the background, and not more is evicted while that takes.
/// Room for a hundred kilobytes is room for keys, though the allocator takes memory from the system in larger pieces.
#[test]
fn a_little_room_is_enough() {
    for threads in ["1", "4"] {
        for policy in ["noeviction", "allkeys-lru"] {
            let server = Server::larder(&["--threads", threads, "--maxmemory-policy", policy]);
            // Every thread has served somebody: what each takes when it begins is in use by now.
            let mut clients: Vec<Client> = (0..4).map(|_| server.client()).collect();
            clients.iter_mut().for_each(|client| assert_eq!(client.ask("PING").text(), "PONG"));
            let client = &mut clients[0];
            let limit = number(client, "used_memory") + 100_000;
            assert_eq!(client.ask(&format!("CONFIG SET maxmemory {limit}")).text(), "OK");
            for n in 0..100 {
                let reply = client.ask(&format!("SET key:{n} {}", "x".repeat(20)));
                assert_eq!(reply.text(), "OK", "{policy}, {threads} threads, key {n}");
            }
            let left = client.ask("DBSIZE");
            assert!(left.int() >= 50, "{policy}, {threads} threads: {left:?} of 100 keys are left");
        }
    }
}

#[test]
fn big_values_count_as_soon_as_they_are_on_their_way() {
    let server = Server::larder(&["--maxmemory-policy", "allkeys-random"]);
    let mut client = server.client();
    for list in 0..20 {
        let mut command = words(&format!("RPUSH list:{list}"));
        command.extend((0..20_000).map(|n| format!("element number {n} of a list").into_bytes()));
        client.cmd(&command);
    }
    let used = number(&mut client, "used_memory");
    client.ask(&format!("CONFIG SET maxmemory {}", used * 3 / 4));
    wait_below(&mut client, used * 3 / 4);
    let left = client.ask("DBSIZE").int();
    // A quarter of the memory is five lists, and two more for what is not lists. If what is on its way did not count, it
    // would be all of them.
    assert!((10..=16).contains(&left), "{left} of 20 are left");
}

/// The log says which keys went: a server that reads it has the same keys.
#[test]
fn the_log_has_the_evictions() {
    let args = "--appendonly yes --maxmemory-policy allkeys-lru --enable-debug-command yes --threads 4";
    let args: Vec<&str> = args.split(' ').collect();
    let mut server = Server::larder(&args);
    let [mut client, mut others @ ..] = [(); 4].map(|()| server.client());
    pipe(&mut client, (0..30_000).map(|n| words(&format!("SET key:{n} {}", "v".repeat(60)))));
    client.ask("CONFIG SET maxmemory 3000000");
    wait_counted_below(&mut client, 3_000_000);
    client.ask("CONFIG SET maxmemory 0");
    // Who answers is not evicting any more: there is a client for each thread.
    others.iter_mut().for_each(|other| assert_eq!(other.ask("PING").text(), "PONG"));
    // Nor is the timer's thread, when it has gone on to keys whose time is over.
    client.ask("SET over v PX 1");
    wait_until("a round of the timer", || number(&mut client, "expired_keys") == 1);
    let (keys, digest) = (client.ask("DBSIZE").int(), client.ask("DEBUG DIGEST").text());
    assert!(keys > 5_000 && keys < 29_000, "{keys} keys");
    assert!(server.stop().success() && server.start_again(&args));
    let mut client = server.client();
    assert_eq!((client.ask("DBSIZE").int(), client.ask("DEBUG DIGEST").text()), (keys, digest));
}

/// Whoever listens or watches is told of each key, though many go at once, hashes with fields that expire among them.
#[test]
fn everybody_concerned_hears_of_keys_that_go() {
    let args = ["--maxmemory-policy", "allkeys-random", "--notify-keyspace-events", "Ee"];
    let server = Server::larder(&args);
    let (mut client, mut listener, mut watcher) = (server.client(), server.client(), server.client());
    pipe(&mut client, (0..30_000).map(|n| words(&format!("SET key:{n} {}", "v".repeat(60)))));
    pipe(&mut client, (0..3_000).map(|n| words(&format!("HSET hash:{n} field value"))));
    pipe(&mut client, (0..3_000).map(|n| words(&format!("HPEXPIRE hash:{n} 1000000 FIELDS 1 field"))));
    listener.ask("SUBSCRIBE __keyevent@0__:evicted");
    watcher
        .cmd(&words(&format!("WATCH {}", (0..200).map(|n| format!("key:{n} ")).collect::<String>().trim())));
    let limit = number(&mut client, "used_memory") - (500 << 10);
    client.ask(&format!("CONFIG SET maxmemory {limit}"));
    wait_below(&mut client, limit + 4096);
    client.ask("CONFIG SET maxmemory 0");
    // Whoever evicts at this moment counts a little later.
    wait_until("all evictions to be counted", || {
        number(&mut client, "evicted_keys") + client.ask("DBSIZE").int() == 33_000
    });
    // 500 KB are some 6300 keys. The messages of which nobody has read one yet take more: they must not have keys go.
    let evicted = number(&mut client, "evicted_keys");
    assert!((3_000..12_000).contains(&evicted), "{evicted} have gone");
    let mut heard: Vec<String> = (0..evicted).map(|_| listener.read().unwrap().items()[2].text()).collect();
    let exist = pipe(&mut client, heard.iter().map(|key| words(&format!("EXISTS {key}"))));
    assert!(exist.iter().all(|reply| *reply == Value::Int(0)));
    heard.sort();
    heard.dedup();
    assert_eq!(heard.len() as i64, evicted, "each once");
    watcher.ask("MULTI");
    assert_eq!(watcher.ask("EXEC"), Value::NullArray, "one of 200 watched keys has gone");
}

/// What a snapshot still needs does not make eviction go on until nothing is left.
#[test]
fn snapshots_do_not_empty_the_server() {
    let server =
        Server::larder(&["--maxmemory-policy", "allkeys-random", "--rdb-save-incremental-fsync", "no"]);
    let mut client = server.client();
    pipe(&mut client, (0..60_000).map(|n| words(&format!("SET key:{n} {}", "v".repeat(200)))));
    let used = number(&mut client, "used_memory");
    client.ask(&format!("CONFIG SET maxmemory {}", used + (1 << 20)));
    client.ask("BGSAVE");
    let mut least = i64::MAX;
    for round in 0..60 {
        pipe(&mut client, (0..500).map(|n| words(&format!("SET new:{round}:{n} {}", "v".repeat(200)))));
        least = least.min(client.ask("DBSIZE").int());
    }
    assert!(least > 50_000, "{least} keys were left of 60000");
}

/// Frequencies and idle times come back from a file.
#[test]
fn usage_is_saved() {
    for (policy, question, least) in
        [("allkeys-lfu", "OBJECT FREQ k", 20), ("allkeys-lru", "OBJECT IDLETIME k", 5000)]
    {
        let args = ["--maxmemory-policy", policy];
        let mut server = Server::larder(&args);
        let mut client = server.client();
        client.ask("SET x v");
        let mut command = words("RESTORE k 0");
        command.push(client.ask("DUMP x").bytes().to_vec());
        command.extend(words(if policy == "allkeys-lfu" { "FREQ 20" } else { "IDLETIME 5000" }));
        client.cmd(&command);
        client.ask("SAVE");
        assert!(server.stop().success() && server.start_again(&args));
        assert!((least..least + 60).contains(&server.client().ask(question).int()), "{policy}");
    }
}

/// Connections that do not read their replies: they are to be closed, and no key has to make room for them.
#[test]
fn clients_are_closed_before_keys_are_evicted() {
    for threads in [1, 4] {
        let server = Server::larder(&["--threads", &threads.to_string(), "--maxmemory-clients", "3mb"]);
        let mut client = server.client();
        let keys: Vec<String> = (0..50).map(|n| format!("key:{n}")).collect();
        for key in &keys {
            client.cmd(&["SET", key, &"v".repeat(50_000)]);
        }
        client.ask("CONFIG SET maxmemory-policy allkeys-random");
        // The connections may hold 3 MB; each thread may be making a reply of 2.5 MB, in a buffer that grows.
        let limit = number(&mut client, "used_memory") + (3 << 20) + threads * (6 << 20);
        client.ask(&format!("CONFIG SET maxmemory {limit}"));
        let all = format!("MGET {}\r\n", keys.join(" "));
        let mut readers: Vec<Client> = (0..20).map(|_| server.client()).collect();
        // What the system takes from the socket does not count; so each asks more than once.
        for _ in 0..6 {
            // Some are closed already.
            readers.iter_mut().for_each(|reader| drop(reader.send_raw(all.as_bytes())));
            client.cmd(&["SET", &keys[0], &"v".repeat(50_000)]);
        }
        wait_until("clients to be closed", || number(&mut client, "evicted_clients") > 0);
        client.cmd(&["SET", &keys[0], &"v".repeat(50_000)]);
        assert_eq!(client.ask("DBSIZE").int(), 50, "{threads} threads");
        assert_eq!(number(&mut client, "evicted_keys"), 0, "{threads} threads");
    }
}

/// Connections that have replies left to send when they are answered once more, with much more: that is on its way out, or they are closed, and no
/// key has to make room for it.
#[test]
fn replies_after_half_sent_ones_evict_no_keys() {
    let server = Server::larder(&["--threads", "1", "--maxmemory-clients", "10mb"]);
    let mut client = server.client();
    client.cmd(&["SET", "small", &"v".repeat(300 << 10)]);
    client.cmd(&["SET", "big", &"v".repeat(2500 << 10)]);
    client.ask("CONFIG SET maxmemory-policy allkeys-random");
    // What the connections may hold, one reply that is being made, and what the client sends.
    let limit = number(&mut client, "used_memory") + (10 << 20) + (8 << 20);
    client.ask(&format!("CONFIG SET maxmemory {limit}"));
    let mut readers: Vec<Client> = (0..20).map(|_| server.client()).collect();
    // More than a turn's worth: commands of this client are executed in every round.
    let sets: String = (0..40_000).map(|n| format!("SET key:{} v\r\n", n % 50)).collect();
    // All of it has arrived when the server wakes up.
    let mut sleeper = server.client();
    sleeper.send(&["DEBUG", "SLEEP", "0.3"]);
    readers.iter_mut().for_each(|reader| reader.send_raw(b"GET small\r\nGET big\r\n").unwrap());
    client.send_raw(sets.as_bytes()).unwrap();
    sets.lines().for_each(|_| assert_eq!(client.read().unwrap().text(), "OK"));
    assert_eq!(number(&mut client, "evicted_keys"), 0);
    assert!(number(&mut client, "evicted_clients") > 0);
}

/// A monitor that does not read is closed as others are, and not they in its place.
#[test]
fn monitors_are_closed_too() {
    for threads in ["1", "4"] {
        let server = Server::larder(&["--threads", threads, "--maxmemory-clients", "5mb"]);
        let (mut client, mut monitor) = (server.client(), server.client());
        assert_eq!(monitor.ask("MONITOR").text(), "OK");
        let mut bystander = server.client();
        let line = format!("ECHO {}", "x".repeat(100 << 10));
        for _ in 0..300 {
            client.ask(&line);
            assert_eq!(bystander.ask("PING").text(), "PONG");
        }
        wait_until("the monitor to be closed", || number(&mut client, "evicted_clients") > 0);
        assert_eq!(number(&mut client, "evicted_clients"), 1);
    }
}

/// Connections that may not be closed hold more than all may: everybody else is, but not before the first command was answered.
#[test]
fn the_first_command_is_answered_whatever_others_hold() {
    for threads in ["1", "4"] {
        let server = Server::larder(&["--threads", threads, "--maxmemory-clients", "1mb"]);
        let mut holder = server.client();
        assert_eq!(holder.ask("CLIENT NO-EVICT ON").text(), "OK");
        holder.cmd(&["SET", "k", &"v".repeat(1 << 20)]);
        holder.send_raw(&b"GET k\r\n".repeat(30)).unwrap();
        let mut watcher = server.client();
        watcher.ask("CLIENT NO-EVICT ON");
        let held = |client: &mut Client| client.ask("CLIENT LIST").text().contains("cmd=get");
        wait_until("replies to wait", || held(&mut watcher));
        for _ in 0..30 {
            assert_eq!(server.client().ask("PING").text(), "PONG", "{threads} threads");
        }
        // Nor by the timer, which counts all connections.
        let mut late = server.client();
        watcher.ask("SET short v PX 1");
        wait_until("the timer to come by", || watcher.ask("DBSIZE").int() == 1);
        wait_until("the timer to come by again", || {
            watcher.ask("SET short v PX 1 NX");
            number(&mut watcher, "expired_keys") > 1
        });
        assert_eq!(late.ask("PING").text(), "PONG", "{threads} threads");
        assert_eq!(server.client().ask("CONFIG SET maxmemory-clients 0").text(), "OK");
        assert_eq!(number(&mut watcher, "evicted_keys"), 0);
    }
}

/// All of a limit that is greater than any sum.
#[test]
fn a_share_of_an_enormous_limit_closes_nobody() {
    let server = Server::larder(&["--maxmemory", "9223372036854775808", "--maxmemory-clients", "100%"]);
    let mut client = server.client();
    assert_eq!(client.cmd(&["SET", "k", &"v".repeat(1 << 20)]).text(), "OK");
    assert_eq!(number(&mut client, "evicted_clients"), 0);
}

/// The keys that a server imports are the other server's to evict: this one refuses writes instead.
#[test]
fn an_import_evicts_nothing() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let server = Server::of(kind, &["--maxmemory-policy", "allkeys-lru", "--import-mode", "yes"]);
        let mut client = server.client();
        let big = "v".repeat(20_000);
        (0..300).for_each(|n| assert_eq!(client.cmd(&["SET", &format!("k{n}"), &big]).text(), "OK"));
        let limit = number(&mut client, "used_memory") - 1_000_000;
        assert_eq!(client.ask(&format!("CONFIG SET maxmemory {limit}")).text(), "OK", "{kind:?}");
        assert!(client.ask("SET a 1").text().starts_with("OOM "), "{kind:?}");
        assert_eq!(client.ask("CLIENT IMPORT-SOURCE ON").text(), "OK");
        assert!(client.ask("SET a 1").text().starts_with("OOM "), "{kind:?}");
        assert_eq!(client.ask("DBSIZE").int(), 300, "{kind:?}");
        assert_eq!(client.ask("CONFIG SET import-mode no").text(), "OK");
        assert_eq!(client.ask("SET a 1").text(), "OK", "{kind:?}");
        assert!(client.ask("DBSIZE").int() < 300, "{kind:?}");
    }
}

/// When `CONFIG SET` has lifted the limit and replied, no key is evicted any more, whichever thread was about to evict one.
#[test]
fn nothing_is_evicted_once_the_limit_is_lifted() {
    let server = Server::larder(&["--threads", "2", "--maxmemory-policy", "allkeys-random", "--save", ""]);
    let mut client = server.client();
    for round in 0..40 {
        client.ask("FLUSHALL");
        let used = number(&mut client, "used_memory");
        client.ask(&format!("CONFIG SET maxmemory {}", used + 1_500_000));
        let value = "v".repeat(1000);
        pipe(&mut client, (0..3000).map(|n| words(&format!("SET big:{n} {value}"))));
        client.ask(&format!("CONFIG SET maxmemory {}", used + 200_000));
        assert_eq!(client.ask("CONFIG SET maxmemory 0").text(), "OK");
        let (size, evicted) = (client.ask("DBSIZE").int(), number(&mut client, "evicted_keys"));
        pipe(&mut client, (0..1000).map(|n| words(&format!("SET big:{n} x"))));
        for n in 0..1000 {
            assert_eq!(client.ask(&format!("EXISTS big:{n}")).int(), 1, "round {round}: big:{n}");
        }
        assert!(size > 0 && client.ask("DBSIZE").int() >= 1000, "round {round}: {evicted} evicted");
    }
}
