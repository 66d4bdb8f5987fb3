//! Many clients on the same keys, with 1, 2 and 4 threads: nothing is lost, nothing comes twice, nobody sees half of a
//! transaction.

use larder_testkit::{Client, Server, Value, full_run};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Runs a test with each number of threads.
fn with_threads(test: impl Fn(&Server)) {
    for threads in ["1", "2", "4"] {
        test(&Server::larder(&["--threads", threads]));
    }
}

fn rounds(few: usize) -> usize {
    if full_run() { few * 50 } else { few }
}

#[test]
fn increments_are_not_lost() {
    with_threads(|server| {
        let rounds = rounds(500);
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let mut client = server.client();
                    for i in 0..rounds {
                        client.ask(&format!("INCR n{}", i % 3));
                    }
                });
            }
        });
        let mut client = server.client();
        let sum: i64 = (0..3).map(|i| client.ask(&format!("GET n{i}")).int()).sum();
        assert_eq!(sum as usize, 6 * rounds);
    });
}

/// Accounts in different shards: their sum is the same in every picture of all of them.
#[test]
fn transactions_are_seen_whole() {
    const ACCOUNTS: usize = 8;
    with_threads(|server| {
        let done = AtomicBool::new(false);
        let names: Vec<String> = (0..ACCOUNTS).map(|i| format!("account:{i}")).collect();
        let mut client = server.client();
        for name in &names {
            client.ask(&format!("SET {name} 1000"));
        }
        let picture = |client: &mut Client| -> i64 {
            client.ask(&format!("MGET {}", names.join(" "))).items().iter().map(Value::int).sum()
        };
        thread::scope(|scope| {
            let movers: Vec<_> = (0..4u64)
                .map(|seed| {
                    scope.spawn({
                        let names = &names;
                        move || transfer(names, seed, server)
                    })
                })
                .collect();
            let watcher = scope.spawn(|| {
                let mut client = server.client();
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(picture(&mut client), 1000 * ACCOUNTS as i64);
                }
            });
            movers.into_iter().for_each(|mover| mover.join().expect("a mover finishes"));
            done.store(true, Ordering::Relaxed);
            watcher.join().expect("the sum never changes");
        });
        assert_eq!(picture(&mut client), 1000 * ACCOUNTS as i64);
    });
}

/// Moves money about, half of it under WATCH.
fn transfer(names: &[String], seed: u64, server: &Server) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut client = server.client();
    for _ in 0..rounds(200) {
        let (from, to) = (&names[rng.usize(..names.len())], &names[rng.usize(..names.len())]);
        if rng.bool() {
            client.ask("MULTI");
            client.ask(&format!("DECRBY {from} 7"));
            client.ask(&format!("INCRBY {to} 7"));
            client.ask("EXEC");
        } else if from != to {
            client.ask(&format!("WATCH {from} {to}"));
            let (a, b) = (client.ask(&format!("GET {from}")).int(), client.ask(&format!("GET {to}")).int());
            client.ask("MULTI");
            client.ask(&format!("SET {from} {}", a - 3));
            client.ask(&format!("SET {to} {}", b + 3));
            client.ask("EXEC");
        }
    }
}

/// Producers push numbers; consumers take them by every blocking command, some over a second list.
#[test]
fn blocked_pops_lose_and_duplicate_nothing() {
    const PRODUCERS: usize = 3;
    const CONSUMERS: usize = 6;
    with_threads(|server| {
        let per_producer = rounds(400);
        let taken: Mutex<BTreeMap<String, usize>> = Mutex::default();
        thread::scope(|scope| {
            let consumers: Vec<_> = (0..CONSUMERS)
                .map(|at| {
                    scope.spawn({
                        let taken = &taken;
                        move || consume(server, at, taken)
                    })
                })
                .collect();
            let producers: Vec<_> =
                (0..PRODUCERS).map(|at| scope.spawn(move || produce(server, at, per_producer))).collect();
            producers.into_iter().for_each(|producer| producer.join().expect("a producer finishes"));
            let mut client = server.client();
            for _ in 0..CONSUMERS {
                client.ask("RPUSH work:0 stop");
            }
            consumers.into_iter().for_each(|consumer| consumer.join().expect("a consumer finishes"));
        });
        let mut client = server.client();
        let mut taken = taken.into_inner().expect("no consumer panicked");
        for list in ["work:0", "work:1", "second"] {
            for left in client.ask(&format!("LRANGE {list} 0 -1")).items() {
                *taken.entry(left.text()).or_default() += 1;
            }
        }
        taken.remove("stop");
        assert_eq!(taken.len(), PRODUCERS * per_producer);
        assert!(taken.values().all(|&times| times == 1), "an element came twice");
    });
}

