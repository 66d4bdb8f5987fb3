//! Scripts and functions: what they return, what they may do, and how they fail.

mod functions;
mod replies;
mod rights;

use crate::{Pair, compare, words};
use larder_testkit::Kind;
use std::fmt::Write;

const OPTIONS: &[&str] = &["--enable-debug-command", "yes", "--enable-protected-configs", "yes"];

/// Runs a script on Larder and Valkey in both protocols and collects all differences.
fn run_script(script: &str, args: &[&str]) {
    let mut pair = Pair::with(Kind::Valkey, 1, args);
    let mut differences = String::new();
    for version in ["2", "3"] {
        pair.reset(version);
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(difference) = compare(line, &pair.both(&words(line))) {
                let _ = write!(differences, "RESP{version} {difference}");
            }
        }
    }
    pair.judge(&differences);
}

/// More elements than the interpreter has room for values that are held outside of it.
#[test]
fn values_of_many_elements() {
    run_script(
        r##"
        EVAL "local t={} for i=1,20000 do t[i]='x'..i end return t" 0
        EVAL "local t={} for i=1,20000 do t[i]='x'..i end t[9000]=nil return t" 0
        EVAL "local t={} for i=1,20000 do t[i]={i,'a'..i,{'b'..i}} end return {t,t}" 0
        EVAL "local t={} for i=1,20000 do t[i]={ok='x'..i} end return t" 0
        EVAL "for i=1,20000 do redis.call('RPUSH', 'l', i) end return redis.call('LRANGE', 'l', 0, -1)" 0
        EVAL "for i=1,20000 do redis.call('HSET', 'h', i, 'v') end return #redis.call('HGETALL', 'h')" 0
        EVAL "for i=1,20000 do redis.call('ZADD', 'z', i, i) end return redis.call('ZRANGE', 'z', 0, -1, 'WITHSCORES')" 0
        EVAL "local t={} for i=1,20000 do t[i]='x'..i end return cjson.decode(cjson.encode(t))" 0
        EVAL "local t={} for i=1,20000 do t[i]='x'..i end return cmsgpack.unpack(cmsgpack.pack(t))" 0
        EVAL "return select('#', struct.unpack(string.rep('s',20000), string.rep('a\\0',20000)))" 0
        EVAL "return select('#', struct.unpack(string.rep('s',6000), string.rep('a\\0',6000)))" 0
        EVAL "return select('#', struct.unpack(string.rep('s',7900), string.rep('a\\0',7900)))" 0
        EVAL "local t={} for i=1,7900 do t[i]=cmsgpack.pack('x'..i) end return select('#',cmsgpack.unpack(table.concat(t)))" 0
        EVAL "return #cmsgpack.pack(cmsgpack.unpack(string.rep('\\145',3999)..'\\1'))" 0
        EVAL "return #cmsgpack.pack(cmsgpack.unpack(string.rep('\\145',4000)..'\\1'))" 0
        EVAL "local t={} for i=1,4000 do t[i]='x'..i end return cmsgpack.pack(unpack(t))" 0
        EVAL "local t={} for i=1,4001 do t[i]='x'..i end return cmsgpack.pack(unpack(t))" 0
        EVAL "local t={} for i=1,20000 do t[i]='x'..i end return cmsgpack.pack(unpack(t))" 0
        "##,
        &[],
    );
}

