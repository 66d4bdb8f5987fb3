//! Faults of stock Lua 5.1 and of the libraries beside it that were published with a number: each has a test here. Where
//! only memory would be damaged, `make fuzz TARGET=scripts` (AddressSanitizer) runs these too.

mod common;

use common::{run, sealed, sealed_with};
use std::time::Instant;

/// Runs chunks on a thread with the stack that the crate asks for; each has to give what is expected.
fn expect(cases: &'static [(&'static str, &'static str)]) {
    std::thread::Builder::new()
        .stack_size(larder_lua::STACK_BYTES_MIN)
        .spawn(move || {
            let lua = sealed();
            lua.set_memory_limit(256 << 20).expect("a limit");
            for (chunk, want) in cases {
                let got = run(&lua, chunk, &[]);
                assert!(got.contains(want), "{chunk}\n got: {got}\nwant: {want}");
            }
        })
        .expect("a thread")
        .join()
        .expect("all as expected");
}

/// CVE-2025-46817.
#[test]
fn unpack_counts_without_overflow() {
    expect(&[
        ("return {unpack({1,2,3},-2,2147483647)}", "too many results to unpack"),
        ("return unpack({},0,2147483647)", "too many results to unpack"),
        ("return unpack({},-2147483648,2147483647)", "too many results to unpack"),
        ("return unpack({},-2147483648,-1)", "too many results to unpack"),
        ("return unpack({},1,8000)", "too many results to unpack"),
        ("return select('#',unpack({},2147483640,2147483647))", "true 8"),
        ("return select('#',unpack({},-2147483648,-2147483648))", "true 1"),
        ("return select('#',unpack({},2147483647,-2147483648))", "true 0"),
        ("return rawget({},-2147483648),({})[-2147483648]", "true nil nil"),
    ]);
}

