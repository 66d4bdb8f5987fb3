//! Libraries of functions: how they are loaded, called and listed.

use super::{OPTIONS, run_script};

#[test]
fn functions() {
    run_script(
        r##"
        FUNCTION FLUSH
        FUNCTION LIST
        FUNCTION STATS
        FUNCTION LOAD "#!lua name=mylib\nredis.register_function('f1', function(keys,args) return {keys, args} end)"
        FUNCTION LOAD "#!lua name=mylib\nredis.register_function('f1', function(keys,args) return 2 end)"
        FUNCTION LOAD REPLACE "#!lua name=mylib\nredis.register_function('f1', function(keys,args) return {#keys, args} end)"
        FUNCTION LOAD NOPE "x"
        FUNCTION LOAD A B C
        FCALL f1 1 k a b
        FCALL f1 0
        FCALL F1 0
        FCALL nope 0
        FCALL f1 x
        FCALL f1 -1
        FCALL f1 3 a
        FCALL f1
        FCALL_RO f1 0
        FUNCTION LOAD "#!lua name=ro\nredis.register_function{function_name='r', callback=function(keys) return redis.call('get',keys[1]) end, flags={'no-writes'}}"
        FUNCTION LOAD "#!lua name=rw\nredis.register_function{function_name='w', callback=function(keys) return redis.call('set',keys[1],1) end, flags={'no-writes'}, description='writes'}"
        FCALL_RO r 1 k
        FCALL w 1 k
        FCALL_RO w 1 k
        FUNCTION LIST LIBRARYNAME ro
        FUNCTION LIST LIBRARYNAME r* WITHCODE
        FUNCTION LIST WITHCODE LIBRARYNAME RW
        FUNCTION LIST NOPE
        FUNCTION LIST LIBRARYNAME
        FUNCTION LIST WITHCODE WITHCODE
        FUNCTION STATS
        FUNCTION DELETE nope
        FUNCTION DELETE ro
        FCALL r 0
        FUNCTION LOAD "x"
        FUNCTION LOAD "#!lua\nx"
        FUNCTION LOAD "#!lua name=a-b\nx"
        FUNCTION LOAD "#!lua name=\nx"
        FUNCTION LOAD "#!lua name=a name=b\nx"
        FUNCTION LOAD "#!lua name=a foo=b\nx"
        FUNCTION LOAD "#!js name=a\nx"
        FUNCTION LOAD "#!lua name=a"
        FUNCTION LOAD "#!lua name=a\nreturn 1"
        FUNCTION LOAD "#!lua name=a\nx y"
        FUNCTION LOAD "#!lua name=a\nx = 1"
        FUNCTION LOAD "#!lua name=a\nfoo()"
        FUNCTION LOAD "#!lua name=a\nredis.call('set','a',1)"
        FUNCTION LOAD "#!lua name=a\nredis.register_function('f-1', function() end)"
        FUNCTION LOAD "#!lua name=a\nredis.register_function('f1', function() end)"
        FUNCTION LOAD "#!lua name=a\nredis.register_function('x')"
        FUNCTION LOAD "#!lua name=a\nredis.register_function('x', 1)"
        FUNCTION LOAD "#!lua name=a\nredis.register_function({}, 1)"
        FUNCTION LOAD "#!lua name=a\nredis.register_function()"
        FUNCTION LOAD "#!lua name=a\nredis.register_function('x', function() end, 1)"
        FUNCTION LOAD "#!lua name=a\nredis.register_function({})"
        FUNCTION LOAD "#!lua name=a\nredis.register_function{function_name='x'}"
        FUNCTION LOAD "#!lua name=a\nredis.register_function{function_name=1, callback=function() end}"
        FUNCTION DELETE a
        FUNCTION LOAD "#!lua name=a\nredis.register_function{function_name='x', callback=1}"
        FUNCTION LOAD "#!lua name=a\nredis.register_function{function_name='x', callback=function() end, flags=1}"
        FUNCTION LOAD "#!lua name=a\nredis.register_function{function_name='x', callback=function() end, flags={'nope'}}"
        FUNCTION LOAD "#!lua name=a\nredis.register_function{function_name='x', callback=function() end, description=1}"
        FUNCTION DELETE a
        FUNCTION LOAD "#!lua name=a\nredis.register_function{function_name='x', callback=function() end, foo=1}"
        FUNCTION LOAD "#!lua name=a\nredis.register_function{[1]='x'}"
        FUNCTION LOAD "#!lua name=a\nredis.register_function('x', function() end) redis.register_function('x', function() end)"
        FUNCTION LOAD "#!lua name=err\nredis.register_function('e1', function() return foo end)\nredis.register_function('e2', function() error('x') end)\nredis.register_function('e3', function(k) return redis.call('incr',k[1],1) end)\nredis.register_function('e4', function() return redis.register_function('x', function() end) end)\nredis.register_function('e5', function() foo = 1 end)\nlocal n = 0\nredis.register_function('e6', function() n = n + 1 return n end)"
        FCALL e1 0
        FCALL e2 0
        FCALL e3 1 k
        FCALL e4 0
        FCALL e5 0
        FCALL e6 0
        FCALL e6 0
        FUNCTION LOAD "#!lua name=globals\nredis.register_function('g', function() return {type(string), type(cjson), type(redis.call), type(pairs), type(math.random)} end)"
        FCALL g 0
        FUNCTION KILL
        FUNCTION FLUSH x
        FUNCTION FLUSH SYNC y
        FUNCTION NOPE
        FUNCTION
        FUNCTION RESTORE abc
        FUNCTION RESTORE abc foo
        FUNCTION FLUSH ASYNC
        FUNCTION LIST
        EVAL "return redis.register_function" 0
        MULTI
        FUNCTION LOAD "#!lua name=late\nredis.register_function('late', function() return 'late' end)"
        FCALL late 0
        EXEC
        FUNCTION FLUSH
        "##,
        OPTIONS,
    );
}