#[test]
fn values() {
    run_script(
        r##"
        EVAL "return 1" 0
        EVAL "return {1,2,{3,'four',{}},5.99,-5.99}" 0
        EVAL "return {1,2,nil,4}" 0
        EVAL "return {}" 0
        EVAL "return nil" 0
        EVAL "return" 0
        EVAL "return true" 0
        EVAL "return false" 0
        EVAL "return {true,false,'x'}" 0
        EVAL "return 'with\0zero and \r\n'" 0
        EVAL "return 1e20" 0
        EVAL "return -1e20" 0
        EVAL "return 9007199254740993" 0
        EVAL "return {ok='fine'}" 0
        EVAL "return {ok='fi\r\nne'}" 0
        EVAL "return {ok=5}" 0
        EVAL "return {err='CODE text'}" 0
        EVAL "return {err='text'}" 0
        EVAL "return {err=5}" 0
        EVAL "return {1, {err='inner'}, {ok='inner'}}" 0
        EVAL "return {double=3.5}" 0
        EVAL "return {double='3.5'}" 0
        EVAL "return {double=1e100}" 0
        EVAL "return {map={a=1}}" 0
        EVAL "return {set={a=true}}" 0
        EVAL "return {big_number='123456789012345678901234567890'}" 0
        EVAL "return {verbatim_string={string='abc',format='txt'}}" 0
        EVAL "return {verbatim_string={string='abc'}}" 0
        EVAL "return {err='a', ok='b', double=1}" 0
        EVAL "redis.setresp(3) return true" 0
        EVAL "redis.setresp(3) return {true,false,nil}" 0
        EVAL "redis.setresp(3) redis.call('hset','h','f','v') return redis.call('hgetall','h')" 0
        EVAL "redis.setresp(3) return type(redis.call('get','none'))" 0
        EVAL "return type(redis.call('get','none'))" 0
        EVAL "redis.setresp(3) redis.call('zadd','z',1.5,'m') return redis.call('zscore','z','m')" 0
        EVAL "redis.setresp(3) return tostring(redis.call('zscore','z','m').double)" 0
        EVAL "return redis.call('zscore','z','m')" 0
        EVAL "redis.setresp(3) redis.call('sadd','s','m') return redis.call('smembers','s')" 0
        EVAL "redis.setresp(3) return redis.call('smembers','s')['set']['m']" 0
        EVAL "redis.setresp(3) return redis.call('hgetall','h')['map']['f']" 0
        EVAL "redis.setresp(3) return redis.call('debug','protocol','verbatim')" 0
        EVAL "return redis.call('hgetall','h')" 0
        EVAL "return redis.call('set','a','b')" 0
        EVAL "return redis.call('set','a','b')['ok']" 0
        EVAL "return redis.call('lrange','none',0,-1)" 0
        EVAL "return redis.call('mget','a','none')" 0
        EVAL "return redis.call('incr','n')" 0
        EVAL "return redis.call('type','n')" 0
        EVAL "return type(redis.call('type','n'))" 0
        EVAL "return {KEYS[1],KEYS[2],ARGV[1],ARGV[2],#KEYS,#ARGV}" 2 a b c d
        EVAL "return KEYS" 0
        EVAL "return #ARGV" 0 a b c
        EVAL "local t = {} t[1]=1 t.x=t return t.x.x.x[1]" 0
        EVAL "return redis.call('set','x',100000000000000000)" 0
        GET x
        EVAL "redis.call('set','x',1e15) redis.call('append','x',0.1) redis.call('append','x',-7)" 0
        GET x
        EVAL "return redis.call('set','x',2^53)" 0
        GET x
        "##,
        OPTIONS,
    );
}

