//! What MONITOR shows of the same commands, in which order, but for times and addresses.

use super::{Pair, words};
use larder_testkit::{Client, Kind};

const SCRIPT: &str = r##"
    auth default pw
    auth pw
    hello 3 auth default pw setname x
    HELLO 2 AUTH default pw
    hello 2
    acl setuser bob on >pw ~* +@all
    acl whoami
    config set maxmemory 0
    migrate 127.0.0.1 1 k 0 10 auth pw
    set k v
    migrate 127.0.0.1 1 "" 0 10 copy auth2 user pw keys nokey auth
    multi
    set k 2
    get k
    nosuch
    exec
    multi
    set k 2
    get k
    lpush k 1
    exec
    multi
    set k 2
    discard
    watch k
    unwatch
    multi
    eval "return redis.call('get','k')" 0
    exec
    exec
    eval "redis.call('set',KEYS[1],'1') return redis.pcall('lpush',KEYS[1],'1')" 1 k
    eval "return redis.call('nosuch')" 0
    eval "return redis.call('select','2')" 0
    eval_ro "return redis.call('get','k')" 0
    evalsha ffff 0
    script load "return 1"
    evalsha e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
    function load "#!lua name=lib\nredis.register_function('f', function() return redis.call('get','k') end)"
    fcall f 0
    fcall nosuch 0
    select 3
    get k
    select 99
    select 0
    nosuch a b
    get
    lpush k
    lpush k 1
    client setname zz
    client list
    client id
    subscribe c
    unsubscribe c
    debug sleep 0
    debug object k
    ping
    ping "a\x00b\xff\"\\\r\n\t\a"
    set "key with \x01" ""
    publish c "some message"
    object encoding k
    info server
    slowlog get
    latency latest
    memory usage k
    time
    echo hi
    command count
    spublish c m
    blpop nolist 0.001
    xread block 1 streams nostream $
    wait 0 1
    shutdown abort
    reset
    quit
"##;

/// The lines up to the one with the mark, without times and ports.
fn lines(monitor: &mut Client) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let line = monitor.read().expect("monitors are fed").text();
        if line.contains("the-end") {
            return lines;
        }
        let (_, rest) = line.split_once(' ').expect("a time");
        let (origin, command) = rest.split_once("] ").expect("an origin");
        let origin = origin.split(':').next().expect("an address");
        lines.push(format!("{origin}] {command}"));
    }
}

#[test]
fn monitors_see_the_same() {
    let mut pair = Pair::with(Kind::Valkey, 1, &[]);
    let mut shown = Vec::new();
    for server in pair.servers() {
        let (mut monitor, mut client) = (server.client(), server.client());
        assert_eq!(monitor.ask("MONITOR").text(), "OK");
        for line in SCRIPT.lines().map(str::trim).filter(|line| !line.is_empty()) {
            client.cmd(&words(line));
        }
        server.client().ask("ECHO the-end");
        shown.push(lines(&mut monitor));
    }
    let theirs = shown.pop().expect("the peer's");
    let ours = shown.pop().expect("Larder's");
    let differing = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
    let text =
        differing.map_or(String::new(), |(ours, theirs)| format!("larder: {ours}\npeer:   {theirs}\n"));
    assert!(ours.len() > 40, "{ours:#?}");
    pair.judge(&text);
    assert_eq!(ours.len(), theirs.len(), "{ours:#?}\n{theirs:#?}");
}
