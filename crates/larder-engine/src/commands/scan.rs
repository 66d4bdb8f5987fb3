//! What the scanning commands have in common: the cursor, COUNT and MATCH, and the reply of a step.

use super::is_word;
use crate::commands::cursor::{conceal, reveal};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::{glob, number};
use larder_resp::{Args, Reply};

/// The options that all of them have.
pub(crate) struct Scan<'a> {
    /// How many elements a step should look at.
    pub count: usize,
    pattern: Option<&'a [u8]>,
}

impl<'a> Scan<'a> {
    /// Parses what stands behind the cursor. `own` takes a word that is none of these, with its value if one follows, and
    /// says how many arguments it has used; 0 refuses it.
    pub(crate) fn parse(
        args: Args<'a>,
        mut own: impl FnMut(&'a [u8], Option<&'a [u8]>) -> usize,
    ) -> CommandResult<Self> {
        let mut scan = Scan { count: 10, pattern: None };
        let mut at = 0;
        while at < args.len() {
            let (word, value) = (args.at(at), args.get(at + 1));
            at += match value {
                Some(value) if is_word(word, "count") => {
                    let count = number::integer(value)?;
                    scan.count =
                        usize::try_from(count).ok().filter(|&n| n > 0).ok_or(CommandError::SYNTAX)?;
                    2
                }
                Some(value) if is_word(word, "match") => {
                    scan.pattern = Some(value);
                    2
                }
                _ => match own(word, value) {
                    0 => return Err(CommandError::SYNTAX),
                    used => used,
                },
            };
        }
        Ok(scan)
    }

    /// The same for a command without options of its own.
    pub(crate) fn parse_plain(args: Args<'a>) -> CommandResult<Self> {
        Scan::parse(args, |_, _| 0)
    }

    /// The same for a command with one more word, which has no value; also says whether it was there.
    pub(crate) fn parse_with_word(args: Args<'a>, word: &str) -> CommandResult<(Self, bool)> {
        let mut found = false;
        let scan = Scan::parse(args, |given, _| {
            let same = is_word(given, word);
            found |= same;
            usize::from(same)
        })?;
        Ok((scan, found))
    }

    /// Whether MATCH lets an element through.
    pub(crate) fn takes(&self, text: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| glob::matches(pattern, text))
    }
}

/// The position that a cursor stands for, an unsigned decimal number.
pub(crate) fn parse_cursor(arg: &[u8]) -> CommandResult<u64> {
    let digits = !arg.is_empty() && arg.len() <= 20 && arg.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(arg).ok().filter(|_| digits);
    text.and_then(|text| text.parse().ok()).map(reveal).ok_or(CommandError::INVALID_CURSOR)
}

/// Replies with a step: `step` writes the items and returns the next position and the number of items.
pub(crate) fn reply_step(
    context: &mut Context<'_>,
    step: impl FnOnce(&mut Context<'_>, &mut Reply<'_>) -> CommandResult<(u64, usize)>,
) -> CommandResult {
    let mut items = std::mem::take(&mut context.worker.scratch);
    items.clear();
    let protocol = context.reply.protocol();
    let done = step(context, &mut Reply::new(&mut items, protocol));
    if let Ok((next, count)) = done {
        context.reply.array(2);
        context.reply.bulk(itoa::Buffer::new().format(conceal(next)).as_bytes());
        context.reply.array(count);
        context.reply.raw(&items);
    }
    items.clear();
    items.shrink_to(1 << 20);
    context.worker.scratch = items;
    done.map(drop)
}
