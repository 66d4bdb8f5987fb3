//! Operations of two sets, or sorted sets, of 500,000 members, half of which both have.

use super::data::{SET_PAIR, ZSET_PAIR};
use crate::isolation::answer::{Wanted, exactly, n};
use crate::isolation::heavy::Heavy;
use crate::rows::data::DataSet;

const SETS: &[&DataSet] = &[&SET_PAIR[0], &SET_PAIR[1], &SET_PAIR[2], &SET_PAIR[3]];
const ZSETS: &[&DataSet] = &[&ZSET_PAIR[0], &ZSET_PAIR[1], &ZSET_PAIR[2], &ZSET_PAIR[3]];

/// The commands.
pub fn commands() -> Vec<Heavy> {
    let half = n(250_000);
    vec![
        Heavy::new("SINTER of 500k", SETS, "SINTER a b", Wanted::Items(half)),
        Heavy::new("SUNION of 500k", SETS, "SUNION a b", Wanted::Items(half.times(3))),
        Heavy::new("SDIFF of 500k", SETS, "SDIFF a b", Wanted::Items(half)),
        Heavy::new("SINTERCARD of 500k", SETS, "SINTERCARD 2 a b", Wanted::Number(half)),
        Heavy::new("SINTERSTORE of 500k", SETS, "SINTERSTORE dest a b", Wanted::Number(half)),
        Heavy::new("SUNIONSTORE of 500k", SETS, "SUNIONSTORE dest a b", Wanted::Number(half.times(3))),
        Heavy::new("SDIFFSTORE of 500k", SETS, "SDIFFSTORE dest a b", Wanted::Number(half)),
        Heavy::new("SORT STORE of 500k", SETS, "SORT a BY nosort STORE dest", Wanted::Number(half.times(2))),
        Heavy::new(
            "EXEC of two operations of 500k",
            SETS,
            "MULTI | SUNIONSTORE dest a b | SINTER a b | EXEC",
            Wanted::Items(exactly(2)),
        ),
        Heavy::new("ZINTER of 500k", ZSETS, "ZINTER 2 za zb", Wanted::Items(half)),
        Heavy::new("ZUNION of 500k", ZSETS, "ZUNION 2 za zb", Wanted::Items(half.times(3))),
        Heavy::new("ZDIFF of 500k", ZSETS, "ZDIFF 2 za zb", Wanted::Items(half)),
        Heavy::new("ZINTERCARD of 500k", ZSETS, "ZINTERCARD 2 za zb", Wanted::Number(half)),
        Heavy::new("ZINTERSTORE of 500k", ZSETS, "ZINTERSTORE dest 2 za zb", Wanted::Number(half)),
        Heavy::new("ZUNIONSTORE of 500k", ZSETS, "ZUNIONSTORE dest 2 za zb", Wanted::Number(half.times(3))),
        Heavy::new("ZDIFFSTORE of 500k", ZSETS, "ZDIFFSTORE dest 2 za zb", Wanted::Number(half)),
        Heavy::new("ZRANGESTORE of 500k", ZSETS, "ZRANGESTORE dest za 0 -1", Wanted::Number(half.times(2))),
    ]
}
