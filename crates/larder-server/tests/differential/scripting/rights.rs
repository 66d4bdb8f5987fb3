//! What scripts may not do: rights of users, flags, and memory that is short.

use super::{OPTIONS, run_script};
use crate::{Pair, words};
use larder_testkit::Kind;

#[test]
fn read_only_and_first_lines() {
    run_script(
        r##"
        SET a 1
        EVAL_RO "return redis.call('get',KEYS[1])" 1 a
        EVAL_RO "return redis.call('set',KEYS[1],1)" 1 a
        EVAL_RO "return redis.call('publish','c','m')" 0
        EVAL_RO "return redis.pcall('del',KEYS[1])" 1 a
        EVAL "#!lua\nreturn redis.call('set','a',2)" 0
        EVAL "#!lua flags=no-writes\nreturn redis.call('set','a',3)" 0
        EVAL "#!lua flags=no-writes\nreturn redis.call('get','a')" 0
        EVAL "#!lua flags=no-writes,allow-oom\nreturn redis.call('get','a')" 0
        EVAL "#!lua flags=no-writes,\nreturn redis.call('get','a')" 0
        EVAL "#!lua flags=\nreturn redis.call('get','a')" 0
        EVAL "#!lua flags=nope\nreturn 1" 0
        EVAL "#!lua name=x\nreturn 1" 0
        EVAL "#!js\nreturn 1" 0
        EVAL "#!lua" 0
        EVAL "#!\nreturn 1" 0
        EVAL_RO "#!lua\nreturn redis.call('get','a')" 0
        EVAL_RO "#!lua flags=no-writes\nreturn redis.call('get','a')" 0
        EVAL "#!lua\nreturn redis.call('incr','a','b')" 0
        SCRIPT LOAD "return redis.call('get',KEYS[1])"
        SCRIPT LOAD "return redis.call('get',KEYS[1])"
        SCRIPT LOAD "bad bad"
        SCRIPT LOAD "#!lua flags=x\nreturn 1"
        EVALSHA 4e6d8fc8bb01276962cce5371fa795a7763657ae 1 a
        EVALSHA 4E6D8FC8BB01276962CCE5371FA795A7763657AE 1 a
        EVALSHA_RO 4e6d8fc8bb01276962cce5371fa795a7763657ae 1 a
        SCRIPT EXISTS 4e6d8fc8bb01276962cce5371fa795a7763657ae nope 4E6D8FC8BB01276962CCE5371FA795A7763657AE
        SCRIPT EXISTS
        SCRIPT LOAD
        SCRIPT FLUSH foo
        SCRIPT FLUSH sync x
        SCRIPT FLUSH ASYNC
        SCRIPT EXISTS 4e6d8fc8bb01276962cce5371fa795a7763657ae
        EVALSHA 4e6d8fc8bb01276962cce5371fa795a7763657ae 1 a
        SCRIPT FLUSH SYNC
        SCRIPT FLUSH
        SCRIPT KILL
        SCRIPT NOPE
        SCRIPT
        SCRIPT DEBUG NO
        SCRIPT DEBUG MAYBE
        "##,
        OPTIONS,
    );
}

/// What a user may not do, scripts of that user may not either.
#[test]
fn users() {
    run_script(
        r##"
        ACL SETUSER bob on nopass +@all -set -acl ~a* &c*
        ACL SETUSER bob +auth +acl|whoami
        AUTH bob x
        EVAL "return redis.call('set','a','1')" 0
        EVAL "return redis.call('get','b')" 0
        EVAL "return redis.call('get','a')" 0
        EVAL "return redis.call('publish','d','m')" 0
        EVAL "return redis.call('publish','c','m')" 0
        EVAL "return redis.pcall('set','a','1')['err']" 0
        EVAL "return redis.call('nosuch')" 0
        EVAL "local t = redis.pcall('get','b') return {t['err'], type(t)}" 0
        EVAL "return redis.error_reply('NOPERM mine')" 0
        EVAL "return {redis.acl_check_cmd('set','a','1'), redis.acl_check_cmd('get','a'), redis.acl_check_cmd('get','b')}" 0
        MULTI
        EVAL "return redis.call('set','a','1')" 0
        EVAL "return redis.call('get','a')" 0
        EXEC
        FUNCTION LOAD REPLACE "#!lua name=acl\nredis.register_function('acl', function(keys) return redis.call('set', keys[1], 1) end)"
        FCALL acl 1 a
        FUNCTION DELETE acl
        AUTH default x
        ACL DELUSER bob
        "##,
        OPTIONS,
    );
}

