//! Checks in debug builds that the log says what happened: after each unit, a command or a transaction, the effects are replayed
//! on a copy of the data before it, and must give the data after it, deadlines included (rule E1 of `aof/effects.rs`).
//!
//! The copy is of the shards that the unit holds: clones of values, O(1) each, so O(keys in them). It is replayed in an
//! engine of its own, which each thread has. Units on shards with more than [`KEYS_MAX`] keys are not checked, nor scripts and
//! transactions that have reserved keys and released their shards, nor scripts that keep effects from the log.
//!
//! A difference ends the process with a report of the keys and the effects.
//!
//! Off unless [`Engine::check_units`] is called: the server does so if the environment has `LARDER_CHECK_UNITS`.

use crate::aof::effects::Effects;
use crate::engine::Engine;
use crate::engine::unit_check::{Checked, UnitCheck};
use crate::keyspace::key::{Key, SHARDS};
use crate::keyspace::locks::Held;
use crate::keyspace::shard::ShardData;
use crate::ledger::aside;
use crate::snapshot::load::Replay;
use larder_collections::key_table::{Captured, Entry, ExpireChange, NewValue, OwnedValue, ValueRef};
use larder_collections::stream::{Group, Order, Stream, StreamId};
use larder_collections::value::Value;
use larder_resp::{Limits, OwnedArgs, Parsed, Parser};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::{Arc, Weak};

/// Units on shards with more keys than this are not checked.
const KEYS_MAX: usize = 3_000;

impl Engine {
    /// Checks every unit from now on.
    pub fn check_units(self: &Arc<Self>) {
        let check = Check { engine: Arc::downgrade(self) };
        assert!(self.unit_check.set(Box::new(check)).is_ok(), "units are checked by one");
    }
}

/// The check of an engine's units.
struct Check {
    engine: Weak<Engine>,
}

/// A key of a database.
type Name = (usize, Box<[u8]>);

/// What a thread knows of the unit under way.
#[derive(Default)]
struct Unit {
    /// Shards that have been copied.
    shards: Vec<usize>,
    before: BTreeMap<Name, Captured<Value>>,
    is_too_large: bool,
    /// The effects: for the file if that is written, else for replicas.
    effects: Vec<(usize, Vec<u8>)>,
}

thread_local! {
    static UNIT: RefCell<Option<Unit>> = const { RefCell::new(None) };
    static COPY: RefCell<Option<(Arc<Engine>, Replay)>> = const { RefCell::new(None) };
}

impl UnitCheck for Check {
    fn begin(&self, held: &mut Held<'_>) {
        let Some(engine) = self.engine.upgrade() else { return };
        if !engine.append_log.wants_effects() {
            return;
        }
        UNIT.with_borrow_mut(|unit| {
            let unit = unit.get_or_insert_default();
            for (at, data) in held.each_mut() {
                unit.copy(at, data);
            }
        });
    }

    fn note(&self, effects: &Effects) {
        let Some(engine) = self.engine.upgrade() else { return };
        UNIT.with_borrow_mut(|unit| {
            let Some(unit) = unit else { return };
            let note = |(db, command): (usize, &[u8])| unit.effects.push((db, command.to_vec()));
            match engine.append_log.is_on() {
                true => effects.for_file().for_each(note),
                false => effects.for_stream().for_each(note),
            }
        });
    }

    fn end(&self, held: &mut Held<'_>, outcome: Checked) {
        let (Some(unit), Some(engine)) = (UNIT.take(), self.engine.upgrade()) else { return };
        let Checked::At { wall_us } = outcome else { return };
        if unit.is_too_large {
            return;
        }
        let mut after = BTreeMap::new();
        for (at, data) in held.each_mut().filter(|(at, _)| unit.shards.contains(at)) {
            assert!(at < SHARDS, "a shard");
            each_entry(data, |db, entry| {
                after.insert((db, entry.key().into()), describe(&entry));
            });
        }
        let replayed = aside(|| replay(&engine, &unit, wall_us));
        if let Some(report) = difference(&after, &replayed) {
            let effects: Vec<String> =
                unit.effects.iter().map(|(db, command)| format!("db {db}: {}", readable(command))).collect();
            panic!("the log does not say what happened\n{report}effects:\n{}\n", effects.join("\n"));
        }
    }
}

impl Unit {
    fn copy(&mut self, at: usize, data: &ShardData) {
        if self.shards.contains(&at) || self.is_too_large {
            return;
        }
        self.shards.push(at);
        each_entry(data, |db, entry| {
            self.before.insert((db, entry.key().into()), Captured::of(&entry));
        });
        self.is_too_large = self.before.len() > KEYS_MAX;
    }
}

fn each_entry<'d>(data: &'d ShardData, mut each: impl FnMut(usize, Entry<'d, Value>)) {
    for (db, table) in data.tables().iter().enumerate() {
        table.iter().for_each(|entry| each(db, entry));
    }
}

/// What the data is after the effects of a unit have been replayed on what it was before.
fn replay(engine: &Engine, unit: &Unit, wall_us: u64) -> BTreeMap<Name, String> {
    COPY.with_borrow_mut(|copy| {
        let (copy, replay) = copy.get_or_insert_with(|| {
            let copy = engine.without_data();
            let replay = Replay::new(&copy);
            (copy, replay)
        });
        for at in 0..SHARDS {
            *copy.shards.lock_now(at).expect("the copy is this thread's") = ShardData::default();
        }
        for ((db, name), captured) in &unit.before {
            put(copy, *db, name, captured);
        }
        replay.tick_not_before(wall_us);
        for (db, command) in &unit.effects {
            run(replay, format!("*2\r\n$6\r\nSELECT\r\n${}\r\n{db}\r\n", db.to_string().len()).as_bytes());
            run(replay, command);
        }
        let mut all = BTreeMap::new();
        for &at in &unit.shards {
            let data = copy.shards.lock_now(at).expect("the copy is this thread's");
            each_entry(&data, |db, entry| {
                all.insert((db, entry.key().into()), describe(&entry));
            });
        }
        all
    })
}

