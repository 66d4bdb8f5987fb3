//! CLUSTER SLOT-STATS: how many keys the slots of this shard have. Times and bytes are not counted by slot: `cluster-slot-stats-enabled` is
//! refused.

use super::keys::count_all;
use super::{map, misused, slot};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use crate::text::word::is_word;
use larder_cluster::SLOTS;
use larder_resp::Args;

const METRICS: [&str; 4] = ["key-count", "cpu-usec", "network-bytes-in", "network-bytes-out"];

pub(super) fn slot_stats(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let map = map(context)?;
    let is_own = |slot: u16| map.is_mine(slot) || map.is_my_primarys(slot);
    let slots: Vec<u16> = match args.at(2) {
        word if is_word(word, "slotsrange") && args.len() == 5 => {
            let (start, end) = (slot(args.at(3))?, slot(args.at(4))?);
            if start > end {
                return Err(CommandError::text(format!(
                    "ERR Start slot number {start} is greater than end slot number {end}"
                )));
            }
            (start..=end).filter(|&slot| is_own(slot)).collect()
        }
        word if is_word(word, "orderby") && args.len() >= 4 => return order_by(context, args, is_own),
        _ => return Err(misused(args)),
    };
    let counted = slots.into_iter().map(|slot| Ok((slot, count_all(context, slot)?)));
    let counted = counted.collect::<CommandResult<Vec<_>>>()?;
    write(context, &counted);
    Ok(())
}

fn order_by(context: &mut Context<'_>, args: Args<'_>, is_own: impl Fn(u16) -> bool) -> CommandResult {
    let order = Order::parse(args)?;
    let slots = (0..SLOTS).filter(|&slot| is_own(slot));
    let counted = slots.map(|slot| Ok((slot, count_all(context, slot)?)));
    let mut counted = counted.collect::<CommandResult<Vec<_>>>()?;
    // Where slots are alike, the lower one comes first.
    match order.ascends {
        true => counted.sort_by_key(|&(_, count)| count),
        false => counted.sort_by_key(|&(_, count)| std::cmp::Reverse(count)),
    }
    counted.truncate(order.limit);
    write(context, &counted);
    Ok(())
}

struct Order {
    limit: usize,
    ascends: bool,
}

impl Order {
    fn parse(args: Args<'_>) -> CommandResult<Order> {
        let is_counted = is_word(args.at(3), METRICS[0]);
        if !is_counted {
            return Err(CommandError::Fixed("ERR Unrecognized sort metric for ORDERBY."));
        }
        let mut order = Order { limit: usize::from(SLOTS), ascends: false };
        let (mut limits, mut directions) = (0, 0);
        let mut at = 4;
        while let Some(word) = args.get(at) {
            at += match args.get(at + 1) {
                Some(limit) if is_word(word, "limit") => {
                    order.limit = limit_of(limit)?;
                    limits += 1;
                    2
                }
                _ if is_word(word, "asc") || is_word(word, "desc") => {
                    order.ascends = is_word(word, "asc");
                    directions += 1;
                    1
                }
                _ => return Err(CommandError::SYNTAX),
            };
            if limits > 1 || directions > 1 {
                return Err(CommandError::Fixed("ERR Multiple filters of the same type are disallowed."));
            }
        }
        Ok(order)
    }
}

fn limit_of(arg: &[u8]) -> CommandResult<usize> {
    let limit = number::parse_i64(arg).and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.filter(|limit| (1..=usize::from(SLOTS)).contains(limit));
    limit.ok_or(CommandError::Fixed("ERR Limit has to lie in between 1 and 16384 (maximum number of slots)."))
}

fn write(context: &mut Context<'_>, counted: &[(u16, usize)]) {
    let reply = &mut context.reply;
    reply.array(counted.len());
    for &(slot, count) in counted {
        reply.array(2);
        reply.int(i64::from(slot));
        reply.map(1);
        reply.bulk(METRICS[0].as_bytes());
        reply.count(count);
    }
}
