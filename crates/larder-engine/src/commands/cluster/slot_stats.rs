//! CLUSTER SLOT-STATS: how many keys the slots of this shard have, and what commands on them have cost.
//!
//! O(threads) for each slot, beside counting its keys.

use super::keys::count_all;
use super::{map, misused, slot};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::execution::slot_stats;
use crate::text::number;
use crate::text::word::is_word;
use larder_cluster::SLOTS;
use larder_resp::Args;

/// The first is always told, the others while they are counted.
const METRICS: [&str; 4] = ["key-count", "cpu-usec", "network-bytes-in", "network-bytes-out"];

/// A slot with what is told of it, in the order of [`METRICS`].
type Counted = (u16, [u64; METRICS.len()]);

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
    let counted = slots.into_iter().map(|slot| count(context, slot)).collect::<CommandResult<Vec<_>>>()?;
    write(context, &counted, told(context));
    Ok(())
}

/// What is told when all is.
fn count(context: &mut Context<'_>, slot: u16) -> CommandResult<Counted> {
    let mut figures = [count_all(context, slot)? as u64, 0, 0, 0];
    let [_, nanos, bytes_in, bytes_out] = &mut figures;
    context.engine.each_stats(|stats| {
        if let Some(counters) = stats.slots.peek(slot) {
            *nanos += counters.nanos.get();
            *bytes_in += counters.bytes_in.get();
            *bytes_out += counters.bytes_out.get();
        }
    });
    *nanos /= 1000;
    Ok((slot, figures))
}

/// How many of the metrics are told.
fn told(context: &Context<'_>) -> usize {
    if slot_stats::is_on(context.engine) { METRICS.len() } else { 1 }
}

fn order_by(context: &mut Context<'_>, args: Args<'_>, is_own: impl Fn(u16) -> bool) -> CommandResult {
    let told = told(context);
    let order = Order::parse(args, told)?;
    let slots = (0..SLOTS).filter(|&slot| is_own(slot));
    let mut counted = slots.map(|slot| count(context, slot)).collect::<CommandResult<Vec<_>>>()?;
    // Where slots are alike, the lower one comes first.
    let figure = |(_, figures): &Counted| figures[order.metric];
    match order.ascends {
        true => counted.sort_by_key(figure),
        false => counted.sort_by_key(|counted| std::cmp::Reverse(figure(counted))),
    }
    counted.truncate(order.limit);
    write(context, &counted, told);
    Ok(())
}

struct Order {
    /// Its place in [`METRICS`].
    metric: usize,
    limit: usize,
    ascends: bool,
}

impl Order {
    fn parse(args: Args<'_>, told: usize) -> CommandResult<Order> {
        let metric = METRICS[..told].iter().position(|metric| is_word(args.at(3), metric));
        let metric = metric.ok_or(CommandError::Fixed("ERR Unrecognized sort metric for ORDERBY."))?;
        let mut order = Order { metric, limit: usize::from(SLOTS), ascends: false };
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

fn write(context: &mut Context<'_>, counted: &[Counted], told: usize) {
    let reply = &mut context.reply;
    reply.array(counted.len());
    for (slot, figures) in counted {
        reply.array(2);
        reply.int(i64::from(*slot));
        reply.map(told);
        for (metric, figure) in METRICS[..told].iter().zip(figures) {
            reply.bulk(metric.as_bytes());
            reply.count(*figure as usize);
        }
    }
}