fn put(engine: &Engine, db: usize, name: &[u8], captured: &Captured<Value>) {
    let key = Key::of(name);
    let value = match &captured.value {
        OwnedValue::Inline { kind, bytes } => NewValue::Inline { kind: *kind, bytes },
        OwnedValue::Out(value) => NewValue::Out(value.clone()),
    };
    let expire = captured.expire_at_ms.map_or(ExpireChange::Clear, ExpireChange::At);
    let mut data = engine.shards.lock_now(key.shard()).expect("the copy is this thread's");
    data.table_mut(db).put(key.hash, name, value, expire, captured.access);
}

fn run(replay: &mut Replay, command: &[u8]) {
    let limits = Limits { bulk_bytes_max: u64::MAX >> 1, authenticated: true };
    let mut parser = Parser::new();
    match parser.next(command, &limits) {
        Ok(Parsed::Command { args, .. }) => {
            let args: OwnedArgs = args.iter().collect();
            if let Err(error) = replay.execute(args.as_args()) {
                panic!("an effect is no command: {error}: {}", readable(command));
            }
        }
        _ => panic!("an effect is no command: {}", readable(command)),
    }
}

/// What differs, if anything does.
fn difference(after: &BTreeMap<Name, String>, replayed: &BTreeMap<Name, String>) -> Option<String> {
    let mut report = String::new();
    let names = after.keys().chain(replayed.keys().filter(|name| !after.contains_key(name)));
    for name in names {
        let (here, there) = (after.get(name), replayed.get(name));
        if here != there {
            let absent = || "absent".to_owned();
            let _ = writeln!(
                report,
                "db {} key {}:\n  here     {}\n  replayed {}",
                name.0,
                name.1.escape_ascii(),
                here.cloned().unwrap_or_else(absent),
                there.cloned().unwrap_or_else(absent),
            );
        }
    }
    (!report.is_empty()).then_some(report)
}

/// A key's value and deadlines in a form that does not depend on how they came to be. Left out is what no effect carries: when
/// keys and consumers were last used.
fn describe(entry: &Entry<'_, Value>) -> String {
    let mut text = match entry.value() {
        ValueRef::Inline { bytes, .. } => format!("string {}", bytes.escape_ascii()),
        ValueRef::Out(value) => match &*value {
            Value::String(bytes) => format!("string {}", bytes.escape_ascii()),
            Value::Cold(_) => unreachable!("the value is as it is used"),
            Value::List(list) => {
                let (mut text, mut number) = ("list".to_owned(), itoa::Buffer::new());
                let _ = list.for_each_range::<()>(0, list.len(), |element| {
                    let bytes = crate::context::replies::element_bytes(&element, &mut number);
                    let _ = write!(text, " {}", bytes.escape_ascii());
                    ControlFlow::Continue(())
                });
                text
            }
            Value::Hash(hash) => sorted(
                "hash",
                hash.peeks(0).map(|field| {
                    let until = field.expire_at_ms().map_or(String::new(), |at| format!(" until {at}"));
                    format!("{}={}{until}", field.name().escape_ascii(), field.value().escape_ascii())
                }),
            ),
            Value::Set(set) => sorted(
                "set",
                set.looks()
                    .map(|member| member.element().with_bytes(|bytes| bytes.escape_ascii().to_string())),
            ),
            Value::SortedSet(set) => {
                let mut text = "sorted set".to_owned();
                set.for_each(|score, member| {
                    let _ = write!(text, " {score:?} {}", member.escape_ascii());
                });
                text
            }
            Value::Stream(stream) => describe_stream(stream),
        },
    };
    if let Some(at) = entry.expire_at_ms() {
        let _ = write!(text, " until {at}");
    }
    text
}

fn sorted(kind: &str, parts: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = parts.collect();
    parts.sort();
    format!("{kind} {}", parts.join(" "))
}

fn describe_stream(stream: &Stream) -> String {
    let mut text = format!(
        "stream last {:?} deleted {:?} added {}",
        stream.last_id(),
        stream.max_deleted_id(),
        stream.entries_added()
    );
    stream.range::<()>(StreamId::ZERO, StreamId::MAX, Order::Ascending, |entry| {
        let _ = write!(text, " {:?}:", entry.id);
        entry.for_each(|field, value| {
            field.with_bytes(|field| {
                value.with_bytes(|value| {
                    let _ = write!(text, " {}={}", field.escape_ascii(), value.escape_ascii());
                });
            });
        });
        ControlFlow::Continue(())
    });
    stream.groups().for_each(|group| describe_group(group, &mut text));
    text
}

fn describe_group(group: &Group, text: &mut String) {
    let _ = write!(
        text,
        " group {} at {:?} read {:?}",
        group.name().escape_ascii(),
        group.last_id,
        group.entries_read
    );
    let mut names: Vec<String> =
        group.consumers().map(|(_, consumer)| consumer.name().escape_ascii().to_string()).collect();
    names.sort();
    let _ = write!(text, " consumers {names:?}");
    group.for_each_pending(StreamId::ZERO, |pending| {
        let owner = group.consumer(pending.consumer).name().escape_ascii().to_string();
        let _ = write!(text, " pending {:?} {owner} {} {}", pending.id, pending.time_ms, pending.count);
        ControlFlow::Continue(())
    });
}

/// A command on one line.
fn readable(command: &[u8]) -> String {
    command.escape_ascii().to_string()
}
