//! A thread's Lua state: made when the thread runs its first script, gone with the thread, with a script that
//! had to be killed, after a script was debugged, or when the thread runs one for another engine or under
//! another value of `lua-enable-insecure-api`.

use super::api;
use super::caller::{TICK_INSTRUCTIONS, tick};
use super::convert::Fields;
use crate::engine::Engine;
use crate::scripts::library::Library;
use crate::scripts::{Script, Scripts, Sha};
use crate::version::{REDIS_VERSION, VALKEY_VERSION};
use larder_collections::keyed_hash::KeyedState;
use larder_resp::Span;
use mlua::{Function, HookTriggers, Lua, Result, Table};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

thread_local! {
    static MINE: RefCell<Option<Rc<Interpreter>>> = const { RefCell::new(None) };
}

/// What has been compiled is looked through when there are more scripts than twice `TRANSIENT_MAX` and this
/// many.
const COMPILED_SLACK: usize = 64;

/// Scripts between two looks at how much memory the state holds.
const ACCOUNT_EVERY: u32 = 64;

/// The name that the globals of functions have while they are sealed.
const FOR_FUNCTIONS: &str = "__functions";

/// A library that the state holds, and the bytes that it took when it was loaded.
struct Compiled {
    functions: Rc<Functions>,
    bytes: u64,
}

/// The functions of a library, compiled.
pub(super) type Functions = HashMap<Box<[u8]>, Function, KeyedState>;

/// A Lua state with everything that scripts use.
pub(super) struct Interpreter {
    pub lua: Lua,
    pub fields: Fields,
    /// Starts a script: whether it worked, and what it returned or the error.
    pub run: Function,
    /// Starts a function; the same.
    pub call: Function,
    /// Starts code for a debugger: whether it worked, and what it returned or the error as it is.
    pub evaluate: Function,
    /// Makes the environment of a library, and the table that decides what it shows.
    pub environment: Function,
    /// Runs the code of a library.
    pub load: Function,
    /// The globals as functions see them.
    pub for_functions: Table,
    /// For the arguments of the commands that a script calls.
    pub spans: RefCell<Vec<Span>>,
    scripts: RefCell<HashMap<Sha, Function, KeyedState>>,
    libraries: RefCell<HashMap<u64, Compiled, KeyedState>>,
    generation: Cell<u64>,
    /// With the functions that `lua-enable-insecure-api` adds.
    is_insecure: bool,
    /// The engine that it belongs to: tests have several.
    engine: String,
    /// Compiled scripts that stayed when those were last looked through.
    kept: Cell<usize>,
    uses: Cell<u32>,
    /// Bytes that it has accounted for.
    accounted: Cell<u64>,
    scripts_of: std::sync::Weak<Engine>,
}

impl Interpreter {
    /// That of this thread.
    pub(super) fn of_thread(engine: &Engine) -> Result<Rc<Interpreter>> {
        MINE.with_borrow_mut(|mine| {
            let is_insecure = engine.config.hot.lua_enable_insecure_api.load(Relaxed);
            if let Some(known) = mine
                && known.engine == engine.run_id
                && known.is_insecure == is_insecure
            {
                known.catch_up(&engine.scripts);
                return Ok(Rc::clone(known));
            }
            let new = Rc::new(Interpreter::new(engine, is_insecure)?);
            *mine = Some(Rc::clone(&new));
            Ok(new)
        })
    }

    /// Has the thread make a new one when it needs it.
    pub(super) fn discard() {
        MINE.take();
    }

    fn new(engine: &Engine, is_insecure: bool) -> Result<Interpreter> {
        let lua = larder_lua::interpreter(is_insecure, &engine.scripts.generator)?;
        let prelude = larder_lua::compile(&lua, include_bytes!("prelude.lua"), "=larder")?;
        let host = api::host(&lua)?;
        let versions = [REDIS_VERSION, VALKEY_VERSION].map(|version| (version, version_number(version)));
        let (redis, for_functions, run, call, evaluate, environment, load): (Table, Table, _, _, _, _, _) =
            prelude.call((host, versions[0].0, versions[0].1, versions[1].0, versions[1].1))?;
        let globals = lua.globals();
        globals.raw_set("redis", &redis)?;
        globals.raw_set("server", &redis)?;
        // What is among the globals when they are sealed is sealed with them.
        globals.raw_set(FOR_FUNCTIONS, for_functions)?;
        let behind = larder_lua::seal(&lua)?;
        let for_functions = behind.raw_get(FOR_FUNCTIONS)?;
        behind.raw_set(FOR_FUNCTIONS, mlua::Value::Nil)?;
        lua.set_global_hook(HookTriggers::new().every_nth_instruction(TICK_INSTRUCTIONS), tick)?;
        Ok(Interpreter {
            fields: Fields::new(&lua)?,
            for_functions,
            lua,
            is_insecure,
            run,
            call,
            evaluate,
            environment,
            load,
            spans: RefCell::default(),
            scripts: RefCell::default(),
            libraries: RefCell::default(),
            generation: Cell::new(engine.scripts.generation()),
            engine: engine.run_id.clone(),
            kept: Cell::new(0),
            uses: Cell::new(0),
            accounted: Cell::new(0),
            scripts_of: engine.weak(),
        })
    }

