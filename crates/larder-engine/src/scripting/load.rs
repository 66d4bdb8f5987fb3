//! Running the code of a library, for the functions that it registers.

use super::caller::{self, Caller};
use super::interpreter::{Functions, Interpreter};
use crate::aof::effects::Targets;
use crate::engine::Engine;
use crate::error::{CommandError, CommandResult};
use crate::host::LogLevel;
use crate::scripts::header::{self, ScriptFlags};
use crate::scripts::library::{Function, Library};
use crate::scripts::usual::UsualTime;
use larder_lua::gateway::Exchange;
use larder_resp::Args;
use mlua::{LuaString, Result, Table, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the code of a library may run.
const TIME_MAX: Duration = Duration::from_millis(500);
/// The same when a thread runs the code of one that has been loaded already.
const TIME_MAX_AGAIN: Duration = Duration::from_secs(5);

/// What the code of a library can ask for.
struct Loading<'e> {
    engine: &'e Engine,
    until: Option<Instant>,
    timed_out: bool,
}

impl Caller for Loading<'_> {
    fn call(&mut self, exchange: &mut Exchange) -> bool {
        exchange.reply.extend_from_slice(b"-ERR commands cannot be called while a library is loaded\r\n");
        false
    }

    fn arguments(&mut self, _: &mut Vec<u8>) {}

    fn set_protocol(&mut self, _: i64) {}

    fn set_targets(&mut self, _: Targets) {}

    fn may_execute(&mut self, _: Args<'_>) -> Option<bool> {
        None
    }

    fn log(&mut self, level: LogLevel, text: &str) {
        self.engine.host.log(level, text);
    }

    fn tick(&mut self) -> bool {
        self.timed_out |= self.until.is_some_and(|until| crate::clock::instant() > until);
        !self.timed_out
    }

    fn ended_at(&mut self, _: String, _: usize) {}
}

/// The library of the name that a text says, if there is one.
pub(crate) fn find_library(engine: &Engine, text: &[u8]) -> CommandResult<Option<Arc<Library>>> {
    let (name, _) = header::of_library(text)?;
    Ok(engine.scripts.libraries().library(&name).cloned())
}

/// Checks a library and runs its code once. With `limited`, for half a second at most.
pub(crate) fn load_library(engine: &Engine, text: &[u8], limited: bool) -> CommandResult<Arc<Library>> {
    let (name, code_at) = header::of_library(text)?;
    let failed = |error: &mlua::Error| CommandError::text(format!("ERR {error}"));
    let interpreter = Interpreter::of_thread(engine).map_err(|error| failed(&error))?;
    let until = limited.then(|| crate::clock::instant() + TIME_MAX);
    let held = interpreter.lua.used_memory();
    let entries = match execute(engine, &interpreter, &text[code_at..], until) {
        Ok(entries) => entries,
        Err(Failure::TimedOut) => {
            return Err(CommandError::Fixed("ERR Error registering functions: ERR FUNCTION LOAD timeout"));
        }
        Err(Failure::Compiling(text)) => return Err(prefixed("ERR Error compiling function: ", &text)),
        Err(Failure::Running(text)) => return Err(prefixed("ERR Error registering functions: ", &text)),
    };
    if entries.is_empty() {
        return Err(CommandError::Fixed("ERR No functions registered"));
    }
    check_names(&entries)?;
    let functions = entries.iter().map(|entry| entry.function.clone()).collect();
    let library = Library::new(&name, text, functions);
    let compiled = entries.into_iter().map(|entry| (entry.function.name, entry.code)).collect();
    interpreter.remember(&library, compiled, held);
    Ok(Arc::new(library))
}

fn check_names(entries: &[Entry]) -> CommandResult {
    for (at, entry) in entries.iter().enumerate() {
        let name = &entry.function.name;
        if !header::is_name(name) {
            return Err(CommandError::Fixed(
                "ERR Function names can only contain letters, numbers, or underscores(_) and must be at least one \
                 character long",
            ));
        }
        if entries[..at].iter().any(|other| other.function.name == *name) {
            return Err(CommandError::Fixed("ERR Function already exists in the library"));
        }
    }
    Ok(())
}