#[test]
fn errors() {
    run_script(
        r##"
        SET text abc
        EVAL
        EVAL "return 1"
        EVAL "return 1" x
        EVAL "return 1" -1
        EVAL "return 1" 2 a
        EVAL "return 1" 1.5
        EVAL "retur 1" 0
        EVAL "return 'unclosed" 0
        EVAL "for" 0
        EVALSHA nope 0
        EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
        EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db x
        EVAL "return redis.call('nope')" 0
        EVAL "return redis.call('get')" 0
        EVAL "return redis.call('config','nope')" 0
        EVAL "return redis.call()" 0
        EVAL "return redis.call({})" 0
        EVAL "return redis.call('set','a',true)" 0
        EVAL "return redis.call('set','a',nil)" 0
        EVAL "return redis.pcall('nope')" 0
        EVAL "return redis.pcall('get')" 0
        EVAL "return redis.pcall('incr','text')" 0
        EVAL "return redis.call('incr','text')" 0
        EVAL "return redis.pcall('incr','text')['err']" 0
        EVAL "local ok,e = pcall(redis.call,'incr','text') return {tostring(ok),e}" 0
        EVAL "local ok,e = pcall(function() error({err='mine'}) end) return {tostring(ok),e}" 0
        EVAL "local ok,e = pcall(function() error('mine') end) return {tostring(ok),e}" 0
        EVAL "local ok,e = pcall(function() local x = nil; x.y = 1 end) return {tostring(ok),e}" 0
        EVAL "local ok,e = xpcall(function() redis.call('incr','text') end, function(e) return type(e) end) return e" 0
        EVAL "error('boo')" 0
        EVAL "error('boo', 0)" 0
        EVAL "error('boo', 2)" 0
        EVAL "error({err='My mistake'})" 0
        EVAL "error({err='Mine', source='here', line='9'})" 0
        EVAL "error(redis.error_reply('foo bar'))" 0
        EVAL "error(12)" 0
        EVAL "error(nil)" 0
        EVAL "local x = nil return x.y" 0
        EVAL "local function f() return nil + 1 end return f()" 0
        EVAL "\n\nreturn redis.call('incr','text')" 0
        EVAL "local t = {} for i=1,3 do t[i]=i end return redis.call(unpack(t))" 0
        EVAL "return foo" 0
        EVAL "foo = 1" 0
        EVAL "KEYS = 1" 0
        EVAL "redis = 1" 0
        EVAL "redis.call = 1" 0
        EVAL "redis.new = 1" 0
        EVAL "return redis.nope" 0
        EVAL "string.len = 1" 0
        EVAL "setmetatable(_G, {})" 0
        EVAL "rawset(_G, 'x', 1)" 0
        EVAL "return redis.error_reply('My err')" 0
        EVAL "return redis.error_reply('err')" 0
        EVAL "return redis.error_reply('-CODE err')" 0
        EVAL "return redis.error_reply()" 0
        EVAL "return redis.error_reply(1)" 0
        EVAL "return redis.status_reply('fine')" 0
        EVAL "return redis.status_reply()" 0
        EVAL "return redis.sha1hex('')" 0
        EVAL "return redis.sha1hex('abc')" 0
        EVAL "return redis.sha1hex(12)" 0
        EVAL "return redis.sha1hex()" 0
        EVAL "return redis.sha1hex('a','b')" 0
        EVAL "return redis.sha1hex({})" 0
        EVAL "redis.log(1)" 0
        EVAL "redis.log('x','y')" 0
        EVAL "redis.log(9,'y')" 0
        EVAL "redis.log(-1,'y')" 0
        EVAL "return redis.log(redis.LOG_DEBUG,'y',1,{},'z')" 0
        EVAL "redis.setresp()" 0
        EVAL "redis.setresp(4)" 0
        EVAL "redis.setresp('x')" 0
        EVAL "redis.set_repl()" 0
        EVAL "redis.set_repl(9)" 0
        EVAL "return redis.set_repl(redis.REPL_ALL)" 0
        EVAL "return redis.replicate_commands()" 0
        EVAL "return redis.acl_check_cmd('get','x')" 0
        EVAL "return redis.acl_check_cmd('nope')" 0
        EVAL "return redis.acl_check_cmd()" 0
        EVAL "return redis.call('multi')" 0
        EVAL "return redis.call('eval','return 1','0')" 0
        EVAL "return redis.call('subscribe','x')" 0
        EVAL "return redis.call('client','list')" 0
        EVAL "return redis.call('config','get','x')" 0
        EVAL "return redis.call('watch','x')" 0
        EVAL "return redis.call('function','list')" 0
        DEBUG SET-DISABLE-DENY-SCRIPTS 1
        EVAL "return redis.call('client','getname')" 0
        DEBUG SET-DISABLE-DENY-SCRIPTS 0
        EVAL "return redis.call('client','getname')" 0
        "##,
        OPTIONS,
    );
}

