//! Strings of 100 MB.

use super::data::{BIG, BIG_TOO, TEXTS, VICTIM_BIG};
use crate::isolation::answer::{Count, Wanted, exactly, n};
use crate::isolation::heavy::{CLEAN, Heavy, Step};

const LENGTH: Count = n(100_000_000).plus(1);
const FRESH: &[Step] = &[CLEAN];
const A_STRING: &[Step] = &[CLEAN, Step::Load(&VICTIM_BIG)];

/// The commands.
pub fn commands() -> Vec<Heavy> {
    let length = Wanted::Number(LENGTH);
    let one = Wanted::Number(exactly(1));
    vec![
        Heavy::new("GET of 100 MB", &[&BIG], "GET big", Wanted::Bytes(LENGTH)),
        Heavy::new("GETRANGE of 100 MB", &[&BIG], "GETRANGE big 0 -1", Wanted::Bytes(LENGTH)),
        Heavy::new("SET of 100 MB", &[], "SET dest {x:100000000}", Wanted::Status("OK")).before(FRESH),
        Heavy::new("SETRANGE that makes 100 MB", &[], "SETRANGE dest {n:100000000} x", length).before(FRESH),
        Heavy::new(
            "SETBIT that makes 100 MB",
            &[],
            "SETBIT dest {n:800000000} 1",
            Wanted::Number(exactly(0)),
        )
        .before(FRESH),
        Heavy::new("APPEND to 100 MB", &[], "APPEND victim x", Wanted::Number(LENGTH.plus(1)))
            .before(A_STRING),
        // The only byte that is not zero is an x, which has four bits.
        Heavy::new("BITCOUNT of 100 MB", &[&BIG], "BITCOUNT big", Wanted::Number(exactly(4))),
        Heavy::new("BITPOS in 100 MB", &[&BIG], "BITPOS big 1", Wanted::Integer),
        Heavy::new("BITOP NOT of 100 MB", &[&BIG], "BITOP NOT dest big", length),
        Heavy::new("BITOP AND of 100 MB", &[&BIG, &BIG_TOO], "BITOP AND dest big big2", length),
        Heavy::new("COPY of 100 MB", &[&BIG], "COPY big dest REPLACE", one),
        Heavy::new("DUMP of 100 MB", &[&BIG], "DUMP big", Wanted::SomeBytes),
        Heavy::new("GETDEL of 100 MB", &[], "GETDEL victim", Wanted::Bytes(LENGTH)).before(A_STRING),
        Heavy::new("DEL of 100 MB", &[], "DEL victim", one).before(A_STRING),
        Heavy::new("LCS of two texts of 10,000", &[&TEXTS], "LCS text1 text2 LEN", Wanted::Number(n(10_000))),
    ]
}
