//! SSCAN.

use crate::commands::is_word;
use crate::commands::list::parse_cursor;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::serve::element_bytes;
use crate::{glob, number};
use larder_collections::set::Set;
use larder_resp::{Args, Reply};

/// The options of a scan.
struct Options<'a> {
    count: usize,
    pattern: Option<&'a [u8]>,
}

impl<'a> Options<'a> {
    fn parse(args: Args<'a>) -> CommandResult<Self> {
        let mut options = Options { count: 10, pattern: None };
        for at in (0..args.len()).step_by(2) {
            let (word, value) = (&args[at], args.get(at + 1).ok_or(CommandError::SYNTAX)?);
            if is_word(word, "count") {
                let count = number::integer(value)?;
                options.count = usize::try_from(count).ok().filter(|&n| n > 0).ok_or(CommandError::SYNTAX)?;
            } else if is_word(word, "match") {
                options.pattern = Some(value);
            } else {
                return Err(CommandError::SYNTAX);
            }
        }
        Ok(options)
    }
}

pub(super) fn sscan(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let cursor = parse_cursor(&args[2])?;
    let key = context.key(args.at(1));
    let mut items = std::mem::take(&mut context.worker.scratch);
    items.clear();
    let protocol = context.reply.protocol();
    let result = context.read_value(&key, |set: Option<&Set>, reply| {
        let (next, count) = match set {
            // Without a key, the other arguments do not matter.
            None => (0, 0),
            Some(set) => {
                collect(set, cursor, &Options::parse(args.from(3))?, &mut Reply::new(&mut items, protocol))
            }
        };
        reply.array(2);
        reply.bulk(itoa::Buffer::new().format(next).as_bytes());
        reply.array(count);
        reply.raw(&items);
        Ok(())
    });
    items.clear();
    items.shrink_to(1 << 20);
    context.worker.scratch = items;
    result
}

/// Writes the members of one step that match; returns the next cursor and their number.
fn collect(set: &Set, cursor: u64, options: &Options<'_>, items: &mut Reply<'_>) -> (u64, usize) {
    let mut count = 0;
    let mut number = itoa::Buffer::new();
    let next = set.scan(cursor, options.count, |member| {
        let text = element_bytes(&member, &mut number);
        if options.pattern.is_none_or(|pattern| glob::matches(pattern, text)) {
            items.bulk(text);
            count += 1;
        }
    });
    (next, count)
}