/// Scripts and functions that are compiled are held by Rust, all of them at once.
#[test]
fn many_values_can_be_held() {
    let lua = sealed();
    let held: Vec<_> =
        (0..100_000).map(|n| lua.create_string(format!("value {n}")).expect("there is room")).collect();
    lua.gc_collect().expect("it collects");
    assert!(held.iter().enumerate().all(|(n, text)| text.as_bytes() == format!("value {n}").as_bytes()));
    // What scripts may have on their stacks is what it was.
    expect(&[
        ("return select('#', unpack({}, 1, 7900))", "true 7900"),
        ("local t = coroutine.create(function(...) return select('#', ...) end)
          return coroutine.resume(t, unpack({}, 1, 7900))", "true true 7900"),
        ("local t = coroutine.create(function(...) return unpack({}, 1, 8001) end)
          return coroutine.resume(t)", "too many results to unpack"),
        ("local t = coroutine.wrap(function(...) return select('#', coroutine.yield(unpack({}, 1, 7000))) end)
          return select('#', t()), t(unpack({}, 1, 7000))", "true 7000 7000"),
    ]);
}

/// CVE-2025-49844: the name of a chunk was collected while the chunk was compiled.
#[test]
fn names_of_chunks_outlive_the_compiler() {
    expect(&[(
        "collectgarbage('setpause', 0) collectgarbage('setstepmul', 100000)
         for i = 1, 50 do
           local code = {}
           for j = 1, 300 do code[j] = 'local a' .. j % 150 .. i .. ' = function() return {\"s' .. j .. 'x' .. i .. '\"} end' end
           local name = '@' .. ('n'):rep(20) .. i
           local f, text = loadstring('do ' .. table.concat(code, ' end do ') .. ' end !', name)
           if text:sub(1, #name - 1) ~= name:sub(2) then return text end
         end
         collectgarbage('setpause', 200) collectgarbage('setstepmul', 200)
         return 'kept'",
        "\"kept\"",
    )]);
}

/// CVE-2025-46818: tables that all scripts share.
#[test]
fn metatables_of_basic_types_are_protected() {
    expect(&[
        ("getmetatable('').__index = function() return 1 end", "Attempt to modify a readonly table"),
        ("getmetatable('').__add = 1", "Attempt to modify a readonly table"),
        ("rawset(getmetatable(''), '__index', {})", "Attempt to modify a readonly table"),
        ("setmetatable(getmetatable('').__index, {})", "Attempt to modify a readonly table"),
        ("getmetatable('').__index.upper = 1", "Attempt to modify a readonly table"),
        (
            "local n = 0 for _, v in ipairs({1, true, rawget(_G, 'next'), function() end, coroutine.create(function() end)}) do
               if getmetatable(v) then n = n + 1 end end return n, getmetatable(nil)",
            "true 0 nil",
        ),
        ("setmetatable('', {})", "bad argument #1 to 'setmetatable' (table expected, got string)"),
    ]);
}

/// CVE-2025-46819: levels of long brackets. The overflow takes 2 GB; here are the edges of what was rewritten.
#[test]
fn long_brackets() {
    expect(&[
        ("return [[a]], [=[b]]]=], [==[\n]=]c]==]", r#"true "a" "b]]" "]=]c""#),
        ("return #[====[x]===]]====]", "true 6"),
        ("--[=[ ]] ]=] return 1", "true 1"),
        ("--[==\nreturn 2", "true 2"),
        ("--[\nreturn 3", "true 3"),
        ("local t = {7} return t[1]", "true 7"),
        ("return loadstring('return [=x')", "invalid long string delimiter near '[='"),
        ("return loadstring('return [==[ ]=]')", "unfinished long string near '<eof>'"),
        ("return loadstring('--[==[ ]=]')", "unfinished long comment near '<eof>'"),
        ("return loadstring('return [[ [[ ]]')", "nesting of [[...]] is deprecated"),
        (
            "for n = 0, 300 do local s = ('='):rep(n) if loadstring('return ['..s..'[]'..s..']')() ~= '' then return n end end return 'all'",
            "true \"all\"",
        ),
        (
            "local s = ('='):rep(2^20) return #loadstring('return ['..s..'[]'..s..'=]]'..s..']')()",
            "true 1048579",
        ),
    ]);
}

/// CVE-2015-4335 and what followed from it: bytecode is text that does not compile.
#[test]
fn bytecode_is_not_loaded() {
    expect(&[
        ("return loadstring(string.dump(function() end))", "unexpected symbol near"),
        (
            "local s = string.dump(function() end) return load(function() local p = s s = nil return p end)",
            "unexpected symbol near",
        ),
        (
            "local s, i = string.dump(function() end), 0
             return load(function() i = i + 1 if i <= #s then return s:sub(i, i) end end)",
            "unexpected symbol near",
        ),
        ("return loadstring('\\27Lua')", "unexpected symbol near"),
    ]);
}

/// CVE-2024-31449: tohex(n, -2147483648) wrote past a buffer.
#[test]
fn tohex() {
    expect(&[
        ("return bit.tohex(65535, -2147483648)", r#"true "0000FFFF""#),
        ("return bit.tohex(0, 2147483647)", r#"true "00000000""#),
        ("return bit.tohex(-1, 0)", r#"true """#),
    ]);
}

/// CVE-2022-0543, CVE-2024-46981: ways out of the sandbox.
#[test]
fn what_scripts_do_not_have() {
    expect(&[
        (
            "local t = {} for _, name in ipairs({'io', 'package', 'require', 'module', 'debug', 'dofile', 'loadfile', 'print',
               'newproxy', 'getfenv', 'setfenv', 'jit', 'ffi'}) do if rawget(_G, name) ~= nil then t[#t + 1] = name end end return #t, t[1]",
            "true 0 nil",
        ),
        ("local t = {} for k in pairs(os) do t[#t + 1] = k end return #t, t[1], type(os.clock())", r#"true 1 "clock" "number""#),
        // CVE-2022-24735: what one script leaves for the next.
        ("_G.x = 1", "Attempt to modify a readonly table"),
        ("rawset(_G, 'x', 1)", "Attempt to modify a readonly table"),
        ("setmetatable(_G, nil)", "Attempt to modify a readonly table"),
        ("getmetatable(_G).__index = nil", "Attempt to modify a readonly table"),
        ("string.format = nil", "Attempt to modify a readonly table"),
    ]);
}

/// CVE-2024-46981: nothing that a script makes has a finalizer, not even with `newproxy`.
#[test]
fn finalizers_do_not_run() {
    let lua = sealed_with(true);
    for (chunk, want) in [
        (
            "local n = 0 for i = 1, 100 do getmetatable(newproxy(true)).__gc = function() n = n + 1 end end
             collectgarbage() collectgarbage() return n",
            "true 0",
        ),
        (
            "return getfenv(1) == _G, getfenv(0) == _G, getfenv(pairs) == _G, getfenv(string.upper) == _G",
            "true true true true true",
        ),
        ("local function f() return x end setfenv(f, {x = 5}) return f()", "true 5"),
        ("local function f() setfenv(1, {y = 6}) return y end return f()", "true 6"),
        ("getfenv(pairs).x = 1", "Attempt to modify a readonly table"),
        ("setfenv(pairs, {})", "'setfenv' cannot change environment of given object"),
        ("setfenv(string.upper, {})", "'setfenv' cannot change environment of given object"),
        ("setfenv(0, {})", "'setfenv' cannot change environment of given object"),
        ("setfenv(1, 2)", "bad argument #2 to 'setfenv' (table expected, got number)"),
        ("getfenv(-1)", "bad argument #1 to 'getfenv' (level must be non-negative)"),
        ("getfenv(100)", "bad argument #1 to 'getfenv' (invalid level)"),
        ("return type(string), x", "nonexistent global variable 'x'"),
    ] {
        let got = run(&lua, chunk, &[]);
        assert!(got.contains(want), "{chunk}\n got: {got}\nwant: {want}");
    }
}

/// CVE-2014-5461: the stack of a function with variable arguments that is called with few.
#[test]
fn variable_arguments() {
    expect(&[(
        "local names = {} for i = 1, 100 do names[i] = 'p' .. i end
         local f = loadstring('local n = ... local function f(' .. table.concat(names, ',') .. ', ...) if n > 0 then n = n - 1 return f() end return p100, ... end return f()')
         for n = 1, 200 do f(n) end
         local function deep(n) if n == 0 then return select('#', f(0)) end return (deep(n - 1)) end
         for n = 1, 150 do deep(n) end return 'done'",
        "\"done\"",
    )]);
}

/// CVE-2018-11218, CVE-2018-11219, CVE-2020-14147, CVE-2022-24834.
#[test]
fn libraries() {
    expect(&[
        ("local a = {} for i = 1, 100 do a = {a} end return #cmsgpack.pack(a) < 100", "true true"),
        ("return struct.pack('c2147483648', 'x')", "false"),
        ("return struct.unpack('c4294967297', 'x')", "false"),
        ("return struct.unpack('I2147483648', 'x')", "false"),
        ("return struct.pack('!17i', 1)", "false"),
        ("return struct.unpack('>I4294967300', '12345678')", "false"),
        ("return struct.unpack('i4', 'abcdefgh', 2147483647)", "data string too short"),
        ("return struct.unpack('i4', 'abcdefgh', -2147483647)", "false"),
        ("return #cjson.encode(string.rep('\\0', 2^20))", "true 6291458"),
    ]);
}

/// A pattern recurses for each of its items; stock Lua does so until the stack is used up.
#[test]
fn patterns_are_bounded() {
    expect(&[
        ("return string.find(string.rep('a', 1e6), string.rep('a?', 1e6))", "pattern too complex"),
        ("return string.match(string.rep('a', 1e6), string.rep('a-', 1e6))", "pattern too complex"),
        ("return string.gsub(string.rep('a', 1e6), string.rep('a?', 1e6), '')", "pattern too complex"),
        (
            "for x in string.gmatch(string.rep('a', 1e6), string.rep('a?', 1e6)) do return x end",
            "pattern too complex",
        ),
        ("return string.find(string.rep('a', 1e5), string.rep('a?', 1e5))", "true 1 100000"),
    ]);
}

/// Loops in C that last as long as an argument says can be interrupted, or are short.
#[test]
fn functions_end() {
    let start = Instant::now();
    expect(&[
        ("return #string.rep('', 2147483647)", "true 0"),
        ("local t = {} table.insert(t, -3, 'x') return t[-3], #t", "true \"x\" 0"),
        (
            "local t = {1, 2} table.insert(t, -1, 'x') return t[-1], t[0], t[1], t[2], t[3]",
            "true \"x\" nil nil 1 2",
        ),
    ]);
    assert!(start.elapsed().as_secs() < 10);

    let lua = sealed();
    let mut left = 100;
    let hook = move |_: &mlua::Lua, _: &mlua::debug::Debug<'_>| {
        left -= 1;
        if left == 0 { Err(mlua::Error::runtime("long enough")) } else { Ok(mlua::VmState::Continue) }
    };
    let hook = std::cell::RefCell::new(hook);
    let triggers = mlua::HookTriggers::new().every_nth_instruction(100_000);
    lua.set_global_hook(triggers, move |lua, debug| (hook.borrow_mut())(lua, debug)).expect("a hook");
    let result = run(&lua, "return string.find(string.rep('a', 1000), string.rep('a-', 20) .. 'b')", &[]);
    assert!(result.contains("long enough"), "{result}");
    let result = run(&lua, "return string.find('aab', 'a-b')", &[]);
    assert_eq!(result, "true 1 3");
}