/// A function of a library.
pub(super) fn function(interpreter: &Interpreter, library: &Library, name: &[u8]) -> Result<mlua::Function> {
    let functions = match interpreter.known(library) {
        Some(functions) => functions,
        None => {
            let held = interpreter.lua.used_memory();
            interpreter.remember(library, functions_of(interpreter, library)?, held)
        }
    };
    functions.get(name).cloned().ok_or_else(|| mlua::Error::runtime("the function is not there any more"))
}

/// The functions of a library that another thread has loaded.
fn functions_of(interpreter: &Interpreter, library: &Library) -> Result<Functions> {
    let code_at = header::of_library(&library.text).map_or(0, |(_, at)| at);
    let engine = interpreter.engine().ok_or_else(|| mlua::Error::runtime("the server is about to end"))?;
    let until = Some(crate::clock::instant() + TIME_MAX_AGAIN);
    match execute(&engine, interpreter, &library.text[code_at..], until) {
        Ok(entries) => Ok(entries.into_iter().map(|entry| (entry.function.name, entry.code)).collect()),
        Err(Failure::TimedOut) => Err(mlua::Error::runtime("the code of the library takes too long")),
        Err(Failure::Compiling(text) | Failure::Running(text)) => {
            Err(mlua::Error::runtime(String::from_utf8_lossy(&text)))
        }
    }
}

enum Failure {
    Compiling(Vec<u8>),
    Running(Vec<u8>),
    /// The thread begins with another interpreter.
    TimedOut,
}

impl From<mlua::Error> for Failure {
    fn from(error: mlua::Error) -> Failure {
        Failure::Running(error.to_string().into_bytes())
    }
}

/// A function that the code has registered.
struct Entry {
    function: Function,
    code: mlua::Function,
}

/// Runs the code of a library, until some time if one is given.
fn execute(
    engine: &Engine,
    interpreter: &Interpreter,
    code: &[u8],
    until: Option<Instant>,
) -> std::result::Result<Vec<Entry>, Failure> {
    let mut loading = Loading { engine, until, timed_out: false };
    let entries = caller::with_caller(&mut loading, || register(interpreter, code));
    if loading.timed_out {
        Interpreter::discard();
        return Err(Failure::TimedOut);
    }
    entries
}

fn register(interpreter: &Interpreter, code: &[u8]) -> std::result::Result<Vec<Entry>, Failure> {
    let chunk = larder_lua::compile(&interpreter.lua, code, "@user_function")
        .map_err(|error| Failure::Compiling(larder_lua::message(&error)))?;
    let (environment, meta): (Table, Table) = interpreter.environment.call(())?;
    chunk.set_environment(environment)?;
    let (worked, result): (bool, Value) = interpreter.load.call((chunk, meta, &interpreter.for_functions))?;
    match result {
        Value::Table(entries) if worked => {
            (1..=entries.raw_len()).map(|at| Ok(entry(&entries.raw_get(at)?)?)).collect()
        }
        Value::Table(error) => match error.raw_get(&interpreter.fields.err)? {
            Value::String(text) => Err(Failure::Running(text.as_bytes().to_vec())),
            _ => Err(Failure::Running(b"ERR unknown error".to_vec())),
        },
        Value::Error(error) => Err(Failure::from(*error)),
        _ => Err(Failure::Running(b"ERR unknown error".to_vec())),
    }
}

fn entry(table: &Table) -> Result<Entry> {
    let name: LuaString = table.raw_get("name")?;
    let description: Option<LuaString> = table.raw_get("description")?;
    let names: Vec<LuaString> = table.raw_get("flags")?;
    let mut flags = ScriptFlags::default();
    for name in &names {
        flags.add(&name.as_bytes());
    }
    let function = Function {
        name: (*name.as_bytes()).into(),
        description: description.map(|text| (*text.as_bytes()).into()),
        flags,
        usual: UsualTime::default(),
    };
    Ok(Entry { function, code: table.raw_get("callback")? })
}

fn prefixed(prefix: &str, text: &[u8]) -> CommandError {
    CommandError::Text([prefix.as_bytes(), text].concat())
}
