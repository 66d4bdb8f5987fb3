//! ZSCAN.

use crate::commands::scan::{Scan, Without, parse_cursor, reply_step_of};
use crate::context::Context;
use crate::error::CommandResult;
use crate::text::number::ScoreText;
use larder_collections::sorted_set::SortedSet;
use larder_resp::{Args, Reply};

pub(super) fn zscan(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let cursor = parse_cursor(&args[2])?;
    let key = context.key(args.at(1));
    reply_step_of(context, &key, args.from(3), SortedSet::len, |set, items| {
        let (scan, no_scores) = Scan::parse_with_word(args.from(3), Without::Scores)?;
        Ok(collect(set, cursor, &scan, !no_scores, items))
    })
}

/// Writes the entries of one step that match; returns the next cursor and the number of items.
fn collect(
    set: &SortedSet,
    cursor: u64,
    scan: &Scan<'_>,
    scores: bool,
    items: &mut Reply<'_>,
) -> (u64, usize) {
    let mut count = 0;
    let next = set.scan(cursor, scan.count, |score, member| {
        if scan.takes(member) {
            items.bulk(member);
            if scores {
                items.bulk(ScoreText::of(score).as_bytes());
            }
            count += 1 + usize::from(scores);
        }
    });
    (next, count)
}
