//! BITFIELD and BITFIELD_RO: integers of any width at any bit.

use super::bit_offset;
use super::overflow::{Overflow, Type};
use crate::context::Context;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use crate::text::word::is_word;
use larder_packed::bits;
use larder_resp::{Args, Reply};

/// One operation of a command.
struct Operation {
    kind: Type,
    offset: u64,
    what: What,
}

enum What {
    Get,
    Set(i64, Overflow),
    Increment(i64, Overflow),
}

pub(super) fn bitfield(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let operations = parse(context, args)?;
    if operations.iter().all(Operation::only_reads) {
        read(context, args, &operations)
    } else {
        write(context, args, &operations)
    }
}

pub(super) fn bitfield_ro(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let operations = parse(context, args)?;
    if !operations.iter().all(Operation::only_reads) {
        return Err(CommandError::Fixed("ERR BITFIELD_RO only supports the GET subcommand"));
    }
    read(context, args, &operations)
}

fn parse(context: &Context<'_>, args: Args<'_>) -> CommandResult<Vec<Operation>> {
    let mut operations = Vec::new();
    let mut overflow = Overflow::Wrap;
    let mut at = 2;
    while let Some(word) = args.get(at) {
        let left = args.len() - at - 1;
        if is_word(word, "overflow") && left >= 1 {
            overflow = parse_overflow(&args[at + 1])?;
            at += 2;
            continue;
        }
        let takes = if is_word(word, "get") { 2 } else { 3 };
        let is_known = takes == 2 || is_word(word, "set") || is_word(word, "incrby");
        if !is_known || left < takes {
            return Err(CommandError::SYNTAX);
        }
        let kind = parse_type(&args[at + 1])?;
        let offset = bit_offset(context, &args[at + 2], Some(kind.width))?;
        let what = if takes == 2 {
            What::Get
        } else {
            let number = number::integer(&args[at + 3])?;
            if is_word(word, "set") { What::Set(number, overflow) } else { What::Increment(number, overflow) }
        };
        operations.push(Operation { kind, offset, what });
        at += 1 + takes;
    }
    Ok(operations)
}

fn parse_overflow(word: &[u8]) -> CommandResult<Overflow> {
    match word {
        _ if is_word(word, "wrap") => Ok(Overflow::Wrap),
        _ if is_word(word, "sat") => Ok(Overflow::Saturate),
        _ if is_word(word, "fail") => Ok(Overflow::Fail),
        _ => Err(CommandError::Fixed("ERR Invalid OVERFLOW type specified")),
    }
}

fn parse_type(arg: &[u8]) -> CommandResult<Type> {
    let parsed = match arg {
        [b'i', digits @ ..] => number::parse_i64(digits).filter(|n| (1..=64).contains(n)).map(|n| (true, n)),
        [b'u', digits @ ..] => number::parse_i64(digits).filter(|n| (1..=63).contains(n)).map(|n| (false, n)),
        _ => None,
    };
    parsed.map(|(signed, width)| Type { signed, width: width as u32 }).ok_or(CommandError::Fixed(
        "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    ))
}

fn read(context: &mut Context<'_>, args: Args<'_>, operations: &[Operation]) -> CommandResult {
    let key = context.key(args.at(1));
    context.read_string(&key, |bytes, reply| {
        reply.array(operations.len());
        for operation in operations {
            reply.int(operation.value(bytes.unwrap_or_default()));
        }
        Ok(())
    })
}

fn write(context: &mut Context<'_>, args: Args<'_>, operations: &[Operation]) -> CommandResult {
    let key = context.key(args.at(1));
    let last_bit = operations.iter().filter(|o| !o.only_reads()).map(Operation::last_bit).max().unwrap_or(0);
    let len_min = usize::try_from(last_bit >> 3).expect("offsets are checked") + 1;
    let mut results = Vec::with_capacity(operations.len());
    let (changes, grown) = context.edit_string(&key, len_min, |bytes, grown| {
        let mut changes = 0;
        for operation in operations {
            let outcome = operation.apply(bytes);
            changes += u64::from(outcome.wrote && (grown || outcome.changed));
            results.push(outcome.reply);
        }
        (changes, grown)
    })?;
    if changes > 0 || grown {
        context.modified(&key);
        context.worker.stats.dirty.add(changes.saturating_sub(1));
    }
    if changes > 0 {
        context.notify(class::STRING, "setbit", &key);
    }
    write_results(&mut context.reply, &results);
    Ok(())
}

fn write_results(reply: &mut Reply<'_>, results: &[Option<i64>]) {
    reply.array(results.len());
    for result in results {
        match result {
            Some(value) => reply.int(*value),
            None => reply.null(),
        }
    }
}

/// What came of an operation.
struct Outcome {
    /// None: it was refused, as it would overflow.
    reply: Option<i64>,
    wrote: bool,
    changed: bool,
}

impl Operation {
    fn only_reads(&self) -> bool {
        matches!(self.what, What::Get)
    }

    fn last_bit(&self) -> u64 {
        self.offset + u64::from(self.kind.width) - 1
    }

    /// The value in a string.
    fn value(&self, bytes: &[u8]) -> i64 {
        self.kind.extend(bits::read_field(bytes, self.offset, self.kind.width))
    }

    fn apply(&self, bytes: &mut [u8]) -> Outcome {
        let old = self.value(bytes);
        let new = match self.what {
            What::Get => return Outcome { reply: Some(old), wrote: false, changed: false },
            What::Set(value, overflow) => self.kind.add(value, 0, overflow),
            What::Increment(by, overflow) => self.kind.add(old, by, overflow),
        };
        let Some(new) = new else { return Outcome { reply: None, wrote: false, changed: false } };
        bits::write_field(bytes, self.offset, self.kind.width, new as u64);
        let reply = if matches!(self.what, What::Set(..)) { old } else { new };
        Outcome { reply: Some(reply), wrote: true, changed: old != new }
    }
}