fn produce(server: &Server, at: usize, count: usize) {
    let mut client = server.client();
    for i in 0..count {
        let list = i % 2;
        match i % 3 {
            0 => client.ask(&format!("RPUSH work:{list} {at}-{i}")),
            1 => client.ask(&format!("LPUSH work:{list} {at}-{i}")),
            _ => {
                client.ask("MULTI");
                client.ask(&format!("RPUSH work:{list} {at}-{i}"));
                client.ask("EXEC")
            }
        };
    }
}

/// Takes until it meets `stop`. Elements moved to the second list stay there.
fn consume(server: &Server, at: usize, taken: &Mutex<BTreeMap<String, usize>>) {
    let mut client = server.client();
    loop {
        let reply = match at % 4 {
            0 => client.ask("BLPOP work:0 work:1 0"),
            1 => client.ask("BRPOP work:1 work:0 0"),
            2 => client.ask("BLMPOP 0 2 work:0 work:1 LEFT COUNT 3"),
            _ => client.ask("BLMOVE work:0 second LEFT RIGHT 0"),
        };
        let elements: Vec<String> = match &reply {
            Value::Bulk(_) => {
                if reply.text() == "stop" {
                    return;
                }
                continue;
            }
            pair => match &pair.items()[1] {
                Value::Array(many) => many.iter().map(Value::text).collect(),
                one => vec![one.text()],
            },
        };
        let stops = elements.iter().filter(|element| *element == "stop").count();
        let mut taken = taken.lock().expect("no consumer panicked");
        elements
            .into_iter()
            .filter(|element| element != "stop")
            .for_each(|element| *taken.entry(element).or_default() += 1);
        drop(taken);
        if stops > 0 {
            // BLMPOP may take the signs of others with its own; they go back.
            (1..stops).for_each(|_| drop(client.ask("RPUSH work:0 stop")));
            return;
        }
    }
}

/// Elements rotate through two lists while others copy, trim and read them.
#[test]
fn copies_stay_whole_while_the_original_changes() {
    with_threads(|server| {
        let mut client = server.client();
        client.ask("CONFIG SET list-compress-depth 1");
        for chunk in (0..20_000).collect::<Vec<_>>().chunks(500) {
            let words: Vec<String> = chunk.iter().map(|n| format!("element-{n:06}")).collect();
            client.ask(&format!("RPUSH ring {}", words.join(" ")));
        }
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut client = server.client();
                (0..rounds(2000)).for_each(|_| drop(client.ask("LMOVE ring ring LEFT RIGHT")));
            });
            scope.spawn(|| {
                let mut client = server.client();
                for _ in 0..rounds(20) {
                    client.ask("COPY ring copy REPLACE");
                    let copy = client.ask("LRANGE copy 0 -1");
                    assert_eq!(copy.items().len(), 20_000);
                    let number = |value: &Value| value.text()[8..].parse::<u32>().expect("element-number");
                    let first = number(&copy.items()[0]);
                    for (at, item) in copy.items().iter().enumerate() {
                        assert_eq!(number(item), (first + at as u32) % 20_000);
                    }
                }
            });
        });
    });
}

