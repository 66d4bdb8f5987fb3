//! Scripts that take long, on keys that they declare.

use super::data::{HASH, LIST, SET, SET_PAIR, VICTIM_HASH};
use crate::isolation::answer::{Wanted, exactly, n};
use crate::isolation::heavy::{CLEAN, Heavy, Step};
use crate::rows::data::DataSet;

const SETS: &[&DataSet] = &[&SET_PAIR[0], &SET_PAIR[1], &SET_PAIR[2], &SET_PAIR[3]];
const FRESH: &[Step] = &[CLEAN];
const A_HASH: &[Step] = &[CLEAN, Step::Load(&VICTIM_HASH)];

/// The commands.
pub fn commands() -> Vec<Heavy> {
    let one = Wanted::Number(exactly(1));
    let million = n(1_000_000);
    vec![
        Heavy::new("script: 1M times INCR", &[], "EVAL {increments} 1 dest {n:1000000}", one).before(FRESH),
        Heavy::new(
            "script: 500k times RPUSH",
            &[],
            "EVAL {pushes} 1 dest {n:500000}",
            Wanted::Number(n(500_000)),
        )
        .before(FRESH),
        Heavy::new("script: a loop of 20M without commands", &[], "EVAL {loop} 1 dest {n:20000000}", one),
        Heavy::new(
            "script: SMEMBERS of 1M as the reply",
            &[&SET],
            "EVAL {members} 1 set",
            Wanted::Items(million),
        ),
        Heavy::new("script: SMEMBERS of 1M counted", &[&SET], "EVAL {count} 1 set", Wanted::Number(million)),
        Heavy::new(
            "read-only script: SMEMBERS of 1M",
            &[&SET],
            "EVAL_RO {count} 1 set",
            Wanted::Number(million),
        ),
        Heavy::new("script: HGET of 1M fields", &[&HASH], "EVAL {each} 1 hash", Wanted::Number(million)),
        Heavy::new(
            "script: 200k words sorted in Lua",
            &[&LIST],
            "EVAL {sorted} 1 list {n:200000}",
            Wanted::Number(n(200_000)),
        ),
        Heavy::new(
            "script: DUMP and RESTORE of 1M",
            &[&HASH],
            "EVAL {copy} 2 hash dest",
            Wanted::Status("OK"),
        ),
        Heavy::new(
            "script: SUNIONSTORE of 500k",
            SETS,
            "EVAL {union} 3 a b dest",
            Wanted::Number(n(250_000).times(3)),
        ),
        Heavy::new("script: DEL of a hash of 1M", &[], "EVAL {delete} 1 victim", one).before(A_HASH),
    ]
}
