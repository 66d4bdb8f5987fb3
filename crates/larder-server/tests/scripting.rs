//! Scripts beside other clients: nothing is seen half done, whatever keys they touch; those that take too long can be
//! ended, and everybody is told meanwhile.

use larder_testkit::{Client, Kind, Server, Value, full_run};
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Runs a test with each number of threads.
fn with_threads(args: &[&str], test: impl Fn(&Server)) {
    for threads in ["1", "2", "4"] {
        test(&Server::larder(&[&["--threads", threads], args].concat()));
    }
}

fn rounds(few: usize) -> usize {
    if full_run() { few * 50 } else { few }
}

/// Moves amounts between accounts that it does not declare, more of them than it could hold by chance.
const TRANSFER: &str = "
    local from, to, amount = 'account:'..ARGV[1], 'account:'..ARGV[2], tonumber(ARGV[3])
    redis.call('incr', KEYS[1])
    redis.call('decrby', from, amount)
    redis.call('incrby', to, amount)
    return redis.call('get', 'account:'..ARGV[1])";

#[test]
fn undeclared_keys_stay_atomic() {
    const ACCOUNTS: usize = 16;
    with_threads(&[], |server| {
        let rounds = rounds(300);
        let done = AtomicBool::new(false);
        let names: Vec<String> = (0..ACCOUNTS).map(|i| format!("account:{i}")).collect();
        let mut client = server.client();
        for name in &names {
            client.ask(&format!("SET {name} 1000"));
        }
        let sum = |value: &Value| -> i64 { value.items().iter().map(Value::int).sum() };
        thread::scope(|scope| {
            let movers: Vec<_> = (0..4u64)
                .map(|seed| {
                    scope.spawn(move || {
                        let mut rng = fastrand::Rng::with_seed(seed);
                        let mut client = server.client();
                        for _ in 0..rounds {
                            let (from, to) = (rng.usize(..ACCOUNTS), rng.usize(..ACCOUNTS));
                            let (from, to, amount) =
                                (from.to_string(), to.to_string(), rng.u8(..).to_string());
                            let key = format!("count:{}", rng.u8(..8));
                            client.cmd(&["EVAL", TRANSFER, "1", &key, &from, &to, &amount]);
                        }
                    })
                })
                .collect();
            // Those who hold several shards in the usual ways have to give way and must get through.
            scope.spawn(|| {
                let (mut client, line) = (server.client(), format!("MGET {}", names.join(" ")));
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(sum(&client.ask(&line)), 1000 * ACCOUNTS as i64);
                }
            });
            scope.spawn(|| {
                let mut client = server.client();
                while !done.load(Ordering::Relaxed) {
                    client.ask("MULTI");
                    client.ask("KEYS *");
                    client.ask(&format!("MGET {}", names.join(" ")));
                    assert_eq!(sum(&client.ask("EXEC").items()[1]), 1000 * ACCOUNTS as i64);
                }
            });
            movers.into_iter().for_each(|mover| mover.join().expect("no mover fails"));
            done.store(true, Ordering::Relaxed);
        });
        let counted: i64 = (0..8).map(|i| client.ask(&format!("INCRBY count:{i} 0")).int()).sum();
        assert_eq!(counted as usize, 4 * rounds);
    });
}

/// Waiting clients are served from undeclared keys, on other threads too.
/// Their order is the interpreter's own, so they are not compared with those of another server.
#[test]
fn maps_and_sets_may_have_many_elements() {
    let server = Server::larder(&[]);
    let mut client = server.client();
    client.ask("HELLO 3");
    let script = |returned: &str| {
        format!("redis.setresp(3) local t = {{}} for i = 1, 20000 do t['x' .. i] = i end return {returned}")
    };
    let mut numbers: Vec<i64> = match client.cmd(&["EVAL", &script("{map = t}"), "0"]) {
        Value::Map(items) => items
            .chunks(2)
            .map(|pair| {
                assert_eq!(pair[0].text(), format!("x{}", pair[1].int()));
                pair[1].int()
            })
            .collect(),
        other => panic!("{other}"),
    };
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=20_000));
    match client.cmd(&["EVAL", &script("{set = t}"), "0"]) {
        Value::Set(items) => {
            let members: std::collections::BTreeSet<String> = items.iter().map(Value::text).collect();
            assert!((1..=20_000).all(|i| members.contains(&format!("x{i}"))) && items.len() == 20_000);
        }
        other => panic!("{other}"),
    }
}

