//! Random scripts for the interpreter: each ends with a value or an error, in bounded memory and time, and changes nothing
//! that the next one sees. The C of Lua is what is on trial, so `make fuzz TARGET=scripts` compiles it, too, for
//! AddressSanitizer, and goes on for long; a short run of the same is among the tests.
//!
//! Strategy: programs are made by a grammar (`grammar.rs`) that knows every library function and likes extreme arguments.
//! Several run in one interpreter, with and without the insecure functions, before it is closed. `redis.call` answers with
//! bytes that the script itself has made, as a server gone mad might.

mod grammar;

use fastrand::Rng;
use larder_lua::gateway::{Exchange, Service, gateway};
use larder_testkit::fuzz::for_seeds;
use mlua::{HookTriggers, Lua, Value, VmState};
use std::cell::Cell;
use std::rc::Rc;

/// Interpreters of the short run.
const CASES: u64 = 150;
/// Scripts of one interpreter.
const SCRIPTS: usize = 12;
/// Instructions between two looks at how long a script has run.
const TICK_INSTRUCTIONS: u32 = 1_000;
/// Looks after which it has to end.
const TICKS_MAX: u32 = 200;
const MEMORY_BYTES_MAX: usize = 32 << 20;

#[test]
fn random_scripts() {
    // Sanitized code takes several times the stack.
    let thread = std::thread::Builder::new().stack_size(8 * larder_lua::STACK_BYTES_MIN);
    let run = thread.spawn(|| for_seeds(1, CASES, case)).expect("a thread");
    assert!(run.join().is_ok(), "a script failed the test");
}

/// A reply is read as far as it goes, however many elements it promises.
#[test]
fn promises_of_a_reply_cost_nothing() {
    let interpreter = Interpreter::new(false);
    for kind in ["*", ">", "%", "~", "|", "$", "=", "*1\\r\\n*"] {
        for count in ["2147483647", "9223372036854775807", "3\\r\\n:1"] {
            let killed = interpreter.run(&format!("redis.call('{kind}{count}\\r\\n')"));
            assert!(!killed);
            interpreter.check();
        }
    }
}

/// One interpreter and its scripts.
fn case(seed: u64) {
    let last = std::env::var_os("FUZZ_LAST");
    let mut rng = Rng::with_seed(seed);
    let interpreter = Interpreter::new(rng.bool());
    for _ in 0..SCRIPTS {
        let script = grammar::script(&mut rng);
        // What AddressSanitizer finds ends the process: the file says where it was.
        if let Some(path) = &last {
            std::fs::write(path, format!("{script}\nSEED={seed} replays this\n")).expect("a file");
        }
        let shown = Shown(&script);
        let killed = interpreter.run(&script);
        if !killed {
            interpreter.check();
        }
        std::mem::forget(shown);
        if killed {
            return;
        }
    }
}

/// Prints a script when it is dropped, which only a panic does.
struct Shown<'a>(&'a str);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        eprintln!("{}\n--", self.0);
    }
}

struct Interpreter {
    lua: Lua,
    ticks: Rc<Cell<u32>>,
}

impl Interpreter {
    fn new(insecure: bool) -> Self {
        let lua =
            larder_lua::interpreter(insecure, &larder_lua::Generator::default()).expect("an interpreter");
        let gateway = gateway(&lua, Service { call: echo, arguments: none, number }).expect("a gateway");
        let redis = lua.create_table().expect("a table");
        redis.set("call", gateway.call).expect("set");
        redis.set("pcall", gateway.pcall).expect("set");
        lua.globals().set("redis", redis).expect("set");
        larder_lua::seal(&lua).expect("sealed");
        lua.set_memory_limit(MEMORY_BYTES_MAX).expect("a limit");
        let ticks = Rc::new(Cell::new(0));
        let counted = Rc::clone(&ticks);
        let triggers = HookTriggers::new().every_nth_instruction(TICK_INSTRUCTIONS);
        lua.set_global_hook(triggers, move |lua, _| {
            counted.set(counted.get() + 1);
            if counted.get() < TICKS_MAX {
                return Ok(VmState::Continue);
            }
            // As the server does with a script that is killed.
            let always = HookTriggers::new().every_nth_instruction(1);
            lua.set_global_hook(always, |_, _| Err(mlua::Error::runtime("long enough")))?;
            Err(mlua::Error::runtime("long enough"))
        })
        .expect("a hook");
        Interpreter { lua, ticks }
    }

    /// Whether the script had to be stopped.
    fn run(&self, script: &str) -> bool {
        self.ticks.set(0);
        if let Ok(function) = larder_lua::compile(&self.lua, script.as_bytes(), "@user_script") {
            // What it returns is of no interest, but reading it is.
            if let Ok(value) = function.call::<Value>(()) {
                let _ = value.to_string();
            }
        }
        larder_lua::gateway::resume_panic();
        larder_lua::relieve(&self.lua);
        self.ticks.get() >= TICKS_MAX
    }

    /// The next script finds everything as the first did.
    fn check(&self) {
        const CHECK: &str = "
            assert(('abc'):upper() == 'ABC' and #table.concat({1, 2, 3}, ',') == 5 and bit.band(7, 3) == 3)
            assert(cjson.decode(cjson.encode({a = {1, 2}})).a[2] == 2)
            assert(cmsgpack.unpack(cmsgpack.pack('x')) == 'x' and struct.unpack('>I2', struct.pack('>I2', 513)) == 513)
            assert(not pcall(rawset, _G, 'x', 1) and not pcall(rawset, string, 'upper', nil))
            assert(not pcall(function() x = 1 end) and not pcall(function() return y end))
            assert(coroutine.wrap(function() return redis.call(':7\\r\\n') end)() == 7)
            local n = 0 for k, v in pairs(_G) do n = n + 1 end return n";
        // Settings of cjson stay from one script to the next, as those of the collector do.
        let reset =
            "cjson.encode_max_depth(1000) cjson.decode_max_depth(1000) collectgarbage('setpause', 200)
            cjson.encode_sparse_array(false, 2, 10) cjson.encode_number_precision(14)
            collectgarbage('setstepmul', 200) collectgarbage('restart') collectgarbage()";
        self.ticks.set(0);
        for code in [reset, CHECK] {
            let function = larder_lua::compile(&self.lua, code.as_bytes(), "@check").expect("it compiles");
            if let Err(error) = function.call::<Value>(()) {
                panic!("the interpreter is not what it was: {error}");
            }
        }
    }
}

/// Answers with what the script has given as its first argument.
fn echo(exchange: &mut Exchange) -> bool {
    if exchange.refusal.is_some() {
        exchange.reply.extend_from_slice(b"-ERR invalid\r\n");
        return false;
    }
    let first = exchange.ends.first().copied().unwrap_or(0);
    let reply = exchange.bytes[..first].to_vec();
    exchange.reply.extend_from_slice(&reply);
    exchange.reply.first() != Some(&b'-')
}

fn none(exchange: &mut Exchange) {
    exchange.reply.extend_from_slice(b"*0\r\n*0\r\n");
}

fn number(n: f64, to: &mut Vec<u8>) {
    to.extend_from_slice(n.to_string().as_bytes());
}
