//! Random programs. They are mostly right, so that they get somewhere, and mostly on the edge.

use fastrand::Rng;
use std::fmt::Write;

/// Everything that scripts can call.
const FUNCTIONS: &[&str] = &[
    "assert",
    "collectgarbage",
    "error",
    "getmetatable",
    "ipairs",
    "load",
    "loadstring",
    "next",
    "pairs",
    "pcall",
    "rawequal",
    "rawget",
    "rawset",
    "select",
    "setmetatable",
    "tonumber",
    "tostring",
    "type",
    "unpack",
    "xpcall",
    "gcinfo",
    "coroutine.create",
    "coroutine.resume",
    "coroutine.running",
    "coroutine.status",
    "coroutine.wrap",
    "coroutine.yield",
    "string.byte",
    "string.char",
    "string.dump",
    "string.find",
    "string.format",
    "string.gmatch",
    "string.gsub",
    "string.len",
    "string.lower",
    "string.match",
    "string.rep",
    "string.reverse",
    "string.sub",
    "string.upper",
    "table.concat",
    "table.foreach",
    "table.foreachi",
    "table.getn",
    "table.insert",
    "table.maxn",
    "table.remove",
    "table.sort",
    "math.abs",
    "math.floor",
    "math.fmod",
    "math.frexp",
    "math.ldexp",
    "math.max",
    "math.modf",
    "math.random",
    "math.randomseed",
    "bit.arshift",
    "bit.band",
    "bit.bnot",
    "bit.bswap",
    "bit.lshift",
    "bit.rol",
    "bit.tobit",
    "bit.tohex",
    "cjson.decode",
    "cjson.encode",
    "cjson.encode_max_depth",
    "cjson.decode_max_depth",
    "cjson.encode_number_precision",
    "cjson.encode_sparse_array",
    "cjson.new",
    "cmsgpack.pack",
    "cmsgpack.unpack",
    "cmsgpack.unpack_limit",
    "cmsgpack.unpack_one",
    "struct.pack",
    "struct.size",
    "struct.unpack",
    "redis.call",
    "redis.pcall",
    "os.clock",
    "newproxy",
    "getfenv",
    "setfenv",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "8",
    "16",
    "31",
    "32",
    "33",
    "63",
    "64",
    "100",
    "127",
    "128",
    "255",
    "256",
    "1000",
    "65535",
    "65536",
    "7997",
    "8000",
    "2147483647",
    "-2147483648",
    "2147483648",
    "-2147483649",
    "4294967295",
    "4294967296",
    "2^53",
    "-2^53",
    "2^63",
    "-2^63",
    "1e15",
    "1e300",
    "-1e300",
    "0.1",
    "-0.5",
    "1/0",
    "-1/0",
    "0/0",
];

const STRINGS: &[&str] = &[
    "''",
    "'a'",
    "'abc'",
    "'%'",
    "'%%'",
    "'%d'",
    "'%s'",
    "'%99.99f'",
    "'%5.2s'",
    "'%q'",
    "'%c'",
    "'%-+ #0.3x'",
    "'\\0'",
    "'a\\0b'",
    "'\\27Lua'",
    "'x.y'",
    "'10'",
    "'0x10'",
    "' 5 '",
    "'1e5'",
    "'nan'",
    "'k'",
    "'v'",
    "'kv'",
    "'n'",
    "'__index'",
    "'__newindex'",
    "'__gc'",
    "'__mode'",
    "'__metatable'",
    "'__call'",
    "'__tostring'",
    "'__eq'",
    "'__len'",
    "'collect'",
    "'step'",
    "'count'",
    "'setpause'",
    "'setstepmul'",
    "'#'",
    "'return 1'",
    "'return ...'",
    "'x ='",
    "'[=[', ']=]'",
    "'[1,2,{\"a\":null}]'",
    "'{\"a\":[[]],\"b\":1e400}'",
    "'\"\\\\ud800\"'",
    "'\\145\\1\\2'",
    "'\\129\\161x\\1'",
    "'\\221\\0\\0\\0\\5'",
    "'>I4'",
    "'<i8'",
    "'c0'",
    "'s'",
    "'!8d'",
    "'>I4c0'",
    "'bBhHlLTfdx'",
    "'i16'",
    "':1\\r\\n'",
    "'$3\\r\\nabc\\r\\n'",
    "'*2\\r\\n:1\\r\\n$-1\\r\\n'",
    "'%1\\r\\n+a\\r\\n*1\\r\\n_\\r\\n'",
    "'~2\\r\\n:1\\r\\n#t\\r\\n'",
    "'-ERR no\\r\\n'",
    "'*9\\r\\n'",
    "'|1\\r\\n+a\\r\\n+b\\r\\n:1\\r\\n'",
    "'=7\\r\\ntxt:abc\\r\\n'",
    "',1.5\\r\\n'",
];