/// As deep as in Valkey, on the stack of a worker; what is deeper is an error in its place. Sent on, since clients do not read as deep.
#[test]
fn replies_may_be_deep() {
    let too_deep = "-ERR reached lua stack limit\r\n";
    let in_loop = |depth: usize, around: &str| {
        format!("local t = {{}} for i = 1, {depth} do t = {around} end return t")
    };
    let (array, map) = ("*1\r\n", "*2\r\n$1\r\nx\r\n");
    let cases = [
        (in_loop(7994, "{t}"), array.repeat(7994) + "*0\r\n"),
        (in_loop(100_000, "{t}"), array.repeat(7995) + too_deep),
        ("local t = {} t[1] = t return t".to_owned(), array.repeat(7995) + too_deep),
        (in_loop(2664, "{map = {x = t}}"), map.repeat(2664) + "*0\r\n"),
        (in_loop(2665, "{map = {x = t}}"), map.repeat(2664) + "*2\r\n" + too_deep + too_deep),
    ];
    for kind in [Kind::Larder, Kind::Valkey] {
        let server = Server::of(kind, &[]);
        for (script, expected) in &cases {
            let mut client = server.raw_client();
            client.tell(&[b"EVAL", script.as_bytes(), b"0"]);
            let mut reply = vec![0; expected.len()];
            client.stream.read_exact(&mut reply).expect("it is answered");
            assert!(reply == expected.as_bytes(), "{kind:?}: {script}");
        }
    }
}

/// What is deep inside is written once, however many tables around it end before Lua says.
#[test]
fn deep_tables_with_holes_are_written_once() {
    let server = Server::larder(&[]);
    let script = "local t = string.rep('x', 20000000) for i = 1, 5000 do t = {t, nil, 1} end return t";
    let mut client = server.raw_client();
    client.tell(&[b"EVAL", script.as_bytes(), b"0"]);
    let start = "*1\r\n".repeat(5000) + "$20000000\r\nxxx";
    let mut reply = vec![0; start.len()];
    client.stream.read_exact(&mut reply).expect("it is answered in time");
    assert!(reply == start.as_bytes());
}

/// Every script and function that is kept compiled is a value that Lua holds for the server.
#[test]
fn many_scripts_and_functions_are_kept() {
    const SCRIPTS: i64 = 20_000;
    const FUNCTIONS: i64 = 9_000;
    let server = Server::larder(&["--threads", "1"]);
    let mut client = server.client();
    let scripts: Vec<String> = (0..SCRIPTS).map(|n| format!("return {n}")).collect();
    let mut digests = Vec::new();
    for part in scripts.chunks(100) {
        let commands: Vec<[&str; 3]> =
            part.iter().map(|script| ["SCRIPT", "LOAD", script.as_str()]).collect();
        client.send_all(&commands.iter().map(<[&str; 3]>::as_slice).collect::<Vec<_>>());
        digests.extend(part.iter().map(|_| client.read().expect("it is answered").text()));
    }
    for (digest, n) in digests.iter().zip(0..).step_by(1999).chain(digests.iter().zip(0..).last()) {
        assert_eq!(client.cmd(&["EVALSHA", digest, "0"]), Value::Int(n));
    }
    assert_eq!(client.cmd(&["EVAL", "return #cjson.encode({KEYS[1]})", "1", "k"]).int(), 5);
    let functions: String = (0..FUNCTIONS)
        .map(|n| format!("redis.register_function('f{n}', function() return {n} end)\n"))
        .collect();
    let library = format!("#!lua name=many\n{functions}");
    assert_eq!(client.cmd(&["FUNCTION", "LOAD", &library]).text(), "many");
    let last = format!("FCALL f{} 0", FUNCTIONS - 1);
    assert_eq!(client.ask(&last).int(), FUNCTIONS - 1);
    let dump = client.ask("FUNCTION DUMP").bytes().to_vec();
    assert_eq!(client.cmd(&[&b"FUNCTION"[..], b"RESTORE", &dump, b"FLUSH"]).text(), "OK");
    assert_eq!(client.ask(&last).int(), FUNCTIONS - 1);
}