#[test]
fn surroundings() {
    run_script(
        r##"
        SELECT 1
        EVAL "redis.call('select','2') redis.call('set','k','v') return redis.call('get','k')" 0
        GET k
        SELECT 2
        GET k
        SELECT 0
        MULTI
        EVAL "return redis.call('set',KEYS[1],ARGV[1])" 1 a 1
        INCR a
        EVAL "return redis.call('incr','b')" 0
        EVAL "return redis.call('incr','a','b')" 0
        EXEC
        GET a
        WATCH a
        EVAL "return redis.call('incr','a')" 0
        MULTI
        PING
        EXEC
        EVAL "redis.call('rpush','l',1,2,3) return redis.call('lrange','l',0,-1)" 0
        EVAL "return {redis.call('lpop','l'), redis.call('rpop','l'), redis.call('llen','l')}" 0
        EVAL "redis.call('set','e','v','px',100000) return redis.call('pttl','e') == redis.call('pttl','e')" 0
        EVAL "return redis.call('dbsize')" 0
        EVAL "local t = redis.call('keys','*') table.sort(t) return t" 0
        EVAL "return redis.call('scan','0','count','1000')[1]" 0
        EVAL "redis.call('flushall') return redis.call('dbsize')" 0
        EVAL "for i=1,100 do redis.call('set','key'..i,i) end return redis.call('dbsize')" 0
        EVAL "local n=0 for i=1,100 do n=n+redis.call('get','key'..i) end return n" 0
        EVAL "return redis.call('del',unpack(redis.call('keys','*')))" 0
        EVAL "return redis.call('sort','none')" 0
        EVAL "return redis.call('randomkey')" 0
        EVAL "return cjson.encode({1,2,{a=1}})" 0
        EVAL "return cjson.decode('[1,2,{\"a\":[]}]')[2]" 0
        EVAL "return bit.band(12,10)" 0
        EVAL "return cmsgpack.unpack(cmsgpack.pack({1,2,3}))" 0
        EVAL "return {struct.unpack('>I2',struct.pack('>I2',513))}" 0
        EVAL "local t = {} for i=1,10 do t[i]=math.random(1,100) end return #t" 0
        EVAL "return redis.REDIS_VERSION_NUM > 0" 0
        EVAL "return type(redis.call('time')[1])" 0
        EVAL "return #redis.call('info')>10" 0
        EVAL "return coroutine.wrap(function() return redis.call('ping') end)()" 0
        "##,
        OPTIONS,
    );
}

/// `server` beside `redis`, numbers as arguments, `os.clock`, TIME, and the functions that are insecure.
#[test]
fn names_of_the_server() {
    run_script(
        r##"
        EVAL "return {server.call('ping'), server.pcall('ping'), server.sha1hex(''), server.REPL_ALL, server.LOG_WARNING, server.SERVER_NAME}" 0
        EVAL "local t = {} for _, n in ipairs({1e17,1e18,-1e18,2^62,2^63,-2^63,1e19,1e20,1e300,1/3,-0,0,1e-7,1e-5,0.0001,5e-324,1/0,-1/0,123456789.5,1e15+0.5,1e16,9007199254740993,100.25,-1.5,1e21,1.5e300,3.0,0.1+0.2}) do t[#t+1] = redis.call('echo', n) end return t" 0
        EVAL "return {redis.call('echo', 0/0), redis.call('echo', -(0/0))}" 0
        EVAL "return tostring(redis.call('time')[1] == redis.call('time')[1] and redis.call('time')[2] == redis.call('time')[2])" 0
        EVAL "return type(os.clock())" 0
        EVAL "return os.time" 0
        EVAL "return os.time()" 0
        EVAL "return {type(newproxy)}" 0
        EVAL "return getfenv" 0
        CONFIG GET lua-enable-*
        CONFIG SET lua-enable-insecure-api yes
        CONFIG GET lua-enable-*
        EVAL "return {type(newproxy), type(getfenv), type(setfenv)}" 0
        EVAL "return {type(newproxy()), type(getmetatable(newproxy(true)))}" 0
        EVAL "local f = function() return x end setfenv(f, {x = 5}) return f()" 0
        EVAL "getfenv(0).x = 1" 0
        EVAL "return getfenv(1) == _G" 0
        EVAL "return getfenv(pairs) == _G" 0
        EVAL "getfenv(pairs).string = 1" 0
        EVAL "getfenv(string.format).x = 1" 0
        EVAL "local p = newproxy(true) getmetatable(p).__index = function(t, k) return k .. '!' end return p.abc" 0
        CONFIG SET lua-enable-insecure-api no
        EVAL "return getfenv" 0
        CONFIG GET lua-enable-*
        CONFIG SET lua-enable-deprecated-api yes
        CONFIG GET lua-enable-*
        CONFIG SET lua-enable-deprecated-api no
        "##,
        OPTIONS,
    );
}