/// Parts of patterns.
const PATTERNS: &[&str] = &[
    "a", ".", "%a", "%d", "%w", "%s", "%S", "[abc]", "[^a]", "[a-z]", "[%w_]", "[]]", "[^]]", "[a-]", "%b()",
    "%bxx", "%f[a]", "%f[^%w]", "%1", "%2", "%0", "(", ")", "()", "*", "+", "-", "?", "^", "$", "%", "[",
    "[^", "[a", "%b", "%f", "%z", "x",
];

const BINARY: &[&str] = &["+", "-", "*", "/", "%", "^", "..", "==", "~=", "<", "<=", ">", ">=", "and", "or"];
const NAMES: &[&str] = &["a", "b", "c", "d", "e", "t", "u", "s", "n", "f", "g", "co", "mt"];

/// A program.
pub fn script(rng: &mut Rng) -> String {
    let mut program = Program { rng, text: String::new(), depth: 0, names: Vec::new() };
    program.line("local a, b, c, t, u, s, n = 1, 'b', {1, 2, 3}, {}, {x = {}}, ('s'):rep(50), 0");
    program.line("local mt = {__index = t} local f = function(...) return ... end");
    program.line("local g = function(x, y) n = n + 1 if n > 100 then error('enough') end return x, y end");
    program.line("local co = coroutine.create(function(...) local v = ... while true do v = coroutine.yield(v) end end)");
    program.names.extend(["a", "b", "c", "t", "u", "s", "n", "f", "g", "co", "mt"]);
    for _ in 0..program.rng.usize(1..12) {
        program.statement();
    }
    if program.rng.bool() {
        let value = program.expression();
        program.line(&format!("return {value}"));
    }
    program.text
}

struct Program<'r> {
    rng: &'r mut Rng,
    text: String,
    depth: usize,
    names: Vec<&'static str>,
}