/// Producers add members; consumers take them by every blocking pop of sorted sets, beside one who waits for a list.
#[test]
fn blocked_pops_of_sorted_sets_lose_and_duplicate_nothing() {
    const PRODUCERS: usize = 3;
    const CONSUMERS: usize = 4;
    with_threads(|server| {
        let per_producer = rounds(300);
        let total = PRODUCERS * per_producer;
        let taken: Mutex<BTreeMap<String, usize>> = Mutex::default();
        // Whoever waits for another type must not stand in the way. It waits before there is anything of this type.
        let (mut lister, mut client) = (server.client(), server.client());
        lister.send(&["BLPOP", "scored:0", "list", "0"]);
        while !client.ask("INFO clients").text().contains("blocked_clients:1\r\n") {}
        thread::scope(|scope| {
            for at in 0..CONSUMERS {
                let taken = &taken;
                scope.spawn(move || consume_scored(server, at, total, taken));
            }
            for at in 0..PRODUCERS {
                scope.spawn(move || produce_scored(server, at, per_producer));
            }
            while taken.lock().expect("no consumer panicked").len() < total {
                thread::sleep(Duration::from_millis(1));
            }
            client.ask("RPUSH list done");
        });
        assert_eq!(lister.read().expect("the waiter is served").items()[1].text(), "done");
        let taken = taken.into_inner().expect("no consumer panicked");
        assert!(taken.values().all(|&times| times == 1), "a member came twice");
        assert_eq!(server.client().ask("EXISTS scored:0 scored:1").int(), 0);
    });
}

fn produce_scored(server: &Server, at: usize, count: usize) {
    let mut client = server.client();
    for i in 0..count {
        let set = i % 2;
        if i % 3 == 0 {
            client.ask("MULTI");
            client.ask(&format!("ZADD scored:{set} {i} {at}-{i}"));
            client.ask("EXEC");
        } else {
            client.ask(&format!("ZADD scored:{set} {i} {at}-{i}"));
        }
    }
}

/// Takes until all members have been taken by somebody.
fn consume_scored(server: &Server, at: usize, total: usize, taken: &Mutex<BTreeMap<String, usize>>) {
    let mut client = server.client();
    while taken.lock().expect("no consumer panicked").len() < total {
        let reply = match at % 3 {
            0 => client.ask("BZPOPMIN scored:0 scored:1 0.05"),
            1 => client.ask("BZPOPMAX scored:1 scored:0 0.05"),
            _ => client.ask("BZMPOP 0.05 2 scored:0 scored:1 MIN COUNT 3"),
        };
        let members: Vec<String> = match (at % 3, reply.items()) {
            (_, []) => continue,
            (2, [_, pairs]) => pairs.items().iter().map(|pair| pair.items()[0].text()).collect(),
            (_, items) => vec![items[1].text()],
        };
        let mut taken = taken.lock().expect("no consumer panicked");
        members.into_iter().for_each(|member| *taken.entry(member).or_default() += 1);
    }
}

/// Members move between sets, and are popped and put back, while others read all sets at once: each is always in exactly
/// one of them.
#[test]
fn members_are_always_in_one_set() {
    const SETS: usize = 4;
    const MEMBERS: usize = 400;
    with_threads(|server| {
        let mut client = server.client();
        for n in 0..MEMBERS {
            let member = if n % 2 == 0 { n.to_string() } else { format!("m{n}") };
            client.ask(&format!("SADD set:{} {member}", n % SETS));
        }
        let all: Vec<String> = (0..SETS).map(|n| format!("set:{n}")).collect();
        let all = all.join(" ");
        thread::scope(|scope| {
            for seed in 0..3 {
                scope.spawn(move || {
                    let (mut client, mut rng) = (server.client(), fastrand::Rng::with_seed(seed));
                    for _ in 0..rounds(400) {
                        let (from, to) = (rng.usize(..SETS), rng.usize(..SETS));
                        let member = client.ask(&format!("SRANDMEMBER set:{from}")).text();
                        client.ask(&format!("SMOVE set:{from} set:{to} {member}"));
                    }
                });
            }
            scope.spawn(|| {
                let mut client = server.client();
                for round in 0..rounds(150) {
                    let (union, disjoint) = (format!("SUNION {all}"), format!("SINTERCARD {SETS} {all}"));
                    assert_eq!(client.ask(&union).items().len(), MEMBERS);
                    assert_eq!(client.ask(&disjoint).int(), 0);
                    let stored = client.ask(&format!("SUNIONSTORE copy:{} {all}", round % 3)).int();
                    assert_eq!(stored as usize, MEMBERS);
                }
            });
            scope.spawn(|| {
                let mut client = server.client();
                for round in 0..rounds(60) {
                    let sorted = client.ask(&format!("SORT copy:{} ALPHA BY nosort_* GET #", round % 3));
                    assert!([0, MEMBERS].contains(&sorted.items().len()));
                    client.ask(&format!("SORT set:{} ALPHA STORE list", round % SETS));
                }
            });
        });
    });
}