/// What libraries may be called, what they see, and the subcommands of FUNCTION and SCRIPT.
#[test]
fn libraries() {
    run_script(
        r##"
        FUNCTION LOAD "#!lua name=\"foo\"\nserver.register_function('f',function() return 1 end)"
        FUNCTION LOAD "#! name=x\nserver.register_function('f2',function() return 1 end)"
        FUNCTION LOAD "#!lua name='a b'\nserver.register_function('f2',function() return 1 end)"
        FUNCTION LOAD "#!lua name=\"a\nserver.register_function('f2',function() return 1 end)"
        FUNCTION LOAD "#!LUA name=u\nserver.register_function('f3',function() return 1 end)"
        FUNCTION LOAD "#!lua NAME=v\nserver.register_function('f4',function() return 1 end)"
        FUNCTION LOAD "#!\"lua\" name=w\nserver.register_function('f5',function() return 1 end)"
        FUNCTION LOAD "#!lua\tname=w2\r\nserver.register_function('f6',function() return 1 end)"
        FUNCTION LOAD "#!lua name=x1\nredis.register_function('f 1', function() end) redis.register_function('g', function() end)"
        FUNCTION LOAD "#!lua name=x2\nredis.register_function('h', function() end) redis.register_function('H', function() return 2 end)"
        FUNCTION LOAD "#!lua name=x3\nserver.register_function{function_name='', callback=function() end}"
        FUNCTION LOAD "#!lua name=x4\nserver.register_function{function_name='k', callback=function() end, flags={'no-writes','allow-stale','allow-oom','no-cluster','allow-cross-slot-keys'}}"
        FUNCTION LIST LIBRARYNAME x4
        FUNCTION LOAD "#!lua name=x5\nlocal x = server.call('ping')"
        FUNCTION LOAD "#!lua name=x5\nlocal x = server.nosuch"
        FUNCTION LOAD "#!lua name=x5\nlocal x = string.format('x') error('y')"
        FUNCTION LOAD "#!lua name=x5\nerror({err='mine'})"
        FUNCTION LOAD "#!lua name=x5\nerror({})"
        FUNCTION LOAD "#!lua name=x5\nlocal t = {} for k in pairs(server) do t[#t+1]=k end table.sort(t) error(table.concat(t,','))"
        FUNCTION LOAD "#!lua name=x5\nlocal t = {} for k in pairs(_G) do t[#t+1]=k end table.sort(t) error(table.concat(t,','))"
        FUNCTION LOAD "#!lua name=x6\nlocal redis_ = redis redis.register_function('m', function() return redis_.call('ping') end)"
        FCALL m 0
        FUNCTION LOAD "#!lua name=x7\nserver.register_function('n', function() return server.register_function end)"
        FCALL n 0
        FUNCTION LOAD "#!lua name=x8\nserver.register_function('o', function() local t = {} for k in pairs(server) do t[#t+1]=k end table.sort(t) return t end)"
        FCALL o 0
        FUNCTION LOAD "#!lua name=x9\nserver.register_function('p', function() local t = {} for k in pairs(_G) do t[#t+1]=k end table.sort(t) return t end)"
        FCALL p 0
        FUNCTION LOAD "#!lua name=x10\nx = 1 server.register_function('q', function() return 1 end)"
        FCALL q 0
        FCALL q 1.5
        FCALL q -1
        FCALL q 2 a
        FCALL_RO q 0
        FUNCTION RESTORE a b c
        FUNCTION RESTORE a
        FUNCTION RESTORE a b
        FUNCTION LOAD REPLACE
        FUNCTION LOAD REPLACE x y
        FUNCTION DELETE x y
        FUNCTION DELETE
        FUNCTION LIST LIBRARYNAME nope WITHCODE
        FUNCTION STATS x
        FUNCTION KILL x
        FUNCTION DUMP x
        FUNCTION FLUSH a b
        FUNCTION FLUSH a
        SCRIPT FLUSH a b
        SCRIPT SHOW a
        SCRIPT SHOW
        SCRIPT LOAD "return 1"
        SCRIPT SHOW E0E1F9FABFC9D4800C877A703B823AC0578FF8DB
        SCRIPT DEBUG MAYBE
        SCRIPT DEBUG NO
        SCRIPT DEBUG no LUA
        SCRIPT DEBUG NO js
        SCRIPT DEBUG NO a b
        SCRIPT DEBUG
        SCRIPT KILL x
        SCRIPT EXISTS
        SCRIPT LOAD "#!js\nreturn 1"
        SCRIPT LOAD "return return"
        SCRIPT LOAD "x\xfe y"
        EVAL "return t.\xff" 0
        FUNCTION LOAD "#!lua name=c\nx\xfe\xff y"
        "##,
        OPTIONS,
    );
}
