//! Commands that build values, as operations on one key each, which can be gathered.
//!
//! Only what is understood completely is gathered: `SET` with an expiry or none, `SETEX`, `PSETEX`, `MSET`, `RPUSH`, `LPUSH`, `SADD`,
//! `HSET`, `HMSET`, `ZADD` without options, `XADD` with a whole ID, `EXPIRE`, `PEXPIRE`, `EXPIREAT` and `PEXPIREAT` without conditions,
//! each with arguments that every server reads in the same way. All else is for the server.

use crate::mapping::part;
use larder_resp::Args;
use std::str::from_utf8;

/// What an operation does to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Op {
    /// Adds an entry to a stream: ID as twice eight bytes, then fields with values.
    AddEntry,
    /// Adds members to a set.
    AddMembers,
    /// Sets when the key expires: eight bytes, milliseconds since 1970, signed.
    ExpireAt,
    /// Prepends elements, one after the other.
    PushFront,
    /// Appends elements.
    PushBack,
    /// Sets fields: field, value, ..
    SetFields,
    /// Sets scores: score as eight bytes, member, ..
    SetScores,
    /// Sets the value of a string.
    SetString,
}

impl Op {
    /// All of them, in the order of their numbers.
    pub const ALL: [Op; 8] = [
        Op::AddEntry,
        Op::AddMembers,
        Op::ExpireAt,
        Op::PushFront,
        Op::PushBack,
        Op::SetFields,
        Op::SetScores,
        Op::SetString,
    ];
}

/// Appends an operation: its head (number, offset u64, number of parts u32), and its parts.
fn write<'a>(to: &mut Vec<u8>, op: Op, offset: u64, parts: impl ExactSizeIterator<Item = &'a [u8]>) {
    let mut head = [0; 13];
    head[0] = op as u8;
    head[1..9].copy_from_slice(&offset.to_le_bytes());
    head[9..].copy_from_slice(&(parts.len() as u32).to_le_bytes());
    part(to, &head);
    parts.for_each(|bytes| part(to, bytes));
}

/// What a command does to its key, the first argument, if all arguments after that are taken as they are.
pub fn plain_op(args: Args<'_>) -> Option<Op> {
    let (name, rest) = (args.get(0)?, args.len() - 1);
    let is = |word: &[u8]| name.eq_ignore_ascii_case(word);
    let has_pairs = rest >= 3 && !rest.is_multiple_of(2);
    match name.len() {
        3 if rest == 2 && is(b"SET") => Some(Op::SetString),
        4 if has_pairs && is(b"HSET") => Some(Op::SetFields),
        4 if rest >= 2 && is(b"SADD") => Some(Op::AddMembers),
        5 if rest >= 2 && is(b"RPUSH") => Some(Op::PushBack),
        5 if rest >= 2 && is(b"LPUSH") => Some(Op::PushFront),
        5 if has_pairs && is(b"HMSET") => Some(Op::SetFields),
        _ => None,
    }
}

/// Calls `each` with every key of a command and what is done to it, as [`crate::replay`] reads it; false, without a call, if the command is
/// none of those that are understood. `offset` is where it stands, `now_ms` what its times count from; `done` is room to work in.
pub fn understand(
    args: Args<'_>,
    (offset, now_ms): (u64, u64),
    done: &mut Vec<u8>,
    each: &mut dyn FnMut(&[u8], &[u8]),
) -> bool {
    if let Some(op) = plain_op(args) {
        done.clear();
        write(done, op, offset, args.from(2).iter());
        each(args.at(1), done);
        return true;
    }
    let mut room = [0; 16];
    let Some(name) = args.get(0).filter(|name| name.len() <= room.len()) else { return false };
    let name = &mut room[..name.len()];
    name.copy_from_slice(args.at(0));
    name.make_ascii_uppercase();
    done.clear();
    let rest = args.len() - 1;
    let key = args.get(1).unwrap_or_default();
    let is_known = match &*name {
        b"SET" => set(args, offset, now_ms, done),
        b"SETEX" | b"PSETEX" if rest == 3 => {
            let unit = if &*name == b"SETEX" { 1000 } else { 1 };
            expiry(args.at(2), unit, now_ms).filter(|_| positive(args.at(2))).map(|at| {
                write(done, Op::SetString, offset, [args.at(3)].into_iter());
                write(done, Op::ExpireAt, offset, [&at.to_le_bytes()[..]].into_iter());
            })
        }
        b"MSET" if rest >= 2 && rest.is_multiple_of(2) => {
            for at in (1..args.len()).step_by(2) {
                done.clear();
                write(done, Op::SetString, offset, [args.at(at + 1)].into_iter());
                each(args.at(at), done);
            }
            return true;
        }
        b"ZADD" if rest >= 3 && !rest.is_multiple_of(2) => scores(args, offset, done),
        b"XADD" if rest >= 4 && rest.is_multiple_of(2) => entry_id(args.at(2)).map(|id| {
            let fields = args.from(3);
            let parts: Vec<&[u8]> = std::iter::once(&id[..]).chain(fields.iter()).collect();
            write(done, Op::AddEntry, offset, parts.into_iter());
        }),
        b"EXPIRE" | b"PEXPIRE" | b"EXPIREAT" | b"PEXPIREAT" if rest == 2 => {
            let unit = if name[0] == b'P' { 1 } else { 1000 };
            let from = if name.ends_with(b"AT") { 0 } else { now_ms };
            expiry(args.at(2), unit, from)
                .map(|at| write(done, Op::ExpireAt, offset, [&at.to_le_bytes()[..]].into_iter()))
        }
        _ => None,
    };
    if is_known.is_some() {
        each(key, done);
    }
    is_known.is_some()
}

