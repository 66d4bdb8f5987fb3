//! Scripts that loop over library functions, here and in a redis-server: nanoseconds of each turn.
//!
//! `cargo bench -p larder-lua` runs it at full length; tests run it short, so that it does not rot.

use larder_testkit::{Server, Value};
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// A job as queue libraries keep it, about 1 KB.
const JOB: &str = r#"{"id":"8f14e45f-ceea-4e4a-a1e5-7b1a2c3d4e5f","name":"send-email","attempts":3,"delay":0,"priority":5,
"timestamp":1700000000123,"data":{"to":"somebody@example.org","subject":"Your order has been shipped","template":"shipped",
"locale":"en-GB","variables":{"order":"A-1002334","total":129.95,"currency":"EUR","items":[{"sku":"B0012","count":2,
"price":19.99},{"sku":"B0451","count":1,"price":89.97},{"sku":"C1000","count":4,"price":0.5}],"address":{"street":
"Main Street 12","city":"Springfield","zip":"12345","country":"US"},"gift":false,"note":null}},"opts":{"attempts":5,
"backoff":{"type":"exponential","delay":1000},"removeOnComplete":true,"removeOnFail":false,"jobId":"send-email:1002334"},
"progress":0,"returnvalue":null,"stacktrace":[],"tags":["mail","customer","order","shipping"],"parent":{"id":"77",
"queue":"bull:orders"},"log":"queued by worker-17 on host web-3 after 0.45 s"}"#;

/// Name and body of a loop; `v` is the decoded job, `text` its JSON.
const LOOPS: &[(&str, &str)] = &[
    ("empty loop", ""),
    ("cjson.decode 1 KB", "cjson.decode(text)"),
    ("cjson.encode 1 KB", "cjson.encode(v)"),
    ("cmsgpack.pack 1 KB", "cmsgpack.pack(v)"),
    ("cmsgpack.unpack 1 KB", "cmsgpack.unpack(packed)"),
    ("struct.pack", "struct.pack('>I4dHs', i, 1.5, 7, 'abc')"),
    ("struct.unpack", "struct.unpack('>I4dH', data)"),
    ("bit.band", "bit.band(i, 255)"),
    ("math.random", "math.random(100)"),
    ("string.format", "string.format('%s:%d', 'key', i)"),
    ("tostring(i)", "local s = tostring(i)"),
    ("pairs of 10", "for k, e in pairs(ten) do end"),
    ("ipairs of 10", "for k, e in ipairs(ten) do end"),
    ("next", "local k = next(ten)"),
    ("table.insert", "local t = {} table.insert(t, i) table.insert(t, i)"),
    ("pcall", "pcall(f, i)"),
    ("setmetatable", "setmetatable({}, mt)"),
    ("arithmetic on a local", "n = n + i * 2"),
];

fn script(body: &str, count: usize) -> String {
    format!(
        "local text = ARGV[1] local v = cjson.decode(text) local packed = cmsgpack.pack(v) local n, mt = 0, {{}}
         local data = struct.pack('>I4dH', 1, 2, 3) local ten = {{1,2,3,4,5,6,7,8,9,10}} local function f(x) return x end
         for i = 1, {count} do {body} end return 1"
    )
}

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let server = Server::redis(&["--lua-time-limit", "60000"]);
    let mut client = server.client();
    let begin = Instant::now();
    let lua = larder_lua::interpreter(false, &larder_lua::Generator::default()).expect("an interpreter");
    let behind = larder_lua::seal(&lua).expect("sealed");
    println!("an interpreter takes {} KB and {:?} to make", lua.used_memory() / 1024, begin.elapsed());
    let arguments = lua.create_sequence_from([JOB]).expect("arguments");
    behind.raw_set("ARGV", arguments).expect("set");
    println!("{:<24}{:>12}{:>16}", "ns a turn", "larder-lua", "redis-server");
    for (name, body) in LOOPS {
        let heavy = name.contains("1 KB");
        let count = if !full {
            10
        } else if heavy {
            100_000
        } else {
            1_000_000
        };
        let source = script(body, count);
        let function = larder_lua::compile(&lua, source.as_bytes(), "@user_script").expect("compiles");
        let begin = Instant::now();
        function.call::<i64>(()).expect("runs");
        let ours = begin.elapsed().as_nanos() as f64 / count as f64;
        let begin = Instant::now();
        let reply = client.cmd(&["EVAL", &source, "0", JOB]);
        let theirs = begin.elapsed().as_nanos() as f64 / count as f64;
        assert!(reply == Value::Int(1), "{reply}");
        println!("{name:<24}{ours:>12.0}{theirs:>16.0}");
    }
}