    /// Forgets what the server does not keep any more.
    fn catch_up(&self, scripts: &Scripts) {
        let now = scripts.generation();
        let compiled = self.scripts.borrow().len();
        let many = compiled > self.kept.get().max(2 * crate::scripts::cache::TRANSIENT_MAX) + COMPILED_SLACK;
        if self.generation.replace(now) != now || many {
            scripts.with_cache(|cache| self.scripts.borrow_mut().retain(|sha, _| cache.contains(sha)));
            self.kept.set(self.scripts.borrow().len());
            let libraries: HashSet<u64, KeyedState> =
                scripts.libraries().iter().map(|library| library.id).collect();
            self.libraries.borrow_mut().retain(|id, compiled| {
                let stays = libraries.contains(id);
                if !stays {
                    scripts.function_bytes.fetch_sub(compiled.bytes, Relaxed);
                }
                stays
            });
            let _ = self.lua.gc_collect();
        }
        let uses = self.uses.get().wrapping_add(1);
        self.uses.set(uses);
        if uses % ACCOUNT_EVERY == 1 {
            self.account(scripts, self.lua.used_memory() as u64);
        }
    }

    /// Brings the sum over all threads up to date.
    fn account(&self, scripts: &Scripts, bytes: u64) {
        let before = self.accounted.replace(bytes);
        scripts.vm_bytes.fetch_add(bytes.wrapping_sub(before), Relaxed);
    }

    /// The engine for which it runs scripts, unless that is about to end.
    pub(super) fn engine(&self) -> Option<std::sync::Arc<Engine>> {
        self.scripts_of.upgrade()
    }

    /// A script, compiled.
    pub(super) fn script(&self, script: &Script) -> Result<Function> {
        if let Some(known) = self.scripts.borrow().get(&script.sha) {
            return Ok(known.clone());
        }
        let function = larder_lua::compile(&self.lua, script.code(), "@user_script")?;
        self.scripts.borrow_mut().insert(script.sha, function.clone());
        Ok(function)
    }

    /// Keeps the functions of a library. `held`: the memory that the state held before it was loaded.
    pub(super) fn remember(&self, library: &Library, functions: Functions, held: usize) -> Rc<Functions> {
        let functions = Rc::new(functions);
        // Garbage may have been collected meanwhile.
        let bytes = self.lua.used_memory().saturating_sub(held).max(library.text.len()) as u64;
        if let Some(engine) = self.engine() {
            engine.scripts.function_bytes.fetch_add(bytes, Relaxed);
            self.account(&engine.scripts, self.lua.used_memory() as u64);
        }
        let compiled = Compiled { functions: Rc::clone(&functions), bytes };
        self.libraries.borrow_mut().insert(library.id, compiled);
        functions
    }

    /// The functions of a library, when this thread has loaded it.
    pub(super) fn known(&self, library: &Library) -> Option<Rc<Functions>> {
        self.libraries.borrow().get(&library.id).map(|known| Rc::clone(&known.functions))
    }
}

impl Drop for Interpreter {
    fn drop(&mut self) {
        if let Some(engine) = self.scripts_of.upgrade() {
            self.account(&engine.scripts, 0);
            let bytes: u64 = self.libraries.borrow().values().map(|compiled| compiled.bytes).sum();
            engine.scripts.function_bytes.fetch_sub(bytes, Relaxed);
        }
    }
}

/// 7.0.15 as 0x07000f.
fn version_number(version: &str) -> u32 {
    version.split('.').fold(0, |number, part| number << 8 | part.parse::<u32>().unwrap_or(0))
}
