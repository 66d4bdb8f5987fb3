//! Commands that take long.
//!
//! A thread that serves clients gives a command that takes longer than a moment away ([`Flow::Long`]): it is executed from its beginning by a
//! thread that has nothing else to do, while the clients of the first one are served. A handler that finds out that its command is
//! long says so before it has changed anything.
//!
//! There, a reply that is long is written from a clone of the value, after the shards have been let go. And what a command makes of whole
//! values to store it, it makes from clones while no shard is held ([`Flow::Apart`]). Then the command is executed once more: if the keys
//! have not changed meanwhile, what was made is put in its place; if they have, it is made again, while they are held.
//!
//! A command of a transaction or a script is executed where it is. If the script lends its shards (`lending.rs`), they are let go meanwhile all the same.

use super::postponed::{Place, Product, Wanted};
use super::{Context, Typed};
use crate::clients::queue::{self, Watched};
use crate::context::flow::Flow;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::deadlines::is_due;
use crate::keyspace::key::Key;
use crate::keyspace::kind::{string_bytes, string_len};
use crate::keyspace::watch::Touched;
use larder_collections::key_table::ValueRef;
use larder_collections::value::Value;
use larder_packed::bytes::SharedBytes;
use larder_resp::{Args, Reply};
use std::sync::Arc;

/// Elements that a command may read or write where clients wait for their turn: about a millisecond's worth.
pub(crate) const MOMENT: u64 = 10_000;

/// Bytes of a string that take as long.
const BYTES_MOMENT: usize = 4 << 20;

/// Bytes of compressed strings that take as long to be read.
pub(crate) const COLD_BYTES_MOMENT: usize = 1 << 20;

/// Elements that are read in the time in which a segment is decompressed.
const ELEMENTS_PER_COLD_SEGMENT: u64 = 50;

/// How many elements take as long as lookups of as many in a collection with so many compressed segments.
pub(crate) fn lookups_as_elements(lookups: u64, cold_segments: usize) -> u64 {
    lookups.saturating_add(lookups.min(cold_segments as u64) * ELEMENTS_PER_COLD_SEGMENT)
}

/// How many elements take as long as this many bytes of strings.
pub(crate) fn bytes_as_elements(bytes: usize) -> u64 {
    bytes as u64 / (BYTES_MOMENT as u64 / MOMENT)
}

/// What a command may do where it is executed.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    gives_away: bool,
}

impl Moment {
    /// Gives the command away if it is about more elements than a moment is enough for. Nothing may have been changed yet.
    #[inline]
    pub(crate) fn allows(self, elements: u64) -> CommandResult {
        if self.gives_away && elements > MOMENT { Err(CommandError::Postponed) } else { Ok(()) }
    }
}

impl<'a> Context<'a> {
    /// Whether commands that take long are given away here, or are executed in a way of their own.
    pub(crate) fn place(&self) -> Place {
        if self.may_lend() {
            return Place::Lending;
        }
        let is_bound = self.in_exec || self.in_script || self.session.is_bound();
        if is_bound { Place::Only } else { self.worker.long.place }
    }

    /// The command is about this many elements: gives it away if that takes long, and this thread serves clients. Nothing may have been
    /// changed yet.
    #[inline]
    pub(crate) fn takes(&mut self, elements: u64) -> CommandResult {
        if elements > MOMENT && self.place() == Place::Serving { self.give_away() } else { Ok(()) }
    }

    /// The same for a command that from here on only reads this many elements of clones: the shards are let go if these are many.
    #[inline]
    pub(crate) fn reads(&mut self, elements: u64) -> CommandResult {
        if elements <= MOMENT {
            return Ok(());
        }
        match self.place() {
            Place::Only => {}
            Place::Serving => self.give_away()?,
            Place::Long => self.let_go(),
            // What a client has read is noted under the lock.
            Place::Lending if self.session.tracking.is_some() => {}
            Place::Lending => self.lend(),
        }
        Ok(())
    }

    /// The same for a command that walks over all keys, which are few or many.
    pub(crate) fn walks(&mut self) -> CommandResult {
        self.takes(if self.engine.is_beyond_cache() { u64::MAX } else { 0 })
    }

    /// Whether something of this many elements is made while no shard is held, by [`make`](Self::make).
    pub(crate) fn makes_apart(&self, elements: u64) -> bool {
        elements > MOMENT && self.place() != Place::Only
    }

    /// The same for a command that finds out while it has the value that it is to change.
    #[inline]
    pub(crate) fn moment(&self) -> Moment {
        Moment { gives_away: self.place() == Place::Serving }
    }