#[test]
fn scripts_serve_those_who_wait() {
    with_threads(&[], |server| {
        let mut waiting: Vec<Client> = (0..4).map(|_| server.client()).collect();
        for (at, client) in waiting.iter_mut().enumerate() {
            client.send(&["BLMOVE", &format!("queue:{at}"), "taken", "LEFT", "RIGHT", "0"]);
        }
        let mut client = server.client();
        while client.ask("INFO clients").text().lines().all(|line| line != "blocked_clients:4") {}
        client.cmd(&["EVAL", "for i=0,3 do redis.call('rpush','queue:'..i,i) end", "0"]);
        for (at, client) in waiting.iter_mut().enumerate() {
            assert_eq!(client.read().unwrap().text(), at.to_string());
        }
        assert_eq!(client.ask("LLEN taken").int(), 4);
    });
}

const BUSY: &[&str] = &["--busy-reply-threshold", "30"];

/// Connections of all threads, by asking until a busy server answers so.
fn wait_until_busy(client: &mut Client, kill: &str) {
    let expected =
        format!("BUSY Valkey is busy running a script. You can only call {kill} or SHUTDOWN NOSAVE.");
    while client.ask("PING").text() != expected {}
}

#[test]
fn long_scripts_can_be_killed() {
    with_threads(BUSY, |server| {
        let mut others: Vec<Client> = (0..4).map(|_| server.client()).collect();
        others.iter_mut().for_each(|client| client.set_timeout(Duration::from_secs(20)));
        for script in [
            "while true do end",
            "while true do pcall(function() while true do end end) end",
            "coroutine.wrap(function() while true do end end)()",
            "xpcall(function() while true do end end, function() while true do end end)",
            "while true do xpcall(function() while true do end end, function() while true do end end) end",
            "while true do redis.call('get', 'x') end",
        ] {
            let mut client = server.client();
            client.set_timeout(Duration::from_secs(20));
            client.send(&["EVAL", script, "1", "x"]);
            others.iter_mut().for_each(|other| wait_until_busy(other, "SCRIPT KILL"));
            // A connection that comes only now, one that goes, and one that waits for what the script holds.
            assert!(server.client().ask("GET y").text().starts_with("BUSY"));
            assert_eq!(others[0].ask("FUNCTION KILL").text(), others[1].ask("PING").text());
            assert!(others[1].ask("SHUTDOWN").text().starts_with("BUSY"));
            assert_eq!(others[1].ask("SCRIPT KILL").text(), "OK");
            let text = client.read().unwrap().text();
            assert!(text.starts_with("ERR Script killed by user with SCRIPT KILL."), "{text}");
            others.iter_mut().for_each(|other| assert_eq!(other.ask("PING").text(), "PONG"));
            assert_eq!(others[0].ask("SCRIPT KILL").text(), "NOTBUSY No scripts in execution right now.");
        }
    });
}

/// A script that waits for a time gets there, also when it can be killed no more; nobody is told what it is.
#[test]
fn time_goes_on_in_long_scripts() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let server = Server::of(kind, &["--busy-reply-threshold", "30"]);
        let (mut client, mut other) = (server.client(), server.client());
        client.set_timeout(Duration::from_secs(20));
        let now = "local function now() local t = redis.call('time') return t[1] * 1000000 + t[2] end ";
        let wait =
            "redis.call('set', KEYS[1], 1) local start = now() while now() - start < 300000 do end return 5";
        client.send(&["EVAL", &format!("{now}{wait}"), "1", "k"]);
        wait_until_busy(&mut other, "SCRIPT KILL");
        assert!(other.ask("FUNCTION STATS").text().starts_with("BUSY"), "{kind:?}");
        assert_eq!(client.read().unwrap().int(), 5, "{kind:?}");
        assert_eq!(client.cmd(&["EVAL", &format!("{now}local t = now() return now() - t"), "0"]).int(), 0);
    }
}

