//! BITOP: combining whole strings.

use crate::context::{Context, bytes_as_elements};
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::text::word::is_word;
use larder_collections::key_table::ExpireChange;
use larder_packed::bits::{self, Operator};
use larder_packed::bytes::SharedBytes;
use larder_resp::Args;

#[derive(Clone, Copy)]
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

    /// Writes the combination of the sources, of which there is one at least.
    fn combine(self, result: &mut SharedBytes, sources: &[Option<SharedBytes>]) {
        let sources: Vec<&[u8]> =
            sources.iter().map(|source| source.as_deref().unwrap_or_default()).collect();
        match self {
            Operation::Not => bits::invert_all(result, sources[0]),
            Operation::Fold(op) => bits::combine_all(op, result, &sources),
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
    let lens = || sources.iter().flatten().map(|source| source.len());
    let (len, work) = (lens().max().unwrap_or(0), bytes_as_elements(lens().sum()));
    let target = context.key(args.at(2));
    if len == 0 {
        context.delete_target(&target);
    } else {
        if context.makes_apart(work) {
            let result = context.make(work, args.from(3).iter(), move || {
                let mut result = SharedBytes::with_capacity(len);
                operation.combine(&mut result, &sources);
                result
            })?;
            context.put_shared(&target, result, ExpireChange::Clear);
        } else {
            // A target that is one of the sources is shared with our clone of it, and not written to.
            context.rebuild_string(&target, len, |result| operation.combine(result, &sources));
        }
        context.modified(&target);
        context.notify(class::STRING, "set", &target);
    }
    context.reply.count(len);
    Ok(())
}