    /// How many elements the value of a key has, or how many take as long as its bytes. The key is not used by that.
    pub(crate) fn elements(&mut self, key: &Key<'_>) -> u64 {
        let db = self.db;
        let table = self.held.shard_mut(key.shard()).and_then(|data| data.table(db));
        match table.and_then(|table| table.get(key.hash, key.bytes)).map(|entry| entry.kept()) {
            Some(ValueRef::Out(value)) => match &*value {
                Value::String(bytes) => bytes_as_elements(bytes.len()),
                Value::Cold(cold) => cold.elements().max(bytes_as_elements(cold.raw_bytes())),
                value => value.elements(),
            },
            _ => 0,
        }
    }

    #[cold]
    pub(crate) fn give_away<R>(&mut self) -> CommandResult<R> {
        self.flow = Flow::Long;
        Err(CommandError::Postponed)
    }

    /// As [`read_value`](Self::read_value), for a command that reads as many elements of it as `count` says. If these are many, `f` is called
    /// with a clone after the shard has been let go.
    #[inline]
    pub(crate) fn read_long<T: Typed>(
        &mut self,
        key: &Key<'_>,
        count: impl FnOnce(&T) -> u64,
        f: impl FnOnce(Option<&T>, &mut Reply<'a>) -> CommandResult,
    ) -> CommandResult {
        let place = self.place();
        let left = self.read_value(key, |value: Option<&T>, reply| match value {
            Some(value) if place != Place::Only && count(value) > MOMENT => Ok(Some((value.clone(), f))),
            value => f(value, reply).map(|()| None),
        })?;
        let Some((value, f)) = left else { return Ok(()) };
        self.reads(u64::MAX)?;
        f(Some(&value), &mut self.reply)
    }

    /// As [`read_string`](Self::read_string), for a command that works on as many bytes of it as `count` says, in the same way.
    #[inline]
    pub(crate) fn read_long_string(
        &mut self,
        key: &Key<'_>,
        count: impl FnOnce(&[u8]) -> usize,
        f: impl FnOnce(Option<&[u8]>, &mut Reply<'a>) -> CommandResult,
    ) -> CommandResult {
        let place = self.place();
        let left = self.read(key, |entry, reply| {
            let Some(entry) = entry else { return f(None, reply).map(|()| None) };
            let value = entry.value();
            if place != Place::Only
                && let Some(bytes) = string_apart(&value).filter(|bytes| count(bytes) > BYTES_MOMENT)
            {
                return Ok(Some((bytes.clone(), f)));
            }
            f(Some(string_bytes(&value)?), reply).map(|()| None)
        })?;
        let Some((bytes, f)) = left else { return Ok(()) };
        self.reads(u64::MAX)?;
        f(Some(&bytes), &mut self.reply)
    }

    /// The string of a key, for a command that reads many and whose shards are let go before it looks at them: a compressed one stays so.
    pub(crate) fn gather_string(&mut self, key: &Key<'_>) -> Option<Value> {
        self.worker.long.leaves_cold = true;
        let value = self.read(key, |entry, _| {
            let entry = entry.filter(|entry| string_len(entry).is_ok())?;
            match entry.kept() {
                ValueRef::Out(value) => Some((*value).clone()),
                ValueRef::Inline { bytes, .. } => Some(Value::String(SharedBytes::new(bytes))),
            }
        });
        self.worker.long.leaves_cold = false;
        value
    }

    /// Replies with the string of a key, or null, for a command that goes on to change the key, and replies nothing else. A long one is
    /// written from a clone when that has been done and the shards have been let go.
    pub(crate) fn reply_before_change(&mut self, key: &Key<'_>) -> CommandResult {
        let place = self.place();
        let late = self.read(key, |entry, reply| {
            let Some(entry) = entry else {
                reply.null();
                return Ok::<_, CommandError>(None);
            };
            let value = entry.value();
            if matches!(place, Place::Serving | Place::Long)
                && let Some(bytes) = string_apart(&value).filter(|bytes| bytes.len() > BYTES_MOMENT)
            {
                return Ok(Some(bytes.clone()));
            }
            reply.bulk(string_bytes(&value)?);
            Ok(None)
        })?;
        if late.is_some() {
            if place == Place::Serving {
                self.give_away()?;
            }
            self.worker.long.late_reply = late;
        }
        Ok(())
    }

    /// Writes what has been put off by [`reply_before_change`](Self::reply_before_change), after everything else has been done.
    #[cold]
    pub(crate) fn reply_late(&mut self) {
        let Some(bytes) = self.worker.long.late_reply.take() else { return };
        self.release_shards();
        self.engine.retry_put_aside();
        self.reply.bulk(&bytes);
    }

    /// Frees something that is large before the command is answered: when the shards have been let go, if this thread can.
    pub(crate) fn free_at_last(&mut self, spent: impl Send + 'static) {
        match self.place() {
            Place::Long => self.worker.long.spent = Some(Box::new(spent)),
            Place::Lending => self.lend_meanwhile(|| drop(spent)),
            Place::Only | Place::Serving => {}
        }
    }

    /// Something made of about this many elements, which are clones of the values of `keys`. See the module's comment: the command may be executed
    /// once more after this, so it has changed nothing yet, and asks for one thing only.
    pub(crate) fn make<'k, T: Send + 'static>(
        &mut self,
        elements: u64,
        keys: impl Iterator<Item = &'k [u8]>,
        make: impl FnOnce() -> T + Send + 'static,
    ) -> CommandResult<T> {
        self.make_of(Args::new(&[], &[]), elements, keys, |_| make())
    }

    /// The same for something that is made of the command's arguments.
    pub(crate) fn make_of<'k, T: Send + 'static>(
        &mut self,
        args: Args<'_>,
        elements: u64,
        keys: impl Iterator<Item = &'k [u8]>,
        make: impl FnOnce(Args<'_>) -> T + Send + 'static,
    ) -> CommandResult<T> {
        self.make_while(args, elements, keys, |_| true, make)
    }

    /// The same for something that is not put in its place unless `holds` says that what it was made of is still the same: those who
    /// watch a key are not told of what happens to the groups of its stream.
    pub(super) fn make_while<'k, T: Send + 'static>(
        &mut self,
        args: Args<'_>,
        elements: u64,
        keys: impl Iterator<Item = &'k [u8]>,
        holds: impl FnOnce(&T) -> bool,
        make: impl FnOnce(Args<'_>) -> T + Send + 'static,
    ) -> CommandResult<T> {
        if let Some(mut made) = self.worker.long.made.take() {
            let due_ms = self.due_ms();
            let is_void = queue::is_touched(&mut self.held, &made.keys, due_ms);
            let product = made.product.take().filter(|_| !is_void);
            self.worker.long.made = Some(made);
            let product: Option<Box<T>> = product.and_then(|product| product.downcast().ok());
            let product = product.filter(|product| holds(product));
            return Ok(product.map_or_else(|| make(args), |product| *product));
        }
        // A miss that was told once would be told again.
        let place = if self.engine.wants_events(class::KEY_MISS) { Place::Only } else { self.place() };
        match place {
            Place::Serving if elements > MOMENT => self.give_away()?,
            Place::Long if elements > MOMENT => {
                let keys = self.watch_for_product(keys);
                self.worker.long.wanted =
                    Some(Wanted { keys, make: Box::new(move |args| Box::new(make(args)) as Product) });
                self.flow = Flow::Apart;
                return Err(CommandError::Postponed);
            }
            Place::Lending if elements > MOMENT => return Ok(self.lend_meanwhile(|| make(args))),
            _ => {}
        }
        Ok(make(args))
    }

    /// Has changes of keys noted from now on.
    fn watch_for_product<'k>(&mut self, names: impl Iterator<Item = &'k [u8]>) -> Vec<Watched> {
        let touched = Arc::new(Touched::default());
        names.map(|name| self.watch(&self.key(name), &touched)).collect()
    }

    /// Has changes of a key noted from now on, and marked.
    pub(crate) fn watch(&mut self, key: &Key<'_>, touched: &Arc<Touched>) -> Watched {
        let (db, due_ms) = (self.db, self.due_ms());
        let entry = self.table(key).get(key.hash, key.bytes);
        let is_overdue = entry.is_some_and(|entry| is_due(&entry, due_ms));
        self.shard(key).watched.add(db, key.bytes, touched, is_overdue);
        Watched { db, key: key.bytes.into(), touched: Arc::clone(touched) }
    }
}

/// The string of a value that has memory of its own.
fn string_apart<'v>(value: &'v ValueRef<'_, Value>) -> Option<&'v SharedBytes> {
    match value {
        ValueRef::Out(value) => match &**value {
            Value::String(bytes) => Some(bytes),
            _ => None,
        },
        ValueRef::Inline { .. } => None,
    }
}