#[test]
fn long_functions_can_be_killed() {
    with_threads(BUSY, |server| {
        let mut other = server.client();
        let code = "#!lua name=lib\nredis.register_function('spin', function() while true do end end)";
        assert_eq!(other.cmd(&["FUNCTION", "LOAD", code]).text(), "lib");
        let mut client = server.client();
        client.send(&["FCALL", "spin", "1", "k", "arg"]);
        wait_until_busy(&mut other, "FUNCTION KILL");
        let stats = other.ask("FUNCTION STATS");
        let running = stats.items()[1].items();
        assert_eq!(running[1].text(), "spin");
        assert_eq!(
            running[3].items().iter().map(Value::text).collect::<Vec<_>>(),
            ["FCALL", "spin", "1", "k", "arg"]
        );
        assert!(running[5].int() >= 30);
        assert!(other.ask("SCRIPT KILL").text().starts_with("BUSY"));
        assert_eq!(other.ask("FUNCTION KILL").text(), "OK");
        let text = client.read().unwrap().text();
        assert_eq!(text, "ERR Script killed by user with FUNCTION KILL. script: on @user_function:2.");
        assert_eq!(other.ask("PING").text(), "PONG");
    });
}

/// Long before others are told that the server is busy, other threads see a script and can end it.
#[test]
fn scripts_are_seen_from_their_start() {
    for threads in ["2", "4"] {
        let server = Server::larder(&["--threads", threads, "--busy-reply-threshold", "30000"]);
        let start = std::time::Instant::now();
        let mut client = server.client();
        client.set_timeout(Duration::from_secs(40));
        let code = "#!lua name=lib\nserver.register_function('spin', function() while true do end end)";
        assert_eq!(client.cmd(&["FUNCTION", "LOAD", code]).text(), "lib");
        for (command, kill) in
            [("EVAL \"while true do end\" 0", "SCRIPT KILL"), ("FCALL spin 0", "FUNCTION KILL")]
        {
            // They have to be accepted before the thread that accepts is busy.
            let mut others: Vec<Client> = (0..4).map(|_| server.client()).collect();
            others.iter_mut().for_each(|other| drop(other.ask("PING")));
            client.send(&larder_testkit::words(command));
            let done = AtomicBool::new(false);
            thread::scope(|scope| {
                for other in &mut others {
                    let done = &done;
                    scope.spawn(move || {
                        other.set_timeout(Duration::from_secs(40));
                        while !done.load(Ordering::Relaxed) {
                            if other.ask("FUNCTION STATS").items()[1].items().is_empty() {
                                continue;
                            }
                            let reply = other.ask(kill).text();
                            assert!(reply == "OK" || reply.starts_with("NOTBUSY"), "{reply}");
                        }
                    });
                }
                let text = client.read().unwrap().text();
                done.store(true, Ordering::Relaxed);
                assert!(text.contains(&format!("Script killed by user with {kill}.")), "{text}");
            });
        }
        assert!(start.elapsed() < Duration::from_secs(25));
    }
}

/// A kill that comes when the script that it means has ended leaves the next one alone, unless that runs for long too.
#[test]
fn kills_leave_short_scripts_alone() {
    let server = Server::larder(&["--threads", "2", "--busy-reply-threshold", "30000"]);
    let mut others: Vec<Client> = (0..4).map(|_| server.client()).collect();
    others.iter_mut().for_each(|other| drop(other.ask("PING")));
    let (client, killer) = others.split_at_mut(1);
    let (client, killer) = (&mut client[0], &mut killer[0]);
    for _ in 0..300 {
        client.send(&["EVAL", "for i = 1, 200000 do end return 7", "0"]);
        let reply = killer.ask("SCRIPT KILL").text();
        assert_eq!(reply, "NOTBUSY No scripts in execution right now.");
        assert_eq!(client.read().unwrap().int(), 7);
    }
    client.send(&["EVAL", "while true do end", "0"]);
    killer.set_timeout(Duration::from_secs(20));
    while killer.ask("SCRIPT KILL").text() != "OK" {}
    assert!(client.read().unwrap().text().starts_with("ERR Script killed by user"));
}

/// Scripts that do their work in one call of Lua's library end as well.
#[test]
fn patterns_can_be_killed() {
    let server = Server::larder(&[BUSY, &["--threads", "1"]].concat());
    let (mut client, mut other) = (server.client(), server.client());
    client.set_timeout(Duration::from_secs(20));
    client.send(&["EVAL", "return string.find(('a'):rep(1000), ('a-'):rep(20) .. 'b')", "0"]);
    wait_until_busy(&mut other, "SCRIPT KILL");
    assert_eq!(other.ask("SCRIPT KILL").text(), "OK");
    assert!(client.read().unwrap().text().contains("Script killed by user with SCRIPT KILL."));
}

