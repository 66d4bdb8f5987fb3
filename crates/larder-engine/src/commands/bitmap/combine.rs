//! BITOP: combining whole strings.

use crate::commands::is_word;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::notify::class;
use larder_packed::bits::{self, Operator};
use larder_packed::bytes::SharedBytes;
use larder_resp::Args;

/// Bytes of the result that are made at a time: they stay in the processor's first cache while the sources pass by.
const PIECE: usize = 8 << 10;

enum Operation {
    Not,
    Fold(Operator),
}

impl Operation {
    fn parse(word: &[u8]) -> CommandResult<Operation> {
        match word {
            _ if is_word(word, "and") => Ok(Operation::Fold(Operator::And)),
            _ if is_word(word, "or") => Ok(Operation::Fold(Operator::Or)),
            _ if is_word(word, "xor") => Ok(Operation::Fold(Operator::Xor)),
            _ if is_word(word, "not") => Ok(Operation::Not),
            _ => Err(CommandError::SYNTAX),
        }
    }
}

pub(super) fn bitop(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let operation = Operation::parse(&args[1])?;
    if matches!(operation, Operation::Not) && args.len() != 4 {
        return Err(CommandError::Fixed("ERR BITOP NOT must be called with a single source key."));
    }
    let mut sources = Vec::with_capacity(args.len() - 3);
    for name in args.from(3).iter() {
        let key = context.key(name);
        sources.push(context.string_clone(&key)?);
    }
    let sources: Vec<&[u8]> = sources.iter().map(|source| source.as_deref().unwrap_or_default()).collect();
    let len = sources.iter().map(|source| source.len()).max().unwrap_or(0);
    let target = context.key(args.at(2));
    context.reply.count(len);
    if len == 0 {
        context.delete(&target);
    } else {
        // A target that is one of the sources is shared with our clone of it, and not written to.
        context.rebuild_string(&target, len, |result| combine(&operation, &sources, len, result));
        context.modified(&target);
        context.notify(class::STRING, "set", &target);
    }
    Ok(())
}

/// Combines strings, the shorter ones as if zeros followed, into an empty one, which gets `len` bytes. O(bytes of all).
fn combine(operation: &Operation, sources: &[&[u8]], len: usize, result: &mut SharedBytes) {
    let Some((first, others)) = sources.split_first() else { return };
    for start in (0..len).step_by(PIECE) {
        let end = len.min(start + PIECE);
        let piece_of = |source: &[u8]| start.min(source.len())..end.min(source.len());
        result.extend(&first[piece_of(first)]);
        result.pad(end);
        let piece = &mut result.make_mut()[start..];
        match operation {
            Operation::Not => bits::invert(piece),
            Operation::Fold(op) => {
                others.iter().for_each(|source| bits::combine(*op, piece, &source[piece_of(source)]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined(operation: &Operation, sources: &[&[u8]]) -> SharedBytes {
        let mut result = SharedBytes::new(b"");
        let len = sources.iter().map(|source| source.len()).max().unwrap_or(0);
        combine(operation, sources, len, &mut result);
        result
    }

    #[test]
    fn pieces_join_seamlessly() {
        let long: Vec<u8> = (0..3 * PIECE + 5).map(|i| i as u8).collect();
        let short = vec![0xF0; PIECE + 1];
        let at = |source: &[u8], i: usize| source.get(i).copied().unwrap_or(0);
        for (op, f) in [
            (Operator::And, (|a, b| a & b) as fn(u8, u8) -> u8),
            (Operator::Or, |a, b| a | b),
            (Operator::Xor, |a, b| a ^ b),
        ] {
            for (a, b) in [(&long, &short), (&short, &long)] {
                let want: Vec<u8> = (0..long.len()).map(|i| f(at(a, i), at(b, i))).collect();
                assert_eq!(combined(&Operation::Fold(op), &[a, b])[..], want[..]);
            }
        }
        assert!(combined(&Operation::Not, &[&long]).iter().zip(&long).all(|(a, b)| *a == !b));
        assert!(combined(&Operation::Not, &[b""]).is_empty());
    }
}
