//! Sessions of the debugger of scripts: the same dialogue with Larder and with Valkey.

use crate::{Pair, words};
use larder_testkit::{Client, Kind, Server, Value};
use std::fmt::Write;

/// A script, the arguments of EVAL after it, and what the client says.
struct Dialogue {
    script: &'static str,
    args: &'static str,
    commands: &'static [&'static str],
}

const fn dialogue(script: &'static str, args: &'static str, commands: &'static [&'static str]) -> Dialogue {
    Dialogue { script, args, commands }
}

/// What a client gets in a session, one reply a line, addresses left out.
fn hold(client: &mut Client, mode: &str, dialogue: &Dialogue) -> String {
    let mut heard = format!("{:?}\n", client.ask(&format!("SCRIPT DEBUG {mode}")));
    let mut eval = vec![b"EVAL".to_vec(), dialogue.script.as_bytes().to_vec()];
    eval.extend(words(dialogue.args));
    client.send(&eval);
    let mut commands = dialogue.commands.iter();
    loop {
        let reply = client.read().expect("a session begins, goes on, or ends");
        let ends = reply.items().last().is_some_and(|line| line.text() == "<endsession>");
        note(&mut heard, &reply);
        if ends {
            break;
        }
        let command = commands.next().unwrap_or(&"continue");
        let _ = writeln!(heard, "> {command}");
        client.send(&words(command));
    }
    note(&mut heard, &client.read().expect("EVAL is answered last"));
    assert!(client.read().is_err(), "the connection is closed");
    heard
}

fn note(heard: &mut String, reply: &Value) {
    let lines = if reply.items().is_empty() { std::slice::from_ref(reply) } else { reply.items() };
    for line in lines {
        let mut text = format!("{line:?}");
        while let Some(at) = text.find("@0x") {
            let digits = text[at + 3..].bytes().take_while(u8::is_ascii_hexdigit).count();
            text.replace_range(at..at + 3 + digits, "@");
        }
        let _ = writeln!(heard, "  {text}");
    }
}

/// Holds dialogues with both servers, one connection each, and then asks for what they leave.
fn compare(mode: &str, data: &[&str], dialogues: &[Dialogue], after: &[&str]) {
    let mut pair = Pair::with(Kind::Valkey, 1, &[]);
    data.iter().for_each(|line| drop(pair.both(&words(line))));
    let mut differences = String::new();
    for dialogue in dialogues {
        let heard = |server: &Server| hold(&mut server.client(), mode, dialogue);
        let [larder, peer] = pair.servers();
        let (ours, theirs) = (heard(larder), heard(peer));
        for (ours, theirs) in ours.lines().zip(theirs.lines()).filter(|(ours, theirs)| ours != theirs) {
            let _ = writeln!(differences, "{:?}\n  larder {ours}\n  peer   {theirs}", dialogue.script);
        }
        if ours.lines().count() != theirs.lines().count() {
            let _ = writeln!(differences, "{:?}:\n{ours}\n---\n{theirs}", dialogue.script);
        }
    }
    for line in after {
        let replies = pair.both(&words(line));
        if let Some(difference) = crate::compare(line, &replies) {
            differences.push_str(&difference);
        }
    }
    pair.judge(&differences);
}

const STEPS: &str = "local a = 1\n\
    local b = {1,2,{x=3}}\n\
    local s = \"str\\n\"\n\
    redis.call('SET',KEYS[1],ARGV[1])\n\
    local g = redis.call('GET',KEYS[1])\n\
    local function f(x)\n  local y = x+1\n  return y\nend\n\
    local z = f(5)\n\
    for i=1,3 do\n  z = z+i\nend\n\
    redis.debug(z, b, nil, true, s, 1.5)\n\
    redis.breakpoint()\n\
    return {z,b,ok='x'}\n";

