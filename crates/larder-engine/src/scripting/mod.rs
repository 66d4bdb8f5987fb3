//! Scripts: what all threads share of them, and each thread's interpreter.
//!
//! A thread compiles the scripts that it runs into a Lua state of its own; the texts are shared. `redis.call` goes the
//! way of every command from the check of its arguments on; what it writes as its reply becomes a Lua value.
//!
//! **Atomicity.** A script holds the shards of its declared keys, as every command does, so that commands on
//! other keys go on. One that touches a key it has not declared locks that shard as well at that moment
//! ([`Shards::widen_to`]), and all shards once it would hold more than 32: it has done half its work and
//! cannot start again, so everybody else gives way. That can work for one script at a time only, therefore
//! scripts take turns: a [`ScriptTurn`] is taken before the shards, and by nobody who holds one.
//!
//! **Long scripts.** After `busy-reply-threshold` ms other commands are refused with `-BUSY` (`scripts::running`); the thread of
//! the script looks after its clients now and then (`Context::rounds`), so that somebody can send SCRIPT KILL.
//!
//! [`Shards::widen_to`]: crate::keyspace::locks::Shards::widen_to
//! [`ScriptTurn`]: crate::keyspace::locks::ScriptTurn

mod api;
mod caller;
mod convert;
mod debug;
mod interpreter;
mod load;
mod outcome;
mod program;
mod run;

pub(crate) use load::{find_library, load_library};
pub(crate) use program::{Invocation, Program};
pub(crate) use run::{compile, debug_session, run};
