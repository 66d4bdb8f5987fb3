//! What the replies of commands become in scripts, in both protocols: every type, key and value of the Lua value, and what is
//! made of it when the script returns it.

use super::OPTIONS;
use crate::{Pair, compare, words};
use larder_testkit::{Kind, Value};
use std::fmt::Write;

/// Writes a Lua value with its types, tables in the order of their keys.
const SHOW: &str = "
local function show(v, depth)
 local t=type(v)
 if t~='table' then return t..':'..tostring(v) end
 if depth>6 then return '...' end
 local keys={}
 for k,_ in pairs(v) do keys[#keys+1]=k end
 table.sort(keys,function(a,b) if type(a)==type(b) and type(a)~='table' and type(a)~='boolean' then return a<b end return tostring(type(a))<tostring(type(b)) end)
 local out={}
 for _,k in ipairs(keys) do out[#out+1]=show(k,depth+1)..'='..show(v[k],depth+1) end
 return '{'..table.concat(out,',')..'}'
end
";

/// Commands whose replies have no order or chance of their own.
const COMMANDS: &str = r#"
    set k v
    set n 5
    incrbyfloat n 1.5
    hset h f v g w
    hincrbyfloat h x 1.25
    sadd s a b
    sadd s1 m
    zadd z 1.5 a 2 b inf c -inf d 1e300 e 0.1 f 123456789012345678 g
    rpush l a b c
    xadd st 1-1 a b
    xadd st 2-1 c d
    xgroup create st g 0
    geoadd geo 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
    pfadd hll a b
    get k
    get none
    getdel none
    getex k
    getset none2 v
    mget k none
    hgetall h
    hgetall none
    hget h none
    hmget h f none
    hkeys h
    hvals h
    hrandfield none
    hexists h f
    hpttl none FIELDS 1 a
    hgetex h FIELDS 2 f none
    hgetdel h FIELDS 2 none none2
    hexpiretime h FIELDS 1 g
    smembers s1
    smembers none
    sinter s s1
    sunion s1 none
    sdiff s s1
    spop none
    sadd s1 m
    srandmember none
    srandmember none 2
    spop none 3
    sismember s a
    smismember s a z
    zrange z 0 -1
    zrange z 0 -1 withscores
    zrangebyscore z -inf +inf withscores
    zrevrangebyscore z +inf -inf withscores limit 0 2
    zscore z a
    zscore z none
    zscore none a
    zmscore z a none g
    zincrby z 0.5 a
    zadd z incr 1 b
    zadd z nx incr 1 b
    zrank z a
    zrank z a withscore
    zrank z none
    zrank z none withscore
    zrank none a withscore
    zrevrank z a withscore
    zpopmin none
    zpopmin z
    zpopmax z 2
    zpopmin none 3
    zmpop 1 none min
    zmpop 1 z max count 2
    zadd z 1.5 a 2 b inf c
    zunion 2 z none
    zunion 2 z none withscores
    zinter 1 z withscores
    zdiff 1 z withscores
    zrandmember none
    zrandmember none 2 withscores
    zscan z 0
    zrangestore d z 0 -1
    lpop none
    lpop none 2
    lpop l 0
    rpop l
    lmpop 1 none left
    lmpop 1 l left count 2
    rpush l a b c
    lmove none none2 left left
    rpoplpush none b
    lpos l zz
    lpos l a count 0
    lindex l 99
    lrange l 0 -1
    linsert l before zz x
    sort none
    geodist geo Palermo Catania
    geodist geo Palermo none
    geopos geo Palermo none
    geohash geo Palermo none
    geosearch geo fromlonlat 15 37 byradius 200 km asc withcoord withdist withhash
    georadius geo 15 37 200 km asc withdist
    georadiusbymember_ro geo none 1 m
    xrange st - +
    xrange none - +
    xread streams st 0
    xread streams none 0
    xread count 1 streams st none 0 0
    xread block 0 streams st $
    xreadgroup group g c streams st >
    xreadgroup group g c streams st >
    xreadgroup group g c streams st 0
    xpending st g
    xpending none g
    xautoclaim st g c 1000000 0
    xclaim st g c 0 1-1 justid
    xclaim st g c 0 1-1
    xinfo stream none
    xinfo groups st
    xlen st
    xadd none nomkstream * a b
    object freq k
    object encoding k
    object encoding none
    type k
    ttl none
    expiretime k
    exists k
    echo hi
    ping
    ping x
    lcs k none
    lcs k k idx
    lcs k k idx withmatchlen
    lcs k k len
    bitfield n get u8 0 overflow fail incrby u8 0 300
    bitfield_ro n get u8 0
    set k w get
    set none3 w get
    set k x nx
    set k x nx get
    set k x xx
    set k x ifeq nope
    pubsub numsub a
    pubsub numpat
    pubsub shardnumsub a
    script exists aaaa
    script show aaaa
    dbsize
    wait 0 0
    cluster info
    publish a b
    pfcount hll
    getrange none 0 -1
    substr k 0 0
    strlen none
    setrange none 0 ""
    msetnx k v
    restore none 0 x
"#;

/// Runs every command by this script. Tables that are returned have no order, so only `parts` of replies may count.
fn run_by(script: &str, parts: impl Fn(&Value) -> Vec<String>) {
    let mut pair = Pair::with(Kind::Valkey, 1, OPTIONS);
    let mut differences = String::new();
    for version in ["2", "3"] {
        pair.reset(version);
        for line in COMMANDS.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let call = ["EVAL", script, "0"].map(|word| word.as_bytes().to_vec());
            let replies = pair.both(&[&call[..], &words(line)].concat());
            if parts(&replies.0) != parts(&replies.1) {
                let (ours, theirs) = replies;
                let _ = write!(differences, "RESP{version} > {line}\n  larder: {ours}\n  peer:   {theirs}\n");
            }
        }
    }
    pair.judge(&differences);
}

fn whole(reply: &Value) -> Vec<String> {
    vec![reply.to_string()]
}

/// What a reply consists of, in no order.
fn elements(reply: &Value) -> Vec<String> {
    let text = reply.to_string();
    let mut parts: Vec<String> = text.split(['[', ']', ' ']).map(str::to_owned).collect();
    parts.sort();
    parts
}

#[test]
fn values_in_the_third_protocol() {
    run_by(&format!("{SHOW} redis.setresp(3) return show(redis.pcall(unpack(ARGV)), 0)"), whole);
}

#[test]
fn values_in_the_second_protocol() {
    run_by(&format!("{SHOW} redis.setresp(2) return show(redis.pcall(unpack(ARGV)), 0)"), whole);
}

#[test]
fn values_that_are_returned() {
    run_by("redis.setresp(3) return {'x', redis.pcall(unpack(ARGV))}", elements);
    run_by("return {'x', redis.pcall(unpack(ARGV))}", elements);
}

/// Numbers as arguments, as returned doubles and as scores: their texts, digit by digit.
#[test]
fn texts_of_numbers() {
    let numbers = "0 -0 1.5 -1.5 0.1 1e-5 1e-7 1.5e-7 0.000123 0.00012 12345.678901234567 1234.5678901234567 \
                   0.0001234567890123 3486771.32118802 1.5e19 1.5e21 1e21 1.234567890123e19 1.234567890123e20 \
                   1.23456789012345e21 5.03070529775518e21 1e22 5e-324 1.7976931348623157e308 4611686018427387904 \
                   9223372036854775808 -9223372036854775808 9e18 123456789012345678 1e15 1e17 1/0 -1/0";
    let mut pair = Pair::with(Kind::Valkey, 1, OPTIONS);
    for version in ["2", "3"] {
        pair.reset(version);
        for number in numbers.split_whitespace() {
            for script in [
                format!("return redis.call('echo', {number})"),
                format!("return {{double = {number}}}"),
                format!("redis.call('zadd', 'z', {number}, 'm') return 1"),
            ] {
                let (ours, theirs) = pair.both(&["EVAL", &script, "0"].map(|word| word.as_bytes().to_vec()));
                assert_eq!(ours, theirs, "{script}");
            }
            let (ours, theirs) = pair.both(&words("ZSCORE z m"));
            assert_eq!(ours, theirs, "{number} as a score");
        }
    }
}

/// Functions of the server with every kind of value, some of which are no argument.
#[test]
fn functions_of_the_server() {
    let values = "|nil|1|'a'|true|{}|1.5|'get','a'|'get'|'get','a','b'|'nosuch'|'config','get','a'|'config'|'config','nosuch'|\
                  'get',nil|'get',{}|'get',true|'get',1.5|1,2|1,'a'|2,3|2,'a',1,1.5,nil,true|2,{}|0,'x'|3,'x'|\
                  4,'x'|-1,'x'|'2','x'|0/0,'x'|1e400,'x'|redis.LOG_DEBUG|2|3|4|0|'3'|2.9|3.1|3,3|redis.REPL_ALL|redis.REPL_NONE|\
                  7|8|-1|0/0|1e400|1e15|-0|function() end|redis.call|'\\0'|string.rep('x',100000)|'a','b','c'";
    let mut pair = Pair::with(Kind::Valkey, 1, OPTIONS);
    let mut differences = String::new();
    let mut run = |script: &str| {
        let replies = pair.both(&["EVAL", script, "0"].map(|word| word.as_bytes().to_vec()));
        differences += &compare(script, &replies).unwrap_or_default();
    };
    for function in ["acl_check_cmd", "sha1hex", "setresp", "set_repl", "log"] {
        for value in values.split('|') {
            run(&format!("local r = redis.{function}({value}) return {{type(r), r, r == nil}}"));
            let given = if value.is_empty() { String::new() } else { format!(", {value}") };
            run(&format!(
                "local ok, e = pcall(redis.{function}{given}) return {{tostring(ok), type(e), tostring(e)}}"
            ));
        }
    }
    for count in [255, 7988, 7990, 7994, 7996, 7998, 7999, 8000, 8010, 100_000] {
        for call in [
            "redis.pcall('mget', unpack(t))",
            "server.acl_check_cmd('mget', unpack(t))",
            "redis.pcall(unpack(t))",
        ] {
            let fill = format!("local t = {{}} for i = 1, {count} do t[i] = i end");
            run(&format!("{fill} local r = {call} return type(r) == 'table' and (r.err or #r) or r"));
        }
    }
    pair.judge(&differences);
}
