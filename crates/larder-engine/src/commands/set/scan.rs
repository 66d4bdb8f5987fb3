//! SSCAN.

use crate::commands::scan::{Scan, parse_cursor, reply_step_of};
use crate::context::Context;
use crate::context::replies::element_bytes;
use crate::error::CommandResult;
use larder_collections::set::Set;
use larder_resp::{Args, Reply};

pub(super) fn sscan(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let cursor = parse_cursor(&args[2])?;
    let key = context.key(args.at(1));
    reply_step_of(context, &key, args.from(3), Set::len, |set, items| {
        Ok(collect(set, cursor, &Scan::parse_plain(args.from(3))?, items))
    })
}

/// Writes the members of one step that match; returns the next cursor and their number.
fn collect(set: &Set, cursor: u64, scan: &Scan<'_>, items: &mut Reply<'_>) -> (u64, usize) {
    let mut count = 0;
    let mut number = itoa::Buffer::new();
    let next = set.scan(cursor, scan.count, |member| {
        let text = element_bytes(&member, &mut number);
        if scan.takes(text) {
            items.bulk(text);
            count += 1;
        }
    });
    (next, count)
}
