//! ZRANDMEMBER.

use super::{Scores, open_entries, write_entry, write_ranks};
use crate::commands::draw::draw_repeatedly;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::Key;
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::sorted_set::{Order, SortedSet};
use larder_resp::{Args, Reply};
use std::collections::HashSet;

pub(super) fn zrandmember(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    if args.len() == 2 {
        return context.read_value(&key, |set: Option<&SortedSet>, reply| {
            let drawn = set
                .and_then(|set| set.with_entry(fastrand::u64(..set.len()), |_, member| reply.bulk(member)));
            if drawn.is_none() {
                reply.null();
            }
            Ok(())
        });
    }
    let (count, scores) = parse(args)?;
    if count < 0 {
        return draw(context, &key, count.unsigned_abs(), scores);
    }
    context.read_value(&key, |set: Option<&SortedSet>, reply| {
        match (set, count) {
            (None, _) | (_, 0) => reply.array(0),
            (Some(set), _) => write_distinct(reply, set, count as u64, scores),
        }
        Ok(())
    })
}

/// Number of entries and whether to write scores.
fn parse(args: Args<'_>) -> CommandResult<(i64, Scores)> {
    let count = number::negatable(&args[2])?;
    match args.len() {
        3 => Ok((count, Scores::Without)),
        4 if !is_word(&args[3], "withscores") => Err(CommandError::SYNTAX),
        4 if count.unsigned_abs() > i64::MAX as u64 / 2 => Err(CommandError::OUT_OF_RANGE),
        4 => Ok((count, Scores::With)),
        _ => Err(CommandError::SYNTAX),
    }
}

/// Writes up to `count` different entries.
fn write_distinct(reply: &mut Reply<'_>, set: &SortedSet, count: u64, scores: Scores) {
    let len = set.len();
    if count >= len {
        return write_ranks(reply, set, 0..len, Order::Descending, scores);
    }
    open_entries(reply, count as usize, scores);
    let ranks = distinct_ranks(&mut fastrand::Rng::new(), len, count);
    ranks.into_iter().for_each(|rank| write_rank(reply, set, rank, scores));
}

/// `count` different ranks below `len`, every choice and every order as likely as any other.
fn distinct_ranks(rng: &mut fastrand::Rng, len: u64, count: u64) -> Vec<u64> {
    // Floyd's way: each step draws among one more and takes the newest in place of a repetition.
    let mut drawn = HashSet::with_capacity(count as usize);
    let mut ranks: Vec<u64> = (len - count..len)
        .map(|newest| {
            let rank = rng.u64(..=newest);
            let rank = if drawn.contains(&rank) { newest } else { rank };
            drawn.insert(rank);
            rank
        })
        .collect();
    rng.shuffle(&mut ranks);
    ranks
}

/// Writes `count` entries, the same ones more than once perhaps.
fn draw(context: &mut Context<'_>, key: &Key<'_>, count: u64, scores: Scores) -> CommandResult {
    let set: Option<SortedSet> = context.value_clone(key)?;
    let Some(set) = set else {
        context.reply.array(0);
        return Ok(());
    };
    let open = |reply: &mut Reply<'_>| open_entries(reply, count as usize, scores);
    draw_repeatedly(context, count, open, |reply| {
        write_rank(reply, &set, fastrand::u64(..set.len()), scores);
    })
}

fn write_rank(reply: &mut Reply<'_>, set: &SortedSet, rank: u64, scores: Scores) {
    let written = set.with_entry(rank, |score, member| write_entry(reply, score, member, scores));
    debug_assert!(written.is_some(), "ranks are drawn below the length");
}

#[cfg(test)]
mod tests {
    use super::distinct_ranks;

    #[test]
    fn every_rank_is_drawn_as_often_in_every_place() {
        const LEN: usize = 12;
        const COUNT: usize = 5;
        const ROUNDS: usize = 60_000;
        let mut rng = fastrand::Rng::with_seed(11);
        let mut counts = [[0_u32; LEN]; COUNT];
        for _ in 0..ROUNDS {
            let ranks = distinct_ranks(&mut rng, LEN as u64, COUNT as u64);
            for (place, &rank) in ranks.iter().enumerate() {
                assert!(!ranks[..place].contains(&rank));
                counts[place][rank as usize] += 1;
            }
        }
        let expected = ROUNDS as f64 / LEN as f64;
        for counts in counts {
            let chi2: f64 = counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
            // 11 degrees of freedom: above 31 once in a thousand times.
            assert!(chi2 < 31.0, "{chi2}");
        }
    }
}
