//! The keys of one writer, and what commands do to them.

use larder_testkit::{Client, Value, words};
use std::collections::BTreeMap;

/// How old the time of day may be by which a busy server judges a deadline.
const OLD_MS: u64 = 100;

/// A deadline far away.
pub const FAR_MS: u64 = 10_000_000;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    Count(i64),
    List(Vec<i64>),
    /// Fields with their values and deadlines. Field 0 never has a deadline.
    Hash(BTreeMap<u8, (i64, Option<u64>)>),
}

/// A value and the deadline of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub data: Data,
    pub deadline: Option<u64>,
}

/// All keys of a writer.
pub type Keys = BTreeMap<String, Entry>;

/// A command on one key. Deadlines are absolute.
#[derive(Clone, Debug)]
pub enum Op {
    Incr,
    Set(i64, Option<u64>),
    GetEx(Option<u64>),
    Push(i64),
    FieldIncr(u8),
    FieldSet(u8, i64, u64),
    FieldExpire(u8, u64),
    FieldGetEx(u8, u64),
    FieldPersist(u8),
    Expire(u64),
    Persist,
    Delete,
}

impl Op {
    /// The words of the command.
    pub fn line(&self, key: &str) -> String {
        match self {
            Op::Incr => format!("INCR {key}"),
            Op::Set(value, None) => format!("SET {key} {value}"),
            Op::Set(value, Some(deadline)) => format!("SET {key} {value} PXAT {deadline}"),
            Op::GetEx(None) => format!("GETEX {key} PERSIST"),
            Op::GetEx(Some(deadline)) => format!("GETEX {key} PXAT {deadline}"),
            Op::Push(value) => format!("RPUSH {key} {value}"),
            Op::FieldIncr(field) => format!("HINCRBY {key} {field} 1"),
            Op::FieldSet(field, value, deadline) => {
                format!("HSETEX {key} PXAT {deadline} FIELDS 1 {field} {value}")
            }
            Op::FieldExpire(field, deadline) => format!("HPEXPIREAT {key} {deadline} FIELDS 1 {field}"),
            Op::FieldGetEx(field, deadline) => format!("HGETEX {key} PXAT {deadline} FIELDS 1 {field}"),
            Op::FieldPersist(field) => format!("HPERSIST {key} FIELDS 1 {field}"),
            Op::Expire(deadline) => format!("PEXPIREAT {key} {deadline}"),
            Op::Persist => format!("PERSIST {key}"),
            Op::Delete => format!("DEL {key}"),
        }
    }

    /// The field that it is about.
    fn field(&self) -> Option<u8> {
        match self {
            Op::FieldIncr(field)
            | Op::FieldSet(field, ..)
            | Op::FieldExpire(field, _)
            | Op::FieldGetEx(field, _)
            | Op::FieldPersist(field) => Some(*field),
            _ => None,
        }
    }

    /// Executes it at a time; returns its reply. Other fields than its own are not judged: their deadlines may be so near that the
    /// server sees them in another way.
    pub fn apply(&self, keys: &mut Keys, key: &str, now: u64) -> Value {
        match (self.field(), keys.get_mut(key)) {
            (Some(field), Some(Entry { data: Data::Hash(fields), deadline })) if !is_over(*deadline, now) => {
                if fields.get(&field).is_some_and(|(_, deadline)| is_over(*deadline, now)) {
                    fields.remove(&field);
                }
            }
            _ => drop_expired(keys, key, now),
        }
        let entry = keys.get_mut(key);
        match (self, entry) {
            (Op::Delete, entry) => {
                let is_there = entry.is_some();
                keys.remove(key);
                Value::Int(i64::from(is_there))
            }
            (Op::Set(value, deadline), _) => {
                keys.insert(key.to_owned(), Entry { data: Data::Count(*value), deadline: *deadline });
                Value::Simple("OK".to_owned())
            }
            (Op::Expire(_) | Op::Persist, None) => Value::Int(0),
            (Op::GetEx(_), None) => Value::NullBulk,
            (Op::Expire(deadline), Some(entry)) => {
                entry.deadline = Some(*deadline);
                Value::Int(1)
            }
            (Op::Persist, Some(entry)) => Value::Int(i64::from(entry.deadline.take().is_some())),
            (Op::GetEx(deadline), Some(entry)) => {
                entry.deadline = *deadline;
                let Data::Count(value) = &entry.data else { panic!("types keep to their keys") };
                Value::Bulk(value.to_string().into_bytes())
            }
            (Op::Incr | Op::Push(_), _) => self.add(keys, key),
            (_, _) => self.apply_to_field(keys, key, now),
        }
    }

    fn add(&self, keys: &mut Keys, key: &str) -> Value {
        let entry = keys.entry(key.to_owned()).or_insert_with(|| {
            let data = if let Op::Incr = self { Data::Count(0) } else { Data::List(Vec::new()) };
            Entry { data, deadline: None }
        });
        match (self, &mut entry.data) {
            (Op::Incr, Data::Count(value)) => {
                *value += 1;
                Value::Int(*value)
            }
            (Op::Push(value), Data::List(values)) => {
                values.push(*value);
                Value::Int(i64::try_from(values.len()).expect("a short list"))
            }
            (op, data) => panic!("types keep to their keys: {op:?} of {data:?}"),
        }
    }

