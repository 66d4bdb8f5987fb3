//! Scripts that want to bring the server down: each has to end with an error or a result, in bounded memory.

mod common;

use common::{run, sealed};

/// Runs a chunk on a thread with the stack that the crate asks for.
fn survive(chunk: &str) -> String {
    let chunk = chunk.to_owned();
    std::thread::Builder::new()
        .stack_size(larder_lua::STACK_BYTES_MIN)
        .spawn(move || {
            let lua = sealed();
            lua.set_memory_limit(64 << 20).expect("a limit");
            run(&lua, &chunk, &[])
        })
        .expect("a thread")
        .join()
        .expect("no panic")
}

#[test]
fn memory_is_bounded() {
    for chunk in [
        "return string.rep('x', 2^31 - 1)",
        "local s = 'x' for i = 1, 50 do s = s .. s end return s",
        "local t = {} while true do t[#t + 1] = {} end",
        "local t = {} for i = 1, 1e9 do t[i] = i end",
        "local t = {} for i = 1, 300 do t[i] = string.rep('x', 2^18) end return #table.concat(t)",
        "local function f(...) return f(1, ...) + 1 end f()",
        "return cjson.encode(string.rep('\\1', 2^24))",
        "local t = {} for i = 1, 2^20 do t[i] = {} end return #cjson.encode(t)",
        "return #cjson.decode('[' .. string.rep('[],', 2^20) .. '1]')",
        "return #cmsgpack.unpack('\\221\\0\\16\\0\\0' .. string.rep('\\144', 2^20))",
        "return string.format('%s', string.rep('x', 2^25)) .. string.rep('x', 2^25)",
        "return #string.gsub(string.rep('x', 2^22), 'x', string.rep('y', 100))",
        "return ('x'):rep(2^25):upper():lower():reverse()",
        "return loadstring('return ' .. string.rep('{', 150) .. string.rep('1,', 2^25) .. string.rep('}', 150))",
    ] {
        let result = survive(chunk);
        assert!(result.contains("not enough memory") || result.starts_with("true"), "{chunk}: {result}");
    }
}

/// After memory has run out, the interpreter is as good as before.
#[test]
fn memory_comes_back() {
    let lua = sealed();
    lua.set_memory_limit(32 << 20).expect("a limit");
    for _ in 0..20 {
        let result = run(&lua, "return string.rep('x', 2^28)", &[]);
        assert_eq!(result, "false \"not enough memory\"");
        assert_eq!(run(&lua, "return #cjson.decode(cjson.encode({1, 2, 3}))", &[]), "true 3");
        run(&lua, "local t = {} while true do t[#t + 1] = {} end", &[]);
        larder_lua::relieve(&lua);
        assert_eq!(run(&lua, "return #cjson.decode(cjson.encode({1, 2, 3}))", &[]), "true 3");
    }
}

#[test]
fn stacks_are_bounded() {
    for chunk in [
        "local function f() return f() + 1 end f()",
        "local f f = function() return pcall(f) end return f()",
        "local f f = function(s) return (s:gsub('.', f)) end return f('x')",
        "local f f = function() return coroutine.wrap(f)() end return f()",
        "local f f = function() return coroutine.resume(coroutine.create(f)) end return f()",
        "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) return t[1]",
        "local t = setmetatable({}, {__tostring = function(t) return tostring(t) end}) return tostring(t)",
        "local f f = function(a, b) table.sort({1, 2, 3}, f) return true end return f()",
        "local f f = function(e) error(e) end return xpcall(f, f)",
        "local f f = function(e) return xpcall(f, f) end return f()",
        "return select('#', unpack({}, 1, 7999))",
        "return #string.char(unpack({}, 1, 7000))",
        "return string.find(string.rep('x', 1000), string.rep('x?', 20000))",
        "return string.find('x', string.rep('x-', 200000))",
        "return string.find('x', string.rep('(', 100000))",
        "return #string.format(string.rep('%d', 5000), unpack({}, 1, 5000))",
        "local t = {} for i = 1, 7000 do t[i] = 'x' .. i end return #struct.pack(string.rep('s', 7000), unpack(t))",
        "local t = {} for i = 1, 7990 do t[i] = 'x' .. i end return #struct.pack(string.rep('s', 7990), unpack(t))",
        "local t = {} for i = 1, 7990 do t[i] = {} end return #cmsgpack.pack(unpack(t))",
        "return select('#', struct.unpack(string.rep('c1', 7990), string.rep('x', 8000)))",
        "return select('#', cmsgpack.unpack(string.rep('\\161x', 7990)))",
        "return select('#', cmsgpack.unpack(string.rep('\\144', 7990)))",
        "cjson.decode_max_depth(2^31 - 1) return cjson.decode(string.rep('[', 1e6))",
        "cjson.encode_max_depth(2^31 - 1) local t = {} t[1] = t return cjson.encode(t)",
        "cjson.encode_max_depth(2^31 - 1) local t = {} t.x = t return cjson.encode(t)",
        "return cmsgpack.unpack(string.rep('\\129', 1e6))",
        "return cmsgpack.unpack(string.rep('\\145', 1e6))",
        "return cmsgpack.unpack(string.rep('\\129\\1', 1e6))",
        "return loadstring(string.rep('(', 1e6))",
        "return loadstring('return ' .. string.rep('-', 1e6) .. '1')",
        "return loadstring('return ' .. string.rep('not ', 1e5) .. '1')",
        "return loadstring('return ' .. string.rep('1 .. ', 1e5) .. '1')",
        "return loadstring(string.rep('do ', 1e5))",
        "local s = 'return 1' for i = 1, 300 do s = 'return loadstring([' .. ('='):rep(i) .. '[' .. s .. ']' .. ('='):rep(i) .. '])()' end return loadstring(s)()",
    ] {
        let result = survive(chunk);
        assert!(result.starts_with("true") || result.starts_with("false"), "{chunk}: {result}");
    }
}
