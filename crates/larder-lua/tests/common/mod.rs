//! Runs the same chunk in a Valkey server and in this crate's interpreter, and compares what it returns or raises.

#![allow(dead_code, reason = "each test uses its part of it")]

use larder_testkit::{Client, Server, Value};
use mlua::{Lua, LuaString};

/// Turns what a function returns or raises into text: types, digits and order of keys included. One line, so that
/// positions in messages stay those of the chunk.
const SHOW: &str = r#"
local function show(v, depth) local t = type(v)
 if t == 'number' then return v ~= v and 'nan' or string.format('%.17g', v)
 elseif t == 'string' then return string.format('%q', v)
 elseif t == 'function' or t == 'thread' then return t
 elseif t == 'userdata' then return v == cjson.null and 'null' or 'userdata'
 elseif t ~= 'table' then return tostring(v) end
 if depth > 30 then return '...' end
 local parts = {} for k, e in pairs(v) do parts[#parts + 1] = '[' .. show(k, depth + 1) .. ']=' .. show(e, depth + 1) end
 table.sort(parts) return '{' .. table.concat(parts, ',') .. '}' end
local function all(...) local parts = {} for i = 1, select('#', ...) do parts[i] = show((select(i, ...)), 0) end
 return table.concat(parts, ' ') end
local function run(...) return all(pcall(...)) end
"#;

/// A Valkey server and an interpreter.
pub struct Pair {
    server: Server,
    client: Client,
    pub lua: Lua,
}

impl Pair {
    pub fn start() -> Self {
        let server = Server::valkey(&[]);
        let client = server.client();
        Self { server, client, lua: sealed() }
    }

    /// Runs a chunk (statements, with `return`) on both sides, with arguments as ARGV.
    pub fn both(&mut self, chunk: &str, arguments: &[&[u8]]) -> (String, String) {
        let script = wrap(chunk);
        let mut command: Vec<&[u8]> = vec![b"EVAL", script.as_bytes(), b"0"];
        command.extend(arguments);
        let theirs = match self.client.cmd(&command) {
            Value::Error(text) => format!("server error: {text}"),
            other => String::from_utf8_lossy(other.bytes()).into_owned(),
        };
        (run(&self.lua, chunk, arguments), theirs)
    }

    /// Panics when the two differ.
    pub fn same(&mut self, chunk: &str) {
        self.same_with(chunk, &[]);
    }

    /// The same with arguments.
    pub fn same_with(&mut self, chunk: &str, arguments: &[&[u8]]) {
        let (ours, theirs) = self.both(chunk, arguments);
        assert!(
            ours == theirs,
            "{chunk}\nARGV: {:?}\n  ours: {ours}\ntheirs: {theirs}",
            arguments.iter().map(|bytes| String::from_utf8_lossy(bytes)).collect::<Vec<_>>()
        );
    }

    /// All lines of a text that are not empty, each as a chunk; reports all that differ.
    pub fn lines(&mut self, text: &str) {
        let mut wrong = Vec::new();
        for chunk in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (ours, theirs) = self.both(chunk, &[]);
            if ours != theirs {
                wrong.push(format!("{chunk}\n    ours: {ours}\n  theirs: {theirs}\n"));
            }
        }
        assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.concat());
    }
}

/// An interpreter as scripts see it.
pub fn sealed() -> Lua {
    sealed_with(false)
}

/// The same, with the functions of `lua-enable-insecure-api` or without.
pub fn sealed_with(insecure: bool) -> Lua {
    let lua = larder_lua::interpreter(insecure, &larder_lua::Generator::default()).expect("an interpreter");
    let redis = lua.create_table().expect("a table");
    lua.globals().set("server", &redis).expect("set");
    lua.globals().set("redis", redis).expect("set");
    larder_lua::seal(&lua).expect("sealed");
    lua
}

fn wrap(chunk: &str) -> String {
    format!("{} return run(function() {chunk}\nend)", SHOW.replace('\n', " "))
}

/// Runs a chunk in our interpreter.
pub fn run(lua: &Lua, chunk: &str, arguments: &[&[u8]]) -> String {
    let source = format!("local ARGV = ... {}", wrap(chunk));
    let arguments: Vec<LuaString> =
        arguments.iter().map(|bytes| lua.create_string(bytes).expect("string")).collect();
    let function = match larder_lua::compile(lua, source.as_bytes(), "@user_script") {
        Ok(function) => function,
        Err(error) => return format!("does not compile: {error}"),
    };
    match function.call::<LuaString>(arguments) {
        Ok(text) => text.to_string_lossy(),
        Err(error) => format!("error: {error}"),
    }
}