/// Short of memory: what has begun to write goes on, what has not is refused unless it says that it may.
#[test]
fn short_of_memory() {
    run_script(
        r##"
        CONFIG SET maxmemory 1
        EVAL "return redis.call('set','a','1')" 0
        EVAL "return redis.call('get','a')" 0
        EVAL "redis.call('del','a') return redis.call('set','a','1')" 0
        EVAL "#!lua\nreturn redis.call('get','a')" 0
        EVAL "#!lua flags=no-writes\nreturn redis.call('get','a')" 0
        EVAL "#!lua flags=allow-oom\nreturn redis.call('set','a','2')" 0
        SCRIPT LOAD "return 1"
        FUNCTION LOAD "#!lua name=oom\nredis.register_function('oom', function() return 1 end)"
        CONFIG SET maxmemory 0
        EVAL "return redis.call('get','a')" 0
        "##,
        &[],
    );
}

/// Quotes and cases in first lines.
#[test]
fn first_lines() {
    run_script(
        r##"
        EVAL "#!lua name=\"foo\"\nreturn 1" 0
        EVAL "#!lua flags=\"no-writes\"\nreturn redis.call('set','a',1)" 0
        EVAL "#!lua flags='no-writes' flags=allow-oom\nreturn redis.call('set','a',1)" 0
        EVAL "#!lua flags=\"no-writes\nreturn 1" 0
        EVAL "#!\"lua\" flags=no-writes\nreturn 1" 0
        EVAL "#!LUA flags=no-writes\nreturn 1" 0
        EVAL "#! lua\nreturn 1" 0
        EVAL "#!lua flags=no-writes,no-writes\nreturn 1" 0
        EVAL "#!lua flags= allow-oom\nreturn 1" 0
        EVAL "#!lua  \t flags=no-writes \t\r\nreturn 2" 0
        EVAL "#!lua Flags=no-writes\nreturn 2" 0
        EVAL "#!lua flags=NO-WRITES\nreturn 2" 0
        EVAL "#!lua" 0
        EVAL "#!lua\n" 0
        EVAL "" 0
        "##,
        OPTIONS,
    );
}