impl Program<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.rng.usize(..from.len())]
    }

    fn name(&mut self) -> &'static str {
        let at = self.rng.usize(..self.names.len());
        self.names[at]
    }

    fn block(&mut self) {
        self.depth += 1;
        let known = self.names.len();
        for _ in 0..self.rng.usize(1..4) {
            self.statement();
        }
        self.names.truncate(known);
        self.depth -= 1;
    }

    fn statement(&mut self) {
        let kind = self.rng.u8(..if self.depth > 3 { 6 } else { 18 });
        match kind {
            0 | 1 => {
                let (name, value) = (self.pick(NAMES), self.expression());
                self.line(&format!("local {name} = {value}"));
                self.names.push(name);
            }
            2 => {
                let (name, value) = (self.name(), self.expression());
                self.line(&format!("{name} = {value}"));
            }
            3 => {
                let (key, value) = (self.expression(), self.expression());
                let table = self.pick(&["t", "u", "c", "mt"]);
                self.line(&format!("pcall(function() {table}[{key}] = {value} end)"));
            }
            4..=7 => {
                let call = self.call();
                let line = if self.rng.u8(..4) == 0 {
                    format!("local a = {call}")
                } else {
                    format!("pcall(function(...) return {call} end, {})", self.name())
                };
                self.line(&line);
            }
            8 => {
                let condition = self.expression();
                self.line(&format!("if {condition} then"));
                self.block();
                self.line("else");
                self.block();
                self.line("end");
            }
            9 => {
                let to = self.rng.u32(..40);
                self.line(&format!("for i = 1, {to} do"));
                self.names.push("i");
                self.block();
                self.names.pop();
                self.line("end");
            }
            10 => {
                let table = self.pick(&["t", "u", "c", "string", "_G", "{1,2,nil,4}"]);
                self.line(&format!("for k, v in pairs({table}) do"));
                self.names.extend(["k", "v"]);
                self.block();
                self.names.truncate(self.names.len() - 2);
                self.line("end");
            }
            11 => {
                let name = self.pick(NAMES);
                let parameters = self.pick(&["", "x", "x, y", "...", "x, ..."]);
                self.line(&format!(
                    "local function {name}({parameters}) n = n + 1 if n > 200 then error({{}}) end"
                ));
                self.block();
                let value = self.expression();
                self.line(&format!("return {value} end"));
                self.names.push(name);
            }
            12 => {
                let event = self.pick(&[
                    "__index",
                    "__newindex",
                    "__call",
                    "__tostring",
                    "__eq",
                    "__lt",
                    "__le",
                    "__add",
                    "__concat",
                    "__unm",
                    "__len",
                    "__gc",
                    "__mode",
                    "__metatable",
                ]);
                let (value, table) = (self.expression(), self.pick(&["t", "u", "c"]));
                self.line(&format!("pcall(function() mt.{event} = {value} setmetatable({table}, mt) end)"));
            }
            13 => {
                let pattern = self.pattern();
                let subject = self.string();
                let function = self.pick(&["find", "match", "gsub", "gmatch"]);
                let rest = self.arguments(1);
                self.line(&format!("pcall(string.{function}, {subject}, {pattern}, {rest})"));
            }
            14 => {
                let (value, body) = (self.expression(), self.call());
                self.line(&format!(
                    "do local w = coroutine.wrap(function(...) coroutine.yield({value}) return {body} end) pcall(w) pcall(w) pcall(w) end"
                ));
            }
            15 => {
                let mut inner = Program { rng: self.rng, text: String::new(), depth: 3, names: vec!["arg1"] };
                inner.line("local arg1 = ...");
                inner.block();
                let mut source = inner.text;
                // A source that is cut off, or damaged, goes through the compiler all the same.
                match self.rng.u8(..4) {
                    0 => source.truncate(self.rng.usize(..source.len() + 1)),
                    1 => source.insert_str(
                        self.rng.usize(..source.len() + 1),
                        self.pick(&["end", "(", "[[", "--[[", "'", "="]),
                    ),
                    _ => {}
                }
                let name = self.string();
                self.line(&format!(
                    "pcall(function() local f = loadstring({source:?}, {name}) return f({name}) end)"
                ));
            }
            16 => {
                let amount = self.rng.u32(1..300);
                let value = self.expression();
                self.line(&format!("pcall(function() for i = 1, {amount} do t[i] = {value} end end)"));
            }
            _ => {
                let mode = self.pick(&[
                    "'collect'",
                    "'step'",
                    "'step', 100",
                    "'setpause', 0",
                    "'setpause', 100",
                    "'setstepmul', 1000",
                ]);
                self.line(&format!("collectgarbage({mode})"));
            }
        }
    }

    fn call(&mut self) -> String {
        let function = if self.rng.u8(..8) == 0 { self.name() } else { self.pick(FUNCTIONS) };
        let count = self.rng.usize(..5);
        let arguments = self.arguments(count);
        format!("{function}({arguments})")
    }

    fn arguments(&mut self, count: usize) -> String {
        (0..count).map(|_| self.expression()).collect::<Vec<_>>().join(", ")
    }

    fn expression(&mut self) -> String {
        self.depth += 1;
        let simple = self.depth > 6;
        let text = match self.rng.u8(..if simple { 8 } else { 15 }) {
            0 | 1 => self.pick(NUMBERS).to_owned(),
            2 | 3 => self.string(),
            4 | 5 => self.name().to_owned(),
            6 => self.pick(&["nil", "true", "false", "{}", "_G", "string", "(...)"]).replace("(...)", "nil"),
            7 => self.pick(FUNCTIONS).to_owned(),
            8 => format!("({} {} {})", self.expression(), self.pick(BINARY), self.expression()),
            9 => format!("({} {})", self.pick(&["not", "-", "#"]), self.expression()),
            10 => {
                let count = self.rng.usize(..4);
                let items: Vec<String> = (0..count)
                    .map(|_| match self.rng.u8(..3) {
                        0 => format!("[{}] = {}", self.rng.u8(1..9), self.expression()),
                        1 => format!("{} = {}", self.pick(NAMES), self.expression()),
                        _ => self.expression(),
                    })
                    .collect();
                format!("{{{}}}", items.join(", "))
            }
            11 | 12 => self.call(),
            13 => format!("function(x, ...) return {} end", self.expression().replace("...", "x")),
            _ => format!("({})[{}]", self.name(), self.expression()),
        };
        self.depth -= 1;
        text
    }

    fn string(&mut self) -> String {
        match self.rng.u8(..8) {
            0 => format!("({}):rep({})", self.pick(STRINGS), self.rng.u32(..2000)),
            1 => self.pattern(),
            2 => format!("tostring({})", self.name()),
            _ => self.pick(STRINGS).to_owned(),
        }
    }

    fn pattern(&mut self) -> String {
        let count = self.rng.usize(1..8);
        let parts: String = (0..count).map(|_| self.pick(PATTERNS)).collect();
        match self.rng.u8(..6) {
            0 => format!("('{parts}'):rep({})", self.rng.u32(..3000)),
            _ => format!("'{parts}'"),
        }
    }
}