/// Loading a library costs the same however many there are, and INFO says what they take.
#[test]
fn many_libraries() {
    let server = Server::larder(&["--threads", "1"]);
    let mut client = server.client();
    let taken = |client: &mut Client| -> u64 {
        let info = client.ask("INFO memory").text();
        let line = info.lines().find_map(|line| line.strip_prefix("used_memory_vm_functions:"));
        line.expect("the field").parse().expect("a number")
    };
    assert_eq!(taken(&mut client), 0);
    for n in 0..2000 {
        let code = format!("#!lua name=lib{n}\nserver.register_function('f{n}', function() return {n} end)");
        client.send(&["FUNCTION", "LOAD", &code]);
    }
    for n in 0..2000 {
        assert_eq!(client.read().unwrap().text(), format!("lib{n}"));
    }
    let full = taken(&mut client);
    assert!(full > 2000 * 100, "{full}");
    assert_eq!(client.ask("FCALL f1999 0").int(), 1999);
    let twin = "#!lua name=other\nserver.register_function('F7', function() end)";
    assert_eq!(client.cmd(&["FUNCTION", "LOAD", twin]).text(), "ERR Function F7 already exists");
    let same = "#!lua name=lib7\nserver.register_function('f8', function() end)";
    assert_eq!(client.cmd(&["FUNCTION", "LOAD", "REPLACE", same]).text(), "ERR Function f8 already exists");
    assert_eq!(client.ask("FCALL f7 0").int(), 7);
    client.ask("FUNCTION FLUSH");
    assert_eq!(client.cmd(&["EVAL", "return 1", "0"]).int(), 1);
    assert_eq!(taken(&mut client), 0);
}

/// A script that has written is not killed. Those who wait for its keys, have subscriptions, watch keys, or leave, get
/// what they would have got.
#[test]
fn others_go_on_after_a_long_script() {
    with_threads(BUSY, |server| {
        let mut other = server.client();
        let mut waiting = server.client();
        waiting.send(&["BLPOP", "list", "0"]);
        while !other.ask("INFO clients").text().contains("blocked_clients:1\r\n") {}
        let mut watching = server.client();
        watching.ask("WATCH flag");
        let mut leaving = server.client();
        leaving.ask("WATCH flag");
        // TIME stands still for a script; the time that the process has worked does not.
        let script = "
            local start = os.clock()
            redis.call('set', 'flag', '1') redis.call('rpush', 'list', 'a')
            while redis.call('get', 'stop') ~= '1' do
                if os.clock() - start > 1 then redis.call('set', 'stop', '1') end
            end
            return 'done'";
        let mut client = server.client();
        client.send(&["EVAL", script, "0"]);
        wait_until_busy(&mut other, "SCRIPT KILL");
        assert!(other.ask("SCRIPT KILL").text().starts_with("UNKILLABLE"));
        drop(leaving);
        // Its end looks at a watched key, which the script holds: it waits.
        watching.send(&["UNWATCH"]);
        assert_eq!(client.read().unwrap().text(), "done");
        assert_eq!(watching.read().unwrap().text(), "OK");
        assert_eq!(waiting.read().unwrap().items()[1].text(), "a");
        assert_eq!(other.ask("GET stop").text(), "1");
        let mut reused = server.client();
        assert_eq!(reused.ask("INCR n").int(), 1);
    });
}

#[test]
fn a_busy_server_ends_without_saving() {
    with_threads(&[BUSY, &["--save", "1 1"]].concat(), |server| {
        let mut other = server.client();
        let mut client = server.client();
        client.send(&["EVAL", "redis.call('set','x','1') while true do end", "0"]);
        wait_until_busy(&mut other, "SCRIPT KILL");
        other.send(&["SHUTDOWN", "NOSAVE"]);
        while client.read().is_ok() || other.read().is_ok() {}
        assert!(!server.dir().join("dump.rdb").exists());
    });
}