#[test]
fn steps() {
    let two = "local a=1\nlocal b=2\nreturn a";
    let sorts = "local t = {3,1,2}\ntable.sort(t,function(a,b)\n  return a<b\nend)\nreturn t";
    compare(
        "YES",
        &[],
        &[
            dialogue(STEPS, "1 k v1 v2", &["s", "step", "n", "next", "S", "NEXT", "s", "s", "c", "s"]),
            dialogue(STEPS, "1 k v1", &["c"]),
            dialogue(
                two,
                "0",
                &["s 1", "n x", "c 1", "a 1", "t 1", "trace 1", "h 1", "foo", "r", "e", "m", "w 1"],
            ),
            dialogue(two, "0", &["abort"]),
            dialogue(two, "x", &[]),
            dialogue(two, "3", &[]),
            dialogue("syntax error here", "0", &[]),
            dialogue("#!lua flags=nope\nreturn 1", "0", &[]),
            dialogue("#!lua\nlocal a = 1\nreturn 1", "0", &["l", "s"]),
            dialogue("\n\n\nreturn 1", "0", &["s"]),
            dialogue("-- nothing\n", "0", &["w", "s"]),
            dialogue("return nope", "0", &["s"]),
            dialogue("local a=1\nerror('x')", "0", &["s", "s"]),
            dialogue("error({err='MY thing'})", "0", &["s"]),
            dialogue(
                "local f=function()\n local x=1\nend\nlocal ok,e=pcall(f)\nreturn {tostring(e),type(e)}",
                "0",
                &["b 2", "c", "a"],
            ),
            dialogue("return redis.breakpoint()", "0", &["c"]),
            dialogue(
                "local function f() redis.breakpoint() end\nf()\nf()\nlocal z=1 return z",
                "0",
                &["c", "c"],
            ),
            dialogue(
                "redis.debug()\nredis.debug(1,{})\nlocal b=redis.debug('x')\nreturn tostring(b)",
                "0",
                &["s"],
            ),
            dialogue("local s=0\nfor i=1,3 do s=s+i end\nreturn s", "0", &["s", "s", "s", "s", "s", "s"]),
            dialogue(sorts, "0", &["b 3", "c", "t", "p", "b 0", "c"]),
        ],
        &["DBSIZE"],
    );
}

#[test]
fn lists_and_breakpoints() {
    let long: &'static str = Box::leak(
        (0..120).fold(String::new(), |text, n| text + &format!("local a{n}={n}\n")).into_boxed_str(),
    );
    let many: &'static [&'static str] =
        (1..=66).map(|n| &*Box::leak(format!("b {n}").into_boxed_str())).collect::<Vec<_>>().leak();
    compare(
        "YES",
        &[],
        &[
            dialogue(
                STEPS,
                "1 k v",
                &["l", "l 3", "l 5 1", "w", "whole", "l 0", "l -1", "l 100", "l x", "l 1 x"],
            ),
            dialogue(STEPS, "1 k v", &["l 2 0", "l 1 -1", "l 1 1 1", "s", "s", "s", "s", "list", "list 16"]),
            dialogue(
                STEPS,
                "1 k v",
                &["b", "b 3", "break 5", "b", "b 3", "b -7", "b 1x", "b -x", "b x y", "w", "c"],
            ),
            dialogue(STEPS, "1 k v", &["b 3", "b 5", "b -3", "b", "c", "b 0", "b", "b 100", "b 16", "c"]),
            dialogue(long, "0", many),
            dialogue(long, "0", &["b 70", "c", "l", "l 119", "w"]),
            dialogue("local a=1 \r\nreturn 1\r\n\r\n", "0", &["w", "s"]),
            dialogue("local a='x\0y'\nredis.debug('q\0w')\nreturn 1", "0", &["s", "p", "s"]),
        ],
        &[],
    );
}

#[test]
fn values() {
    let values = "local a=nil; local b=true; local c=1e100; local d=-0.0; local e=0/0; local f=1/0\n\
        local t={}; t.t=t; local u={[1.5]='x',[true]=2}; local co=coroutine.create(function() end)\n\
        local deep={{{{{{{{{{{{{{{1}}}}}}}}}}}}}}} local q='\"quo\\0te\\255\\t'\n\
        local long=string.rep('x',300)\n\
        local big={} for i=1,100 do big[i]=i end\n\
        local p=redis.call local st=redis.status_reply('hi') local i=12345678901234567890\n\
        local seq={1,2,nil,4} local em={} local mixed={1,2,a=3} local zero={[0]=1,2} local null=cjson.null\n\
        return 1";
    let numbers = "local t={1234567,1e15,0.1,1e-5,123456,999999.5,1e21,-1.5,3.14159265358979,2^53}\nreturn 1";
    compare(
        "YES",
        &[],
        &[
            dialogue(
                values,
                "0",
                &["b 8", "c", "p", "p long", "maxlen 0", "p long", "p big", "maxlen 60", "p"],
            ),
            dialogue(
                values,
                "0",
                &["b 8", "c", "p big", "p a", "p deep", "p nosuch", "p redis", "p _G", "p a b"],
            ),
            dialogue(values, "0", &["p", "print KEYS", "p ARGV", "p keys"]),
            dialogue(numbers, "1 k v", &["s", "p", "p t", "p KEYS", "p ARGV"]),
            dialogue(
                STEPS,
                "1 k v",
                &["maxlen", "max", "maxlen 1", "maxlen 59", "maxlen 61", "maxlen 99999999999"],
            ),
            dialogue(STEPS, "1 k v", &["maxlen x", "maxlen -1", "maxlen 0", "maxlen", "maxlen 1 2"]),
            dialogue(
                "local x = 1 do local x = 2\n  local y = x\nlocal z=y end\nreturn x",
                "0",
                &["s", "p", "p x", "s", "p", "s", "p"],
            ),
            dialogue(
                "for i,v in ipairs({5,6}) do\n local w=v\nend\nfor k=1,2 do\n local j=k\nend\nreturn 1",
                "0",
                &["s", "p", "s", "p", "s", "s", "s", "p", "s", "p", "p (for index)"],
            ),
            dialogue("redis.debug(string.rep('x',400))\nreturn 1", "0", &["s"]),
        ],
        &[],
    );
}