fn set(args: Args<'_>, offset: u64, now_ms: u64, done: &mut Vec<u8>) -> Option<()> {
    let at = match args.len() {
        5 => {
            let (unit, from) = match args.at(3).to_ascii_uppercase().as_slice() {
                b"EX" => (1000, now_ms),
                b"PX" => (1, now_ms),
                b"EXAT" => (1000, 0),
                b"PXAT" => (1, 0),
                _ => return None,
            };
            expiry(args.at(4), unit, from).filter(|_| positive(args.at(4)))?
        }
        _ => return None,
    };
    write(done, Op::SetString, offset, [args.at(2)].into_iter());
    write(done, Op::ExpireAt, offset, [&at.to_le_bytes()[..]].into_iter());
    Some(())
}

fn scores(args: Args<'_>, offset: u64, done: &mut Vec<u8>) -> Option<()> {
    let scores: Vec<[u8; 8]> =
        args.from(2).iter().step_by(2).map(|text| Some(score(text)?.to_le_bytes())).collect::<Option<_>>()?;
    let members = args.from(3);
    let members = members.iter().step_by(2);
    let parts: Vec<&[u8]> =
        scores.iter().zip(members).flat_map(|(score, member)| [&score[..], member]).collect();
    write(done, Op::SetScores, offset, parts.into_iter());
    Some(())
}

/// A whole number in the one way of writing it: the only one that all commands take.
fn integer(text: &[u8]) -> Option<i64> {
    let number: i64 = from_utf8(text).ok()?.parse().ok()?;
    (itoa::Buffer::new().format(number).as_bytes() == text).then_some(number)
}

fn positive(text: &[u8]) -> bool {
    integer(text).is_some_and(|number| number > 0)
}

/// A time in milliseconds: this number of units, each of `unit_ms`, after `from_ms`.
fn expiry(text: &[u8], unit_ms: i64, from_ms: u64) -> Option<i64> {
    integer(text)?.checked_mul(unit_ms)?.checked_add(i64::try_from(from_ms).ok()?)
}

/// A score of decimal digits, or infinity, as all servers read it.
fn score(text: &[u8]) -> Option<f64> {
    let number: f64 = from_utf8(text).ok()?.parse().ok()?;
    let has_digits = text.iter().any(u8::is_ascii_digit);
    let is_in_range = number.is_normal() || number == 0.0 && !text.iter().any(|b| (b'1'..=b'9').contains(b));
    let is_infinite = !has_digits && number.is_infinite();
    (is_infinite || has_digits && is_in_range).then_some(number)
}

/// The ID of an entry, above 0-0, in sixteen bytes.
fn entry_id(text: &[u8]) -> Option<[u8; 16]> {
    let (ms, seq) = from_utf8(text).ok()?.split_once('-')?;
    let number = |text: &str| {
        let number: u64 = text.parse().ok()?;
        (itoa::Buffer::new().format(number) == text).then_some(number)
    };
    let (ms, seq) = (number(ms)?, number(seq)?);
    let mut id = [0; 16];
    id[..8].copy_from_slice(&ms.to_le_bytes());
    id[8..].copy_from_slice(&seq.to_le_bytes());
    ((ms, seq) != (0, 0)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_resp::OwnedArgs;

    fn keys(line: &str) -> Option<Vec<String>> {
        let args: OwnedArgs = line.split(' ').map(str::as_bytes).collect();
        let mut keys = Vec::new();
        let is_known = understand(args.as_args(), (0, 1000), &mut Vec::new(), &mut |key, _| {
            keys.push(String::from_utf8_lossy(key).into_owned());
        });
        is_known.then_some(keys)
    }

    #[test]
    fn what_is_understood() {
        for line in [
            "SET a b",
            "set a b ex 5",
            "SET a b PXAT 5",
            "SETEX a 5 b",
            "RPUSH a x y",
            "LPUSH a x",
            "SADD a x",
            "HSET a f v g w",
            "HMSET a f v",
            "ZADD a 1 x -2.5e3 y inf z -inf w 0 v -0.0 u",
            "XADD a 1-1 f v",
            "EXPIRE a -5",
            "PEXPIREAT a 99",
        ] {
            assert_eq!(keys(line), Some(vec!["a".to_owned()]), "{line}");
        }
        assert_eq!(keys("MSET a 1 b 2"), Some(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn what_is_left_to_the_server() {
        for line in [
            "GET a",
            "SET a",
            "SET a b NX",
            "SET a b EX 0",
            "SET a b EX -1",
            "SET a b EX x",
            "SET a b EX 05",
            "SET a b EX 9223372036854775807",
            "SET a b KEEPTTL",
            "SET a b EX 5 NX",
            "SETEX a 0 b",
            "MSET a",
            "RPUSH a",
            "HSET a f",
            "HSET a f v g",
            "ZADD a NX 1 x",
            "ZADD a 1",
            "ZADD a nan x",
            "ZADD a 1e400 x",
            "ZADD a 1e-400 x",
            "ZADD a 0x10 x",
            "ZADD a x x",
            "XADD a * f v",
            "XADD a 5 f v",
            "XADD a 5-* f v",
            "XADD a 0-0 f v",
            "XADD a 05-1 f v",
            "XADD a 1-1 f",
            "XADD a MAXLEN 5 1-1 f v",
            "EXPIRE a 5 NX",
            "EXPIRE a 9223372036854775807",
            "DEL a",
            "AVERYLONGNAMEOFACOMMAND a b",
        ] {
            assert_eq!(keys(line), None, "{line}");
        }
    }
}
