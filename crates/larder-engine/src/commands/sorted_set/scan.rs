//! ZSCAN.

use crate::commands::is_word;
use crate::commands::list::parse_cursor;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::glob;
use crate::number::{self, ScoreText};
use larder_collections::sorted_set::SortedSet;
use larder_resp::{Args, Reply};

/// The options.
struct Scan<'a> {
    cursor: u64,
    count: usize,
    pattern: Option<&'a [u8]>,
    scores: bool,
}

impl<'a> Scan<'a> {
    fn parse(args: Args<'a>, cursor: u64) -> CommandResult<Self> {
        let mut scan = Scan { cursor, count: 10, pattern: None, scores: true };
        let mut at = 3;
        while at < args.len() {
            let (word, value) = (&args[at], args.get(at + 1));
            at += 2;
            match value {
                Some(value) if is_word(word, "count") => {
                    let count = number::integer(value)?;
                    scan.count =
                        usize::try_from(count).ok().filter(|&n| n > 0).ok_or(CommandError::SYNTAX)?;
                }
                Some(value) if is_word(word, "match") => scan.pattern = Some(value),
                _ if is_word(word, "noscores") => {
                    scan.scores = false;
                    at -= 1;
                }
                _ => return Err(CommandError::SYNTAX),
            }
        }
        Ok(scan)
    }

    /// Writes the entries of one step that match; returns the next cursor and the number of replies.
    fn collect(&self, set: &SortedSet, items: &mut Reply<'_>) -> (u64, usize) {
        let mut count = 0;
        let next = set.scan(self.cursor, self.count, |score, member| {
            if self.pattern.is_none_or(|pattern| glob::matches(pattern, member)) {
                items.bulk(member);
                if self.scores {
                    items.bulk(ScoreText::of(score).as_bytes());
                }
                count += 1 + usize::from(self.scores);
            }
        });
        (next, count)
    }
}

pub(super) fn zscan(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let cursor = parse_cursor(&args[2])?;
    let key = context.key(args.at(1));
    let mut items = std::mem::take(&mut context.worker.scratch);
    items.clear();
    let protocol = context.reply.protocol();
    let result = context.read_value(&key, |set: Option<&SortedSet>, reply| {
        // A missing key is answered before the options are looked at.
        let (next, count) = match set {
            Some(set) => Scan::parse(args, cursor)?.collect(set, &mut Reply::new(&mut items, protocol)),
            None => (0, 0),
        };
        reply.array(2);
        reply.bulk(next.to_string().as_bytes());
        reply.array(count);
        reply.raw(&items);
        Ok(())
    });
    context.worker.scratch = items;
    result
}