#[test]
fn calls() {
    let nested = "local function f(n)\n if n==0 then\n  return 1\n end\n return f(n-1)\nend\n\
        local function g(n)\n if n==0 then\n  redis.breakpoint()\n  return 1\n end\n local x=g(n-1)\n return x\nend\n\
        f(3)\nreturn g(3)";
    let threads = "local a = coroutine.wrap(function(x)\n local loc=x\n redis.breakpoint()\n local y=2\n \
        coroutine.yield(loc)\n return 3\nend)\nlocal v=a(7)\nlocal w=a()\nreturn {v,w}";
    let methods = "local t={f=function(self)\n local x=1\n return 2\nend}\nfunction t.g()\n return t:f()+1\nend\n\
        local r=t.g()\nreturn r";
    let up = "local up=1\nlocal function f(...)\n local a=up\n local b=...\n return b\nend\nf(1,2)\nreturn ARGV[1]";
    let meta = "local t=setmetatable({},{__index=function()\n return 1\nend})\nlocal n=t.x\nreturn 1";
    compare(
        "YES",
        &[],
        &[
            dialogue(nested, "0", &["b 3", "c", "t", "p", "c", "trace", "p", "p n", "p x", "c"]),
            dialogue(threads, "0", &["c", "p", "p loc", "p a", "t", "s", "t", "s", "p", "s", "s"]),
            dialogue(methods, "0", &["b 2", "c", "t", "s", "s"]),
            dialogue(up, "0 z", &["b 4", "c", "p", "p up", "p arg", "t"]),
            dialogue(meta, "0", &["s", "s", "s", "t", "p t"]),
            dialogue(
                "local ok = pcall(function()\n local i = 1\n error('boom')\nend)\nreturn 1",
                "0",
                &["b 2", "c", "t", "p"],
            ),
        ],
        &[],
    );
}

#[test]
fn code() {
    let two = "local a=1\nlocal b=2\nreturn a";
    compare(
        "YES",
        &[],
        &[
            dialogue(
                two,
                "1 k v",
                &["e 1+1", "e return 5", "e x=", "e error('a')", "eval local q = 1; return q"],
            ),
            dialogue(
                two,
                "1 k v",
                &["e a", "e KEYS", "e return 1,2", "e error({err='x'})", "e error()", "e error(5)"],
            ),
            dialogue(
                two,
                "1 k v",
                &["e redis.call('set','a')", "e return redis.call('set','a','b')", "e nope()"],
            ),
            dialogue(
                two,
                "1 k v",
                &["e return redis.error_reply('a b')", "e x=1", "e return 'a\\\\0b'", "e '\r'"],
            ),
            dialogue(
                two,
                "1 k v",
                &["e redis.breakpoint()", "c", "e redis.debug('a',{1})", "e KEYS[1]=2", "e KEYS"],
            ),
            dialogue(
                two,
                "0",
                &["e return coroutine.wrap(function() return 7 end)()", "e nil", "e return nil == nil"],
            ),
            dialogue(
                two,
                "0",
                &["e string.rep('y',1000)", "e string.rep('y',1000)", "e {{},{1,{}}}", "e unpack({1,2})"],
            ),
            dialogue(
                two,
                "0",
                &["e local function f() error('in f') end f()", "e return cjson.encode({1})", "e _G.nope"],
            ),
        ],
        &["GET a"],
    );
}

