//! A thread's Lua state: made when the thread runs its first script, gone with the thread or with a script that had to
//! be killed.

use super::api;
use super::convert::Fields;
use super::library::Library;
use super::{Script, Scripts, Sha};
use crate::commands::connection::REDIS_VERSION;
use crate::engine::Engine;
use larder_collections::keyed_hash::KeyedState;
use larder_resp::Span;
use mlua::{Function, HookTriggers, Lua, Result, Table};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

thread_local! {
    static MINE: RefCell<Option<Rc<Interpreter>>> = const { RefCell::new(None) };
}

/// More compiled scripts than this many times those that the server keeps are looked through.
const COMPILED_SLACK: usize = 64;

/// Scripts between two looks at how much memory the state holds.
const ACCOUNT_EVERY: u32 = 64;

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
    /// Makes the environment of a library, and the table that decides what it shows.
    pub environment: Function,
    /// Runs the code of a library.
    pub load: Function,
    /// The globals as scripts see them.
    pub sealed: Table,
    /// For the arguments of the commands that a script calls.
    pub spans: RefCell<Vec<Span>>,
    scripts: RefCell<HashMap<Sha, Function, KeyedState>>,
    libraries: RefCell<HashMap<u64, Rc<Functions>, KeyedState>>,
    generation: Cell<u64>,
    /// The engine that it belongs to: tests have several.
    engine: String,
    uses: Cell<u32>,
    /// Bytes that it has accounted for.
    accounted: Cell<u64>,
    scripts_of: std::sync::Weak<Engine>,
}

impl Interpreter {
    /// That of this thread.
    pub(super) fn of_thread(engine: &Engine) -> Result<Rc<Interpreter>> {
        MINE.with_borrow_mut(|mine| {
            if let Some(known) = mine
                && known.engine == engine.run_id
            {
                known.catch_up(&engine.scripts);
                return Ok(Rc::clone(known));
            }
            let new = Rc::new(Interpreter::new(engine)?);
            *mine = Some(Rc::clone(&new));
            Ok(new)
        })
    }

    /// Has the thread make a new one when it needs it.
    pub(super) fn discard() {
        MINE.take();
    }

    fn new(engine: &Engine) -> Result<Interpreter> {
        let lua = larder_lua::interpreter()?;
        let prelude = larder_lua::compile(&lua, include_bytes!("prelude.lua"), "=larder")?;
        let host = api::host(&lua)?;
        let (redis, run, call, environment, load): (Table, Function, Function, Function, Function) =
            prelude.call((host, REDIS_VERSION, version_number(REDIS_VERSION)))?;
        let globals = lua.globals();
        globals.raw_set("redis", &redis)?;
        globals.raw_set("server", &redis)?;
        larder_lua::seal(&lua)?;
        lua.set_global_hook(HookTriggers::new().every_nth_instruction(api::TICK_INSTRUCTIONS), api::tick)?;
        Ok(Interpreter {
            fields: Fields::new(&lua)?,
            sealed: lua.globals(),
            lua,
            run,
            call,
            environment,
            load,
            spans: RefCell::default(),
            scripts: RefCell::default(),
            libraries: RefCell::default(),
            generation: Cell::new(engine.scripts.generation()),
            engine: engine.run_id.clone(),
            uses: Cell::new(0),
            accounted: Cell::new(0),
            scripts_of: engine.weak(),
        })
    }

    /// Forgets what the server does not keep any more.
    fn catch_up(&self, scripts: &Scripts) {
        let now = scripts.generation();
        let many = self.scripts.borrow().len() > 2 * super::cache::TRANSIENT_MAX + COMPILED_SLACK;
        if self.generation.replace(now) != now || many {
            scripts.with_cache(|cache| self.scripts.borrow_mut().retain(|sha, _| cache.contains(sha)));
            let libraries = scripts.libraries();
            self.libraries.borrow_mut().retain(|id, _| libraries.iter().any(|library| library.id == *id));
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

    /// A script, compiled.
    pub(super) fn script(&self, script: &Script) -> Result<Function> {
        if let Some(known) = self.scripts.borrow().get(&script.sha) {
            return Ok(known.clone());
        }
        let function = larder_lua::compile(&self.lua, script.code(), "@user_script")?;
        self.scripts.borrow_mut().insert(script.sha, function.clone());
        Ok(function)
    }

    /// Keeps the functions of a library.
    pub(super) fn remember(&self, library: &Library, functions: Functions) -> Rc<Functions> {
        let functions = Rc::new(functions);
        self.libraries.borrow_mut().insert(library.id, Rc::clone(&functions));
        functions
    }

    /// A function of a library.
    pub(super) fn function(&self, library: &Arc<Library>, name: &[u8]) -> Result<Function> {
        let known = self.libraries.borrow().get(&library.id).cloned();
        let functions = match known {
            Some(functions) => functions,
            None => self.remember(library, super::load::functions_of(self, library)?),
        };
        functions.get(name).cloned().ok_or_else(|| mlua::Error::runtime("the function is not there any more"))
    }
}

impl Drop for Interpreter {
    fn drop(&mut self) {
        if let Some(engine) = self.scripts_of.upgrade() {
            self.account(&engine.scripts, 0);
        }
    }
}

/// 7.0.15 as 0x07000f.
fn version_number(version: &str) -> u32 {
    version.split('.').fold(0, |number, part| number << 8 | part.parse::<u32>().unwrap_or(0))
}
