//! ZSCAN.

use crate::commands::scan::{Scan, Without, asked, parse_cursor, reply_step};
use crate::context::Context;
use crate::error::CommandResult;
use crate::text::number::ScoreText;
use larder_collections::sorted_set::SortedSet;
use larder_resp::{Args, Reply};

pub(super) fn zscan(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let cursor = parse_cursor(&args[2])?;
    let key = context.key(args.at(1));
    reply_step(context, |context, items| {
        let mut step = (0, 0);
        let work = |set: &SortedSet| asked(args.from(3), set.len());
        context.read_long(&key, work, |set, _| {
            // A missing key is answered before the options are looked at.
            let Some(set) = set else { return Ok(()) };
            let (scan, no_scores) = Scan::parse_with_word(args.from(3), Without::Scores)?;
            step = collect(set, cursor, &scan, !no_scores, items);
            Ok(())
        })?;
        Ok(step)
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