#[test]
fn commands() {
    let two = "local a=1\nlocal b=2\nreturn a";
    let replies = "redis.setresp(3)\nlocal a = redis.call('hgetall','h')\n\
        local b = redis.call('zrange','z','0','-1','withscores')\nlocal c = redis.call('smembers','set')\n\
        local d = redis.call('get','nope')\nlocal f = redis.call('sismember','set','x')\nreturn a";
    let errors = "local a=redis.pcall('set','x')\nlocal b=redis.pcall('incr','l')\nlocal c=redis.pcall()\n\
        local d=redis.pcall('set','a',{})\nlocal e=pcall(redis.sha1hex,1,2)\nreturn redis.call('nosuch','x','y')";
    let data = ["RPUSH l a b", "HSET h f v", "SET n 1", "ZADD z 1.5 m", "SADD set x"];
    compare(
        "YES",
        &data,
        &[
            dialogue(replies, "0", &["s", "s", "s", "s", "s", "s", "s", "p", "s"]),
            dialogue(errors, "0", &["s", "s", "s", "s", "s", "s", "s"]),
            dialogue(errors, "0", &["c"]),
            dialogue(
                two,
                "0",
                &["r set a", "r nosuch", "r nosuch x y", "redis set a b", "redis get a", "r mget a b"],
            ),
            dialogue(
                two,
                "0",
                &["server ping", "valkey ping", "v ping", "VALKEY ping", "r lrange l 0 -1", "r incr l"],
            ),
            dialogue(
                two,
                "0",
                &["r config get maxmemory", "r config", "r config nosuch", "r eval x 0", "r client id"],
            ),
            dialogue(
                two,
                "0",
                &["r select 5", "r get n", "r set k5 v5", "r blpop nolist 1", "r publish c m", "r multi"],
            ),
            dialogue(
                two,
                "0",
                &["e redis.call('set','k',string.rep('v',500))", "r get k", "r get k", "maxlen 0", "r get k"],
            ),
            dialogue(two, "0", &["r set q \"a\\x00\\\"b\\\\ \\xff\\r\\n\"", "r get q"]),
            dialogue(
                "#!lua flags=no-writes\nlocal a = 1\nreturn redis.call('set','a','b')",
                "0",
                &["s", "r set a b", "s"],
            ),
            dialogue("redis.call('set','a\0b','c\0d')\nreturn 1", "0", &["s"]),
        ],
        &["DBSIZE", "GET n", "LRANGE l 0 -1"],
    );
}

#[test]
fn on_the_data() {
    let writes =
        "redis.call('set',KEYS[1],1)\nlocal a=1\nredis.call('set',KEYS[2],2)\nreturn redis.call('get','k3')";
    compare(
        "SYNC",
        &[],
        &[
            dialogue(writes, "2 k1 k2", &["s", "a"]),
            dialogue(writes, "2 k3 k4", &["s", "r set k5 1", "s", "s", "s"]),
            dialogue(writes, "2 k6 k7", &["c"]),
            dialogue("return nope", "0", &["c"]),
        ],
        &["MGET k1 k2 k3 k4 k5 k6 k7", "DBSIZE"],
    );
}

/// What is said to SCRIPT DEBUG, and what breaks a session.
#[test]
fn beginnings_and_ends() {
    let mut pair = Pair::with(Kind::Valkey, 1, &[]);
    let mut differences = String::new();
    let sha = pair.both(&words("SCRIPT LOAD \"return 1\"")).0.text();
    for line in [
        "SCRIPT DEBUG",
        "SCRIPT DEBUG x",
        "SCRIPT DEBUG yes x",
        "SCRIPT DEBUG yes lua z",
        "MULTI",
        "SCRIPT DEBUG yes",
        "EXEC",
        "SCRIPT DEBUG sync LUA",
        "SCRIPT DEBUG YES",
        &format!("EVALSHA {sha} 0"),
        &format!("EVALSHA_RO {sha} 0"),
        "EVALSHA nosuch 0",
        "EVAL",
        "EVAL \"return 1\"",
        "GET k",
        "SCRIPT DEBUG no",
        "EVAL \"return {redis.breakpoint(),redis.debug('x')}\" 0",
    ] {
        if let Some(difference) = crate::compare(line, &pair.both(&words(line))) {
            differences.push_str(&difference);
        }
    }
    // No commands as the debugger reads them; the session is over then.
    for wrong in [
        "s\r\n",
        "*0\r\n",
        "*1\r\n$-1\r\n",
        "*1\r\n$0\r\n\r\n",
        "*1025\r\n",
        "*1\r\n$1025\r\n",
        "*1\r\n:1\r\n",
    ] {
        let heard = pair.servers().map(|server| {
            let mut client = server.client();
            client.ask("SCRIPT DEBUG YES");
            client.cmd(&["EVAL", "local a=1\nlocal b=2\nreturn 1", "0"]);
            client.send_raw(wrong.as_bytes()).expect("the session is there");
            (client.read().expect("it ends"), client.read().expect("EVAL is answered"))
        });
        if heard[0] != heard[1] {
            let _ = writeln!(differences, "{wrong:?}: {heard:?}");
        }
    }
    pair.judge(&differences);
}