/// What a script sees of a set that it sorts does not depend on a hash table.
#[test]
fn sets_in_order() {
    run_script(
        r##"
        SADD s c b a e d 10 9 1
        EVAL "return redis.call('sort','s','by','nosort')" 0
        EVAL "return redis.call('sort','s','by','nosort','desc')" 0
        EVAL "return redis.call('sort','s','by','nosort','limit',1,3)" 0
        EVAL "return redis.call('sort','s','by','nosort','get','#')" 0
        EVAL "redis.call('sort','s','by','nosort','store','d') return redis.call('lrange','d',0,-1)" 0
        EVAL "return redis.call('sort','s','alpha')" 0
        EVAL "return redis.call('sort_ro','s','by','nosort')" 0
        EVAL "return redis.call('smembers','s')[1] ~= nil" 0
        "##,
        OPTIONS,
    );
}

/// Tables that are raised or returned, and what `acl_check_cmd` says.
#[test]
fn errors_as_tables() {
    run_script(
        r##"
        EVAL "error({})" 0
        EVAL "error({err={}})" 0
        EVAL "error({err=5})" 0
        EVAL "error({err='x',source=5,line={}})" 0
        EVAL "error({err='a\\r\\nb'})" 0
        EVAL "error({err='x',ignore_error_stats_update=true})" 0
        EVAL "error(true)" 0
        EVAL "return {err='a\\r\\nb'}" 0
        EVAL "return {err=''}" 0
        EVAL "error({err=''})" 0
        EVAL "error('')" 0
        EVAL "return redis.acl_check_cmd('SET','k1')" 0
        EVAL "return redis.acl_check_cmd('SET')" 0
        EVAL "return redis.acl_check_cmd('config','nope')" 0
        EVAL "return redis.acl_check_cmd('config')" 0
        EVAL "return redis.acl_check_cmd('config','get')" 0
        EVAL "return redis.acl_check_cmd('zunionstore','x')" 0
        EVAL "return redis.acl_check_cmd('migrate','x')" 0
        EVAL "return redis.acl_check_cmd('set',{})" 0
        "##,
        OPTIONS,
    );
}