/// Producers append to two streams; consumers of one group read them, waiting, and acknowledge; readers without a group
/// see every entry in order.
#[test]
fn blocked_readers_of_streams_lose_and_duplicate_nothing() {
    with_threads(|server| {
        let total = rounds(300);
        let seen: Mutex<BTreeMap<String, usize>> = Mutex::default();
        let mut client = server.client();
        for key in ["s0", "s1"] {
            client.ask(&format!("XGROUP CREATE {key} g 0 MKSTREAM"));
        }
        thread::scope(|scope| {
            for at in 0..4 {
                let seen = &seen;
                scope.spawn(move || consume_group(server, at, seen));
            }
            let readers: Vec<_> =
                (0..2).map(|_| scope.spawn(move || read_in_order(server, 2 * total))).collect();
            let producers: Vec<_> = (0..2)
                .map(|at| {
                    scope.spawn(move || {
                        let mut client = server.client();
                        for i in 0..2 * total {
                            client.ask(&format!("XADD s{} * from {at} n {i}", i % 2));
                        }
                    })
                })
                .collect();
            producers.into_iter().for_each(|producer| producer.join().expect("a producer finishes"));
            readers.into_iter().for_each(|reader| reader.join().expect("a reader finishes"));
            while (0..2).any(|at| {
                let groups = client.ask(&format!("XINFO GROUPS s{at}"));
                let group = groups.items()[0].items();
                group[5].int() > 0 || group[11].int() > 0
            }) {}
            // The rest of the consumers wait: losing their group ends them.
            client.ask("DEL s0 s1");
        });
        let seen = seen.into_inner().expect("nobody panicked");
        assert_eq!(seen.len(), 4 * total);
        assert!(seen.values().all(|&times| times == 1));
    });
}

/// Reads as a consumer until the streams are gone, and acknowledges.
fn consume_group(server: &Server, at: usize, seen: &Mutex<BTreeMap<String, usize>>) {
    let mut client = server.client();
    let mut reply = client.ask(&format!("XREADGROUP GROUP g c{at} COUNT 3 BLOCK 0 STREAMS s0 s1 > >"));
    while !reply.is_error() {
        for stream in reply.items() {
            let key = stream.items()[0].text();
            for entry in stream.items()[1].items() {
                let id = entry.items()[0].text();
                let fields = entry.items()[1].items();
                let name = format!("{} {}", fields[1].text(), fields[3].text());
                *seen.lock().expect("nobody panicked").entry(name).or_default() += 1;
                assert_eq!(client.ask(&format!("XACK {key} g {id}")), Value::Int(1));
            }
        }
        reply = client.ask(&format!("XREADGROUP GROUP g c{at} COUNT 3 BLOCK 0 STREAMS s0 s1 > >"));
    }
}

/// Follows one stream from its start until it has seen this many entries: ids ascend, and none is missing.
fn read_in_order(server: &Server, count: usize) {
    let mut client = server.client();
    let (mut last, mut seen, mut next) = ("0".to_owned(), 0, [0, 0]);
    while seen < count {
        let reply = client.ask(&format!("XREAD BLOCK 0 STREAMS s0 {last}"));
        for entry in reply.items()[0].items()[1].items() {
            last = entry.items()[0].text();
            let fields = entry.items()[1].items();
            let (from, n) = (fields[1].int() as usize, fields[3].int());
            assert_eq!(n, next[from], "entries of one producer come in its order");
            next[from] = n + 2;
            seen += 1;
        }
    }
}
