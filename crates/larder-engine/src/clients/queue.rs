//! The commands of a transaction that wait for EXEC, and the keys that it depends on.

use crate::command::spec::{Command, Found, Scope, flags};
use crate::keyspace::deadlines::is_due;
use crate::keyspace::key::Key;
use crate::keyspace::locks::Held;
use crate::keyspace::watch::Touched;
use larder_resp::OwnedArgs;
use std::sync::Arc;

/// The commands of a transaction.
#[derive(Default)]
pub struct Queue {
    pub(crate) commands: Vec<(Found, OwnedArgs)>,
    /// A command was refused: EXEC will refuse as well.
    pub(crate) poisoned: bool,
    /// All flags that any command has, and those that any lacks.
    flags: u32,
    lacking: u32,
    pub(crate) bytes: usize,
    /// Bytes of the arguments alone.
    argument_bytes: usize,
    /// The database that is selected after the commands so far, if one of them selects one.
    pub(crate) db: Option<usize>,
}

impl Queue {
    /// Whether any command runs a script.
    pub(crate) fn has_scripts(&self) -> bool {
        self.commands.iter().any(|(found, _)| found.command.scope == Scope::Script)
    }

    /// Whether something is true of any command.
    pub(crate) fn any(&self, is: impl Fn(&Command) -> bool) -> bool {
        self.commands.iter().any(|(found, _)| is(found.command))
    }

    /// Adds a command, of which these flags hold as it is called.
    pub(crate) fn push(&mut self, found: Found, args: OwnedArgs, flags: u32) {
        self.flags |= flags;
        self.lacking |= !flags;
        self.bytes += args.heap_bytes();
        self.argument_bytes += args.as_args().iter().map(<[u8]>::len).sum::<usize>();
        self.commands.push((found, args));
    }

    /// Forgets the commands: EXEC will refuse.
    pub(crate) fn poison(&mut self) {
        *self = Queue { poisoned: true, ..Queue::default() };
    }

    /// The flags that any command has.
    pub(crate) fn flags(&self) -> u32 {
        self.flags
    }

    /// Bytes of all arguments.
    pub(crate) fn argument_bytes(&self) -> usize {
        self.argument_bytes
    }

    /// Whether all commands may run on a replica without a link, when `replica-serve-stale-data` says no.
    pub(crate) fn all_while_stale(&self) -> bool {
        self.lacking & flags::STALE == 0
    }

    /// Whether any command writes.
    pub(crate) fn has_writes(&self) -> bool {
        self.flags & flags::WRITE != 0
    }

    /// Whether any command may need memory.
    pub(crate) fn needs_room(&self) -> bool {
        self.flags & flags::DENYOOM != 0
    }
}

/// A key that the next transaction depends on.
pub struct Watched {
    pub(crate) db: usize,
    pub(crate) key: Box<[u8]>,
    pub(crate) touched: Arc<Touched>,
}

/// Whether a watched key was changed, or its time is over. The keys' shards are held.
pub(crate) fn is_touched(held: &mut Held<'_>, watched: &[Watched], due_ms: u64) -> bool {
    watched.iter().any(|w| {
        let key = Key::of(&w.key);
        let shard = held.shard_mut(key.shard()).expect("the shards of watched keys are held");
        let entry = shard.table(w.db).and_then(|table| table.get(key.hash, key.bytes));
        let is_over = entry.is_some_and(|entry| is_due(&entry, due_ms));
        w.touched.is_set() || is_over && !shard.watched.is_overdue(w.db, &w.key, &w.touched)
    })
}