/// Constants, options of the functions, and commands that scripts may not call.
#[test]
fn refused_commands() {
    run_script(
        r##"
        EVAL "return redis.breakpoint()" 0
        EVAL "return redis.debug('x')" 0
        EVAL "return redis.REDIS_VERSION" 0
        EVAL "return redis.REDIS_VERSION_NUM" 0
        EVAL "return server.VALKEY_VERSION" 0
        EVAL "return server.VALKEY_VERSION_NUM" 0
        EVAL "return redis.set_repl(1.5)" 0
        EVAL "return redis.set_repl('3')" 0
        EVAL "return redis.set_repl('x')" 0
        EVAL "return redis.set_repl(-1)" 0
        EVAL "return redis.setresp('3')" 0
        EVAL "return redis.setresp(3.5)" 0
        EVAL "return redis.log('1', 'x')" 0
        EVAL "return redis.log(1.5, 'x')" 0
        EVAL "return redis.error_reply('x\\r\\ny')" 0
        EVAL "return redis.error_reply('')" 0
        EVAL "return redis.error_reply('-')" 0
        EVAL "return redis.status_reply('x\\r\\ny')" 0
        EVAL "return redis.sha1hex(nil)" 0
        EVAL "return KEYS[1]" 1
        EVAL "return 1" 9999999999999999999
        EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
        EVALSHA_RO e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
        EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db -1
        EVAL "return redis.call('select', 99)" 0
        EVAL "return redis.call('subscribe', 'x')" 0
        EVAL "return redis.call('blpop', 'nolist', 0)" 0
        EVAL "return redis.call('blmove', 'nolist', 'b', 'left', 'left', 0)" 0
        EVAL "return redis.call('xread', 'block', 0, 'streams', 'x', '$')" 0
        EVAL "return redis.call('monitor')" 0
        EVAL "return redis.call('client', 'reply', 'off')" 0
        EVAL "return redis.call('client', 'no-evict', 'on')" 0
        EVAL "return redis.call('hello', 3)" 0
        EVAL "return redis.call('auth', 'x')" 0
        EVAL "return redis.call('quit')" 0
        EVAL "return redis.call('reset')" 0
        EVAL "return redis.call('exec')" 0
        EVAL "return redis.call('discard')" 0
        EVAL "return redis.call('script', 'load', 'return 1')" 0
        EVAL "return redis.call('shutdown')" 0
        EVAL "return redis.call('object', 'help')[1]" 0
        EVAL "return redis.call('command', 'count') > 10" 0
        EVAL "return redis.call('acl', 'whoami')" 0
        EVAL "return redis.call('swapdb', 0, 1)" 0
        EVAL "return redis.call('spublish', 'c', 'm')" 0
        "##,
        OPTIONS,
    );
}

/// ACL LOG names the command that the client has sent, and not the one that a script or EXEC was refused.
#[test]
fn refusals_are_logged_with_the_outer_command() {
    let mut pair = Pair::with(Kind::Valkey, 1, &[]);
    let mut names = [Vec::new(), Vec::new()];
    for line in [
        "ACL SETUSER bob on nopass +@all -set ~a*",
        "AUTH bob x",
        "EVAL \"return redis.call('set','a','1')\" 0",
        "EVAL \"return redis.pcall('get','b')\" 0",
        "SET a 1",
        "MULTI",
        "GET c",
        "DISCARD",
        "MULTI",
        "HSET a f v",
    ] {
        pair.both(&words(line));
    }
    for server in pair.servers() {
        server.client().ask("ACL SETUSER bob -hset");
    }
    pair.both(&words("EXEC"));
    pair.both(&words("AUTH default x"));
    let (ours, theirs) = pair.both(&words("ACL LOG"));
    for (names, reply) in names.iter_mut().zip([ours, theirs]) {
        let text = reply.to_string();
        names.extend(text.split("cmd=").skip(1).map(|rest| rest.split(' ').next().unwrap_or("").to_owned()));
    }
    assert!(!names[0].is_empty());
    assert_eq!(names[0], names[1]);
}

/// Databases that a user may not enter, scripts of that user may not either, however they get there.
#[test]
fn databases() {
    run_script(
        r##"
        SELECT 1
        SET a one
        SELECT 0
        SET a zero
        ACL SETUSER bob on nopass +@all ~* db=0,2
        AUTH bob x
        EVAL "return redis.call('select','1')" 0
        EVAL "return redis.pcall('select','1')['err']" 0
        EVAL "redis.pcall('select','1') return redis.call('get','a')" 0
        EVAL "redis.call('select','2') return redis.call('set','b','two')" 0
        EVAL "return redis.call('get','a')" 0
        EVAL "return redis.call('swapdb','0','1')" 0
        EVAL "return redis.call('move','a','1')" 0
        EVAL "return redis.call('copy','a','b','db','1')" 0
        EVAL "return redis.call('copy','a','b','db','2')" 0
        EVAL "return redis.call('flushall')" 0
        EVAL "return {redis.acl_check_cmd('select','1'), redis.acl_check_cmd('select','2'), redis.acl_check_cmd('flushall')}" 0
        MULTI
        SELECT 2
        EVAL "return redis.call('get','b')" 0
        EVAL "return redis.call('select','1')" 0
        EXEC
        SELECT 0
        AUTH default x
        ACL DELUSER bob
        "##,
        OPTIONS,
    );
}
