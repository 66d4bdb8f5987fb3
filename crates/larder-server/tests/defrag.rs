//! Blocks move out of sparse slabs: memory comes back after keys are deleted, and no client notices anything else.

use larder_testkit::{Client, Server};
use std::time::{Duration, Instant};

/// A number of INFO.
fn figure(client: &mut Client, name: &str) -> u64 {
    let text = client.ask("INFO everything").text();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
    line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{name} is a number of INFO"))
}

/// Waits until `is_done` says so of the client.
fn wait(client: &mut Client, what: &str, mut is_done: impl FnMut(&mut Client) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_done(client) {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

const ARGS: [&str; 6] = ["--save", "", "--enable-debug-command", "yes", "--hash-shared-fields", "yes"];

/// One of so many keys stays.
const KEPT: usize = 8;

/// Fields of the same names everywhere: hashes get shapes when enough of them are known.
const SHAPED: &str = "for j = 1, 20 do redis.call('HSET', k, 'f' .. j, 'a longer value of ' .. i * j) end";

/// What a key gets, as Lua: `i` is its number, `k` its name.
const VALUES: [(&str, &str, u32); 11] = [
    ("strings", "redis.call('SET', k, string.rep('v', 160 + i % 200))", 24_000),
    ("long keys", "redis.call('SET', string.rep('k', 270 + i % 60) .. k, i)", 16_000),
    ("hashes", "for j = 1, 20 do redis.call('HSET', k, i .. ':' .. j, 'a value of ' .. i * j) end", 6_000),
    ("shaped hashes", SHAPED, 8_000),
    (
        "hashes of long values",
        "for j = 1, 4 do redis.call('HSET', k, j, string.rep('w', 200 + i % 99)) end",
        5_000,
    ),
    ("lists", "for j = 1, 40 do redis.call('RPUSH', k, 'an element: ' .. i * j) end", 5_000),
    ("sets", "for j = 1, 40 do redis.call('SADD', k, 'a member: ' .. i * j) end", 4_000),
    ("sets of integers", "for j = 1, 200 do redis.call('SADD', k, i * 7919 + j * 65537) end", 2_500),
    ("sorted sets", "for j = 1, 60 do redis.call('ZADD', k, i * j, 'a member: ' .. j) end", 9_000),
    (
        "streams",
        "for j = 1, 12 do redis.call('XADD', k, j .. '-1', 'field', 'a value: ' .. i * j) end",
        6_000,
    ),
    // The rest are large collections of eight keys, whose blocks lie among each other.
    (
        "large lists",
        "redis.call('RPUSH', 'k:' .. i % 8, 'an element that is somewhat longer: ' .. i)",
        150_000,
    ),
];

/// What large collections get; their names are `k:0` to `k:7`.
const LARGE: [(&str, &str, u32); 4] = [
    ("large hashes", "redis.call('HSET', 'k:' .. i % 8, 'a field: ' .. i, 'a value: ' .. i)", 120_000),
    ("large sets of integers", "redis.call('SADD', 'k:' .. i % 8, i * 104729)", 400_000),
    ("large sorted sets", "redis.call('ZADD', 'k:' .. i % 8, i * 37 % 1009, 'a member: ' .. i)", 120_000),
    (
        "large streams",
        "redis.call('XADD', 'k:' .. i % 8, i .. '-1', 'field', 'a value that is longer: ' .. i)",
        100_000,
    ),
];

fn fill(client: &mut Client, value: &str, count: u32) {
    let script = format!("for i = 1, {count} do local k = 'k:' .. i; {value} end");
    assert!(!client.cmd(&["EVAL", &script, "0"]).is_error());
}

/// Deletes all keys but one in [`KEPT`].
fn delete_most(client: &mut Client) {
    let names: Vec<String> = client.ask("KEYS *").items().iter().map(|name| name.text()).collect();
    let number = |name: &String| name.rsplit(':').next().and_then(|number| number.parse::<usize>().ok());
    let doomed: Vec<&str> =
        names.iter().filter(|name| number(name).is_some_and(|n| n % KEPT > 0)).map(String::as_str).collect();
    for part in doomed.chunks(500) {
        assert_eq!(client.cmd(&[&["DEL"], part].concat()).int(), part.len() as i64);
    }
}

/// Resident bytes that are of no file. Pages that the heap gives back count for jemalloc as long as others of their chunk
/// are in use, so it cannot tell.
fn resident(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("Linux says so");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

/// How many bytes of pages values take before and after blocks are moved, and how many bytes they need.
fn moved(value: &str, count: u32) -> (u64, u64, u64) {
    let server = Server::larder(&ARGS);
    let mut client = server.client();
    // The interpreter takes its memory.
    fill(&mut client, "redis.call('KEYS', k)", 10);
    let start = (resident(&server), figure(&mut client, "used_memory"));
    let active = figure(&mut client, "allocator_active");
    fill(&mut client, value, count);
    if value == SHAPED {
        // Otherwise hashes move because they get their shapes.
        wait(&mut client, "hashes have shapes", |client| {
            figure(client, "hash_shapes_users") == u64::from(count)
        });
    }
    delete_most(&mut client);
    wait(&mut client, "values are freed", |client| figure(client, "lazyfree_pending_objects") == 0);
    let digest = client.ask("DEBUG DIGEST");
    let before = figure(&mut client, "allocator_active").saturating_sub(active);
    assert_eq!(client.ask("MEMORY PURGE").text(), "OK");
    wait(&mut client, "blocks are moved", |client| {
        figure(client, "total_active_defrag_time") > 0 && figure(client, "active_defrag_running") == 0
    });
    let used = figure(&mut client, "used_memory").saturating_sub(start.1);
    // The allocator returns the pages a little later.
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut after = resident(&server).saturating_sub(start.0);
    while !is_back(before, after, used) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
        after = resident(&server).saturating_sub(start.0);
    }
    assert_eq!(client.ask("DEBUG DIGEST"), digest);
    assert!(
        figure(&mut client, "active_defrag_hits") > 0 && figure(&mut client, "active_defrag_key_hits") > 0
    );
    (before, after, used)
}

/// Whether the pages are about what is needed. Each of some hundred sizes has a slab that is not full:
/// up to 3 MB where values have many sizes.
fn is_back(before: u64, after: u64, used: u64) -> bool {
    after <= used * 5 / 4 + (3 << 20) && after * 4 <= before * 3
}

#[test]
fn memory_comes_back_from_every_structure() {
    let mut failed = Vec::new();
    for (name, value, count) in VALUES.into_iter().chain(LARGE) {
        let (before, after, used) = moved(value, count);
        println!("{name}: {before} bytes of pages, then {after} for {used} bytes");
        if !is_back(before, after, used) {
            failed.push((name, before, after, used));
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn it_starts_above_the_thresholds_only() {
    let server = Server::larder(&[&ARGS[..], &["--activedefrag", "yes"]].concat());
    let mut client = server.client();
    fill(&mut client, VALUES[0].1, VALUES[0].2);
    delete_most(&mut client);
    // The first look is long over when a second server that may start has moved its blocks.
    let eager = [
        ["--activedefrag", "yes"],
        ["--active-defrag-ignore-bytes", "1mb"],
        ["--active-defrag-cycle-min", "25"],
        ["--active-defrag-cycle-max", "50"],
        ["--active-defrag-cycle-us", "400"],
        ["--active-defrag-threshold-lower", "5"],
        ["--active-defrag-threshold-upper", "50"],
    ];
    let eager = eager.as_flattened();
    let second = Server::larder(&[&ARGS[..], eager].concat());
    let mut other = second.client();
    fill(&mut other, VALUES[0].1, VALUES[0].2);
    delete_most(&mut other);
    wait(&mut other, "blocks are moved", |client| {
        figure(client, "active_defrag_hits") > 500 && figure(client, "active_defrag_running") == 0
    });
    assert!(figure(&mut other, "total_active_defrag_time") > 0);
    assert_eq!(figure(&mut other, "current_active_defrag_time"), 0);
    assert_eq!(figure(&mut client, "active_defrag_hits"), 0, "100 MB are ignored");
    assert_eq!(figure(&mut client, "total_active_defrag_time"), 0);
}

/// All blocks move all the time while values are copied, changed, saved and loaded.
#[test]
fn copies_and_snapshots_are_not_disturbed() {
    let server = Server::larder(&ARGS);
    let mut client = server.client();
    assert_eq!(client.ask("DEBUG DEFRAG-ALWAYS 1").text(), "OK");
    for (at, (_, value, _)) in VALUES.into_iter().chain(LARGE).enumerate() {
        let value = value.replace("'k:' .. i % 8", "k");
        fill(&mut client, &value.replace("k,", &format!("k .. ':{at}',")), 300);
    }
    let digest = client.ask("DEBUG DIGEST");
    let script =
        "for _, name in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', name, name .. ':copy') end";
    for _ in 0..5 {
        assert!(!client.cmd(&["EVAL", script, "0"]).is_error());
        client.ask("BGSAVE");
        let names = client.ask("KEYS *:copy");
        for name in names.items().iter().step_by(3) {
            client.cmd(&["DEL", &name.text()]);
        }
        wait(&mut client, "the snapshot is saved", |client| figure(client, "rdb_bgsave_in_progress") == 0);
        for name in client.ask("KEYS *:copy").items() {
            client.cmd(&["DEL", &name.text()]);
        }
        assert_eq!(client.ask("DEBUG DIGEST"), digest);
        assert_eq!(client.ask("DEBUG RELOAD").text(), "OK");
        assert_eq!(client.ask("DEBUG DIGEST"), digest);
    }
    assert!(figure(&mut client, "active_defrag_hits") > 1000);
}