    fn apply_to_field(&self, keys: &mut Keys, key: &str, now: u64) -> Value {
        let is_created = matches!(self, Op::FieldIncr(_) | Op::FieldSet(..));
        if !keys.contains_key(key) && is_created {
            keys.insert(key.to_owned(), Entry { data: Data::Hash(BTreeMap::new()), deadline: None });
        }
        let mut none = BTreeMap::new();
        let fields = match keys.get_mut(key).map(|entry| &mut entry.data) {
            Some(Data::Hash(fields)) => fields,
            None => &mut none,
            Some(data) => panic!("types keep to their keys: {data:?}"),
        };
        let one = |value: Value| Value::Array(vec![value]);
        match self {
            Op::FieldIncr(field) => {
                let (value, _) = fields.entry(*field).or_insert((0, None));
                *value += 1;
                Value::Int(*value)
            }
            Op::FieldSet(field, value, deadline) => {
                fields.insert(*field, (*value, Some(*deadline)));
                Value::Int(1)
            }
            Op::FieldExpire(field, deadline) if *deadline <= now && fields.remove(field).is_some() => {
                one(Value::Int(2))
            }
            Op::FieldExpire(field, deadline) => match fields.get_mut(field) {
                Some((_, of_field)) => {
                    *of_field = Some(*deadline);
                    one(Value::Int(1))
                }
                None => one(Value::Int(-2)),
            },
            Op::FieldGetEx(field, deadline) => match fields.get_mut(field) {
                Some((value, of_field)) => {
                    *of_field = Some(*deadline);
                    one(Value::Bulk(value.to_string().into_bytes()))
                }
                None => one(Value::NullBulk),
            },
            Op::FieldPersist(field) => match fields.get_mut(field) {
                Some((_, of_field)) => one(Value::Int(if of_field.take().is_some() { 1 } else { -1 })),
                None => one(Value::Int(-2)),
            },
            other => panic!("{other:?} is no command of a field"),
        }
    }
}

/// Whether a deadline has passed.
fn is_over(deadline: Option<u64>, now: u64) -> bool {
    deadline.is_some_and(|deadline| now > deadline)
}

/// Drops what has expired of a key.
fn drop_expired(keys: &mut Keys, key: &str, now: u64) {
    let Some(entry) = keys.get_mut(key) else { return };
    let mut is_gone = is_over(entry.deadline, now);
    if let Data::Hash(fields) = &mut entry.data {
        fields.retain(|_, (_, deadline)| !is_over(*deadline, now));
        is_gone |= fields.is_empty();
    }
    if is_gone {
        keys.remove(key);
    }
}

/// The times that may make a difference to a key between two others.
pub fn times(keys: &Keys, key: &str, before: u64, after: u64) -> Vec<u64> {
    let from = before - OLD_MS;
    let mut times = vec![before, from, after];
    if let Some(entry) = keys.get(key) {
        let mut deadlines: Vec<u64> = entry.deadline.into_iter().collect();
        if let Data::Hash(fields) = &entry.data {
            deadlines.extend(fields.values().filter_map(|(_, deadline)| *deadline));
        }
        let near = deadlines.into_iter().flat_map(|deadline| [deadline, deadline + 1]);
        times.extend(near.filter(|time| (from..=after).contains(time)));
    }
    times
}

/// What a server says of a key: its value and deadlines, as the model shows them.
pub fn read(client: &mut Client, key: &str) -> String {
    let kind = key.split(':').nth(1).unwrap_or_default();
    let value = match kind.as_bytes().first() {
        Some(b's') => format!("GET {key}"),
        Some(b'h') => format!("HMGET {key} 0 1 2 3"),
        _ => format!("LRANGE {key} 0 -1"),
    };
    let mut lines = vec!["MULTI".to_owned(), value, format!("PEXPIRETIME {key}")];
    if kind.starts_with('h') {
        lines.push(format!("HPEXPIRETIME {key} FIELDS 4 0 1 2 3"));
    }
    lines.push("EXEC".to_owned());
    lines.iter().for_each(|line| client.send(&words(line)));
    let replies: Vec<Value> = lines.iter().map(|_| client.read().expect("the server answers")).collect();
    let Some(Value::Array(mut items)) = replies.into_iter().last() else { panic!("EXEC is answered") };
    // A hash whose last field has expired is there until it is deleted.
    if kind.starts_with('h') && items[0].items().iter().all(|value| *value == Value::NullBulk) {
        items[1] = Value::Int(-2);
    }
    Value::Array(items).to_string()
}

/// What a server must say of a key at a time.
pub fn expected(keys: &Keys, key: &str, now: u64) -> String {
    let mut keys = keys.clone();
    drop_expired(&mut keys, key, now);
    let entry = keys.get(key);
    let time = |deadline: Option<u64>| {
        Value::Int(deadline.map_or(-1, |deadline| i64::try_from(deadline).expect("a time of day")))
    };
    let deadline = entry.map_or(Value::Int(-2), |entry| time(entry.deadline));
    let bulk = |value: &i64| Value::Bulk(value.to_string().into_bytes());
    let kind = key.split(':').nth(1).unwrap_or_default();
    let items = match (kind.as_bytes().first(), entry.map(|entry| &entry.data)) {
        (Some(b'h'), data) => {
            let none = BTreeMap::new();
            let fields = if let Some(Data::Hash(fields)) = data { fields } else { &none };
            let values =
                (0..4).map(|field| fields.get(&field).map_or(Value::NullBulk, |(value, _)| bulk(value)));
            let times = (0..4)
                .map(|field| fields.get(&field).map_or(Value::Int(-2), |(_, deadline)| time(*deadline)));
            vec![Value::Array(values.collect()), deadline, Value::Array(times.collect())]
        }
        (Some(b's'), Some(Data::Count(value))) => vec![bulk(value), deadline],
        (Some(b's'), _) => vec![Value::NullBulk, deadline],
        (_, Some(Data::List(values))) => vec![Value::Array(values.iter().map(bulk).collect()), deadline],
        _ => vec![Value::Array(Vec::new()), deadline],
    };
    Value::Array(items).to_string()
}