/// As many arguments as Lua can pass, and every kind of reply.
#[test]
fn many_arguments() {
    run_script(
        r##"
        EVAL "return redis.call('lpush','big',unpack((function() local t = {} for i = 1, 7990 do t[i] = i end return t end)()))" 0
        EVAL "local t = {} for i = 1, 7990 do t[i] = i end return redis.call('lpush','big2',unpack(t))" 0
        EVAL "local t = {} for i = 1, 7997 do t[i] = i end return redis.call('rpush','big3',unpack(t,1,7990))" 0
        EVAL "local t = {} for i = 1, 7995 do t[i] = 'k'..i end return #redis.call('mget',unpack(t))" 0
        EVAL "local t = {} for i = 1, 7996 do t[i] = 'k'..i end return redis.pcall('nope',unpack(t))" 0
        EVAL "local t = {} for i = 1, 7997 do t[i] = 'k'..i end return select('#', unpack(t))" 0
        EVAL "local t = {} for i = 1, 7998 do t[i] = 'k'..i end return select('#', unpack(t))" 0
        EVAL "local t = {} for i = 1, 7997 do t[i] = 'k'..i end return redis.call(unpack(t))" 0
        EVAL "local t = {} for i = 1, 7996 do t[i] = 'k'..i end return redis.call('mget',unpack(t))[1]" 0
        EVAL "return #redis.call('mget',unpack(ARGV))" 0 a b c
        DEBUG SET-DISABLE-DENY-SCRIPTS 1
        EVAL "redis.setresp(3) return redis.call('debug','protocol','attrib')" 0
        EVAL "return redis.call('debug','protocol','attrib')" 0
        EVAL "redis.setresp(3) return redis.call('debug','protocol','verbatim')" 0
        EVAL "redis.setresp(3) return redis.call('debug','protocol','bignum')" 0
        EVAL "redis.setresp(3) return redis.call('debug','protocol','double')" 0
        EVAL "redis.setresp(3) return redis.call('debug','protocol','map')" 0
        EVAL "redis.setresp(3) return redis.call('debug','protocol','set')" 0
        EVAL "redis.setresp(3) return redis.call('debug','protocol','null')" 0
        EVAL "redis.setresp(3) return redis.call('debug','protocol','true')" 0
        EVAL "redis.setresp(3) return redis.call('debug','protocol','push')" 0
        EVAL "return redis.call('debug','protocol','push')" 0
        EVAL "redis.setresp(3) return {redis.call('debug','protocol','attrib'), redis.call('debug','protocol','integer')}" 0
        DEBUG SET-DISABLE-DENY-SCRIPTS 0
        EVAL "return {1.5, -1.5, 1e30, 'x', {}, {nil}, {1, nil, 3}}" 0
        EVAL "return {double=1/0}" 0
        EVAL "return {double=-1/0}" 0
        EVAL "return {double=0/0}" 0
        EVAL "return {double=1e17}" 0
        EVAL "return {big_number='1\\r\\n2'}" 0
        EVAL "return {verbatim_string={string='abc',format='markdown'}}" 0
        EVAL "return {verbatim_string={string='abc',format='x'}}" 0
        EVAL "return {verbatim_string={string='abc',format=''}}" 0
        EVAL "return setmetatable({}, {__index = function() return 1 end})" 0
        "##,
        OPTIONS,
    );
}

/// Errors in INFO errorstats: those that scripts return, raise or catch, each once.
#[test]
fn errors_are_counted() {
    let mut pair = Pair::with(Kind::Valkey, 1, &[]);
    let mut differences = String::new();
    for script in [
        "error('x')",
        "error({})",
        "error({err='a\\r\\nb'})",
        "return {err='a\\r\\nb'}",
        "return {err='a\\tb c'}",
        "return {err='noword'}",
        "return {err='ERR x'}",
        "return {err=''}",
        "redis.call('nosuch')",
        "return redis.pcall('nosuch')",
        "local x = redis.pcall('nosuch') return 1",
        "redis.call('get')",
        "redis.call()",
        "redis.call({})",
        "return redis.pcall({})",
        "redis.call('config', 'nosuch')",
        "redis.call('eval', '1', 0)",
        "pcall(function() redis.call('incr') end) return 1",
        "return pcall(redis.call, 'lpush', 'a')",
        "error(redis.error_reply('MY x'))",
        "return redis.error_reply('a b c')",
        "return redis.pcall('incr', 'x', 'y').err",
        "return {redis.error_reply('IN ner')}",
        "return {{err='IN ner'}, {err='OUT er'}, redis.pcall('nosuch')}",
        "redis.call('set', 'l', 'x') return redis.pcall('lpush', 'l', 'x')",
        "redis.call('lpush', 'l', 'x')",
        "return redis.call('set', 'l', 'x', 'nosuch')",
        "redis.log(1)",
        "redis.setresp(9)",
        "redis.sha1hex()",
        "redis.acl_check_cmd('nosuch')",
        "return redis.error_reply()",
        "x = 1",
    ] {
        let run = vec![b"EVAL".to_vec(), script.as_bytes().to_vec(), b"0".to_vec()];
        for line in [words("CONFIG RESETSTAT"), run, words("INFO errorstats"), words("INFO stats")] {
            let (ours, theirs) = pair.both(&line);
            let errors = |text: String| -> Vec<String> {
                text.lines().filter(|line| line.contains("error")).map(str::to_owned).collect()
            };
            let (ours, theirs) = (errors(ours.text()), errors(theirs.text()));
            if ours != theirs {
                let _ = writeln!(differences, "{script}\n  larder: {ours:?}\n  peer:   {theirs:?}");
            }
        }
    }
    pair.judge(&differences);
}
