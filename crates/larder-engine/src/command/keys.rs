//! Finds the keys among the arguments of a command, and what is done with them: by its key specifications, and for the few
//! commands that those cannot describe, by a function of its own.

use crate::command::spec::{Begin, Command, Find, Found, KeySpec};
use larder_resp::Args;

/// Calls `each` with the position of every key and what is done with it, in the words of COMMAND INFO. `Err` when the
/// arguments do not fit the specifications (a number of keys that is no number, or larger than the arguments).
pub fn positions(
    command: &Command,
    args: Args<'_>,
    mut each: impl FnMut(usize, &'static str),
) -> Result<(), InvalidKeys> {
    if let Some(find) = command.find_keys {
        find(args, &mut each);
        return Ok(());
    }
    for spec in command.keys {
        let Some(first) = begin(spec, args) else { continue };
        let (last, step) = end(spec, args, first)?;
        if last >= args.len() {
            return Err(InvalidKeys);
        }
        (first + first_offset(spec)..=last).step_by(step).for_each(|at| each(at, spec.flags));
    }
    Ok(())
}

/// The arguments do not contain the keys that the specification says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidKeys;

/// Calls `each` with every key; with some of them when the arguments are invalid (the handler will say so).
pub fn each(command: &Command, args: Args<'_>, mut each: impl FnMut(&[u8])) {
    let _ = positions(command, args, |at, _| each(args.at(at)));
}

/// All keys in order; none when the arguments are invalid (the handler will say so).
pub fn collect<'a>(command: &Command, args: Args<'a>) -> Vec<&'a [u8]> {
    let mut keys = Vec::new();
    match positions(command, args, |at, _| keys.push(args.at(at))) {
        Ok(()) => keys,
        Err(InvalidKeys) => Vec::new(),
    }
}

/// The same of a command that was found. Most have one key at a known place: nothing is allocated for these.
pub(crate) fn of<'a>(found: Found, args: Args<'a>) -> impl Iterator<Item = &'a [u8]> {
    let only = found.only_key(args.len()).map(|at| args.at(at));
    let several = if only.is_some() { Vec::new() } else { collect(found.command, args) };
    only.into_iter().chain(several)
}

fn begin(spec: &KeySpec, args: Args<'_>) -> Option<usize> {
    match spec.begin {
        Begin::Index(at) => usize::try_from(at).ok().filter(|&at| at < args.len()),
        Begin::Keyword { word, from } => {
            let matches = |&at: &usize| args[at].eq_ignore_ascii_case(word.as_bytes());
            if from >= 0 {
                (from as usize..args.len()).find(matches).map(|at| at + 1)
            } else {
                (1..=args.len().checked_sub(from.unsigned_abs() as usize)?)
                    .rev()
                    .find(matches)
                    .map(|at| at + 1)
            }
        }
        Begin::Unknown => None,
    }
}

fn first_offset(spec: &KeySpec) -> usize {
    match spec.find {
        Find::KeyNum { first, .. } => first as usize,
        _ => 0,
    }
}

/// Position of the last key and the distance between keys.
fn end(spec: &KeySpec, args: Args<'_>, first: usize) -> Result<(usize, usize), InvalidKeys> {
    match spec.find {
        Find::Range { last, step, limit } => {
            let last = match last {
                0.. => first + last as usize,
                _ if limit <= 1 => args.len().checked_sub(last.unsigned_abs() as usize).ok_or(InvalidKeys)?,
                _ => first + (args.len() - first) / limit as usize - 1,
            };
            Ok((last, step as usize))
        }
        Find::KeyNum { at, first: offset, step } => {
            let count =
                args.get(first + at as usize).and_then(crate::text::number::parse_i64).ok_or(InvalidKeys)?;
            let count =
                usize::try_from(count).ok().filter(|&n| n > 0 && n <= args.len()).ok_or(InvalidKeys)?;
            Ok((first + offset as usize + (count - 1) * step as usize, step as usize))
        }
        Find::Unknown => Err(InvalidKeys),
    }
}