#[test]
fn scripts_that_only_eval_brought_make_place() {
    let server = Server::larder(&[]);
    let mut client = server.client();
    let kept = client.cmd(&["SCRIPT", "LOAD", "return 'kept'"]).text();
    for n in 0..700 {
        assert_eq!(client.cmd(&["EVAL", &format!("return {n}"), "0"]).int(), n);
    }
    let info = client.ask("INFO").text();
    assert!(info.contains("number_of_cached_scripts:501\r\n") && info.contains("evicted_scripts:200\r\n"));
    assert_eq!(client.cmd(&["EVALSHA", &kept, "0"]).text(), "kept");
    assert_eq!(client.cmd(&["EVAL", "return 1", "0"]).int(), 1);
    client.ask("SCRIPT FLUSH");
    assert!(client.cmd(&["EVALSHA", &kept, "0"]).text().starts_with("NOSCRIPT"));
}

/// Every thread compiles what another has loaded, and forgets it with the others.
#[test]
fn functions_are_everywhere() {
    with_threads(&[], |server| {
        let mut clients: Vec<Client> = (0..4).map(|_| server.client()).collect();
        for version in ["one", "two"] {
            let code = format!(
                "#!lua name=lib\nredis.register_function('version', function() return '{version}' end)"
            );
            assert_eq!(clients[0].cmd(&["FUNCTION", "LOAD", "REPLACE", &code]).text(), "lib");
            for client in &mut clients {
                assert_eq!(client.ask("FCALL version 0").text(), version);
            }
        }
        let code = "#!lua name=lib\nredis.log(redis.LOG_NOTICE, 'it is loaded')\n\
                    redis.register_function('version', function() return 'three' end)";
        assert_eq!(clients[0].cmd(&["FUNCTION", "LOAD", "REPLACE", code]).text(), "lib");
        for client in &mut clients {
            assert_eq!(client.ask("FCALL version 0").text(), "three");
        }
        server.wait_for_log("it is loaded");
        clients[1].ask("FUNCTION FLUSH");
        for client in &mut clients {
            assert_eq!(client.ask("FCALL version 0").text(), "ERR Function not found");
        }
    });
}

/// Whatever a script tries, it gets an error, and the server answers the next one.
#[test]
fn hostile_scripts_get_errors() {
    let server = Server::larder(&["--threads", "2"]);
    let mut client = server.client();
    for script in [
        "local function f() return 1 + f() end return f()",
        "local s = 'x' while true do s = s .. s end",
        "return unpack({}, 1, 1e8)",
        "return redis.call(unpack({}, 1, 7000))",
        "return string.format('%99999999d', 1)",
        "return load(string.char(27) .. 'Lua')()",
        "return loadstring(string.dump(function() end))()",
        "getmetatable('').__index = nil",
        "getmetatable(redis).__newindex = nil",
        "rawset(string, 'rep', nil)",
        "setmetatable(_G, nil)",
        "_G._G = nil",
        "return getfenv(0)",
        "return debug.getinfo(1)",
        "return require('os')",
        "local co co = coroutine.wrap(function() return co() end) return co()",
        "local f = function() end for i = 1, 300 do local g = f f = function() return pcall(g) end end error(f)",
        "error(setmetatable({}, {__tostring = function() error('again') end}))",
        "return cjson.decode(string.rep('[', 100000))",
        "return cmsgpack.unpack(string.char(0xdd, 255, 255, 255, 255))",
        "return struct.unpack('c1000000000', 'x')",
        "return redis.sha1hex(nil, nil)",
        "return redis.call('set', 'k', string.rep('x', 6 * 1024 * 1024), 'nonsense')",
    ] {
        let reply = client.cmd(&["EVAL", script, "0"]);
        assert!(reply.is_error(), "{script}: {reply:.200}");
        assert_eq!(
            client.cmd(&["EVAL", "return redis.call('ping')['ok'] .. ('x'):rep(3)", "0"]).text(),
            "PONGxxx"
        );
    }
    assert_eq!(client.ask("DBSIZE").int(), 0);
}

/// What scripts draw is one sequence, whichever threads run them and whatever becomes of their interpreters: that of Valkey.
#[test]
fn no_two_scripts_draw_the_same_numbers() {
    let draw = |server: &Server| -> Vec<String> {
        let mut drawn = Vec::new();
        for round in 0..24 {
            let mut client = server.client();
            drawn.push(client.cmd(&["EVAL", "return tostring(math.random())", "0"]).text());
            match round {
                8 => drop(client.cmd(&["SCRIPT", "FLUSH"])),
                16 => drop(client.cmd(&["EVAL", "math.randomseed(7)", "0"])),
                _ => {}
            }
        }
        drawn
    };
    let expected = draw(&Server::valkey(&[]));
    with_threads(&[], |server| assert_eq!(draw(server), expected));
}

/// Scripts that say of themselves what they need, and some that say nothing.
const DECLARED: &[&str] = &[
    "return 1",
    "#!lua\nreturn 1",
    "#!lua flags=no-writes\nreturn 1",
    "#!lua flags=allow-oom\nreturn redis.call('SET', KEYS[1], 'v')",
    "#!lua flags=allow-stale\nreturn 1",
    "#!lua flags=allow-stale,no-writes\nreturn redis.call('GET', KEYS[1])",
    "#!lua flags=allow-stale,no-writes\nreturn redis.call('ECHO', 'x')",
    "#!lua\nreturn redis.call('SET', KEYS[1], 'v')",
    "#!lua flags=no-writes\nreturn redis.call('SET', KEYS[1], 'v')",
    "#!lua flags=no-writes\nreturn redis.call('DEL', KEYS[1])",
    "return redis.call('SET', KEYS[1], 'v')",
    "#!lua flags=unknown\nreturn 1",
];

const LIBRARY: &str = "#!lua name=l
    redis.register_function('any', function() return 1 end)
    redis.register_function{function_name='reads', callback=function() return 1 end, flags={'no-writes'}}
    redis.register_function{function_name='oom', callback=function() return 1 end, flags={'allow-oom'}}
    redis.register_function{function_name='stale', callback=function() return 1 end, flags={'no-writes', 'allow-stale'}}";

/// All that runs scripts, directly and in transactions: what a script says is asked before it runs, when it is queued, and by EXEC of all that is
/// queued, so that no transaction is done by half. In every state that refuses something, as in Valkey.
#[test]
fn what_scripts_say_is_asked_before_they_run() {
    let all = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = Server::of(kind, &["--maxmemory-policy", "noeviction"]);
        let (mut client, mut other) = (server.client(), server.client());
        let mut calls: Vec<Vec<String>> = Vec::new();
        for script in DECLARED {
            let sha = client.cmd(&["SCRIPT", "LOAD", script]);
            for name in ["EVAL", "EVAL_RO"] {
                calls.push([name, script, "1", "k"].map(str::to_owned).to_vec());
            }
            if !sha.is_error() {
                calls.push(["EVALSHA", &sha.text(), "1", "k"].map(str::to_owned).to_vec());
            }
        }
        client.cmd(&["FUNCTION", "LOAD", LIBRARY]);
        for function in ["any", "reads", "oom", "stale", "none"] {
            calls.extend(["FCALL", "FCALL_RO"].map(|name| [name, function, "0"].map(str::to_owned).to_vec()));
        }
        // In a transaction all is queued before the state begins, or after that.
        let states = [
            ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
            ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"),
            ("CONFIG SET replica-serve-stale-data no", "CONFIG SET replica-serve-stale-data yes"),
        ];
        let mut seen = Vec::new();
        for (begin, end) in states {
            if begin.contains("stale") {
                client.ask("REPLICAOF 127.0.0.1 1");
                client.ask("CONFIG SET replica-read-only no");
            }
            for call in &calls {
                for queues_before in [None, Some(true), Some(false)] {
                    let mut replies = Vec::new();
                    if queues_before != Some(true) {
                        other.ask(begin);
                    }
                    match queues_before {
                        None => replies.push(client.cmd(call).to_string()),
                        Some(before) => {
                            replies.push(client.ask("MULTI").to_string());
                            replies.push(client.ask("DEL a").to_string());
                            replies.push(client.cmd(call).to_string());
                            if before {
                                other.ask(begin);
                            }
                            replies.push(client.ask("EXEC").to_string());
                        }
                    }
                    other.ask(end);
                    seen.push(format!("{begin}: {call:?}, queued before: {queues_before:?}: {replies:?}"));
                }
            }
        }
        seen
    });
    let [larder, valkey] = all;
    let differ: Vec<_> = larder.iter().zip(&valkey).filter(|(ours, theirs)| ours != theirs).collect();
    assert!(differ.is_empty(), "{} of {}: {differ:#?}", differ.len(), larder.len());
}
