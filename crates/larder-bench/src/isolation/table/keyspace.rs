//! Commands on the whole keyspace: walks over 2M keys, emptying it, saving it, and what time and memory take away.

use super::data::{EXPIRING, HASH, IDS, KEYS_2M, KEYS_100_BYTES, VICTIM_HASH};
use crate::isolation::answer::{Wanted, exactly, n};
use crate::isolation::heavy::{CLEAN, Heavy, Step, Until};
use crate::isolation::probes;

const OK: Wanted = Wanted::Status("OK");
const NOTHING: Wanted = Wanted::Page(exactly(0));

const FULL: &[Step] = &[
    Step::Load(&KEYS_2M),
    Step::Load(&probes::DATA[0]),
    Step::Load(&probes::DATA[1]),
    Step::Load(&probes::DATA[2]),
];
const FULL_OF_BYTES: &[Step] = &[
    Step::Ask("CONFIG RESETSTAT"),
    Step::Ask("CONFIG SET maxmemory 0 maxmemory-policy allkeys-random"),
    Step::Load(&KEYS_100_BYTES),
    Step::Load(&probes::DATA[0]),
    Step::Load(&probes::DATA[1]),
    Step::Load(&probes::DATA[2]),
];
const EXPIRED_KEYS: &[Step] =
    &[Step::Ask("CONFIG RESETSTAT"), Step::Ask("DEBUG SET-ACTIVE-EXPIRE 0"), Step::Load(&EXPIRING)];
const EXPIRED_FIELDS: &[Step] = &[
    CLEAN,
    Step::Ask("CONFIG RESETSTAT"),
    Step::Ask("DEBUG SET-ACTIVE-EXPIRE 0"),
    Step::Load(&VICTIM_HASH),
    Step::Ask("HPEXPIRE victim 1 FIELDS {n:500000} ~500000*field:{all}"),
];

/// Walks over all keys, and a command that looks up keys which it does not name.
pub fn walks() -> Vec<Heavy> {
    let all = n(2_000_000).plus(probes::KEYS);
    let walks = vec![
        Heavy::new("KEYS of 2M", &[&KEYS_2M], "KEYS *", Wanted::Items(all)),
        Heavy::new("KEYS of 2M that finds none", &[&KEYS_2M], "KEYS no-such-*", Wanted::Items(exactly(0))),
        Heavy::new("SCAN, 2M at once", &[&KEYS_2M], "SCAN 0 COUNT {n:2000000}", Wanted::Page(n(2_000_000))),
        Heavy::new("SCAN, 100k at once", &[&KEYS_2M], "SCAN 0 COUNT {n:100000}", Wanted::Page(n(100_000))),
        Heavy::new(
            "SCAN of 2M that finds none",
            &[&KEYS_2M],
            "SCAN 0 MATCH no-such-* COUNT {n:2000000}",
            NOTHING,
        ),
        Heavy::new("SCAN of 2M by type", &[&KEYS_2M], "SCAN 0 TYPE stream COUNT {n:2000000}", NOTHING),
        Heavy::new(
            "SORT BY GET of 100k",
            &[&KEYS_2M, &IDS],
            "SORT ids BY nosort GET key:*",
            Wanted::Items(n(100_000)),
        ),
    ];
    walks.into_iter().map(Heavy::everywhere).collect()
}

/// Files are written in the background.
pub fn saving() -> Vec<Heavy> {
    let saved = Wanted::Status("Background saving started");
    let rewritten = Wanted::Status("Background append only file rewriting started");
    let all = vec![
        Heavy::new("BGSAVE of a hash of 1M", &[&HASH], "BGSAVE", saved).until(Until::Saved),
        Heavy::new("BGREWRITEAOF of a hash of 1M", &[&HASH], "BGREWRITEAOF", rewritten)
            .until(Until::Rewritten),
        Heavy::new("BGSAVE of 2M keys and a hash of 1M", &[&HASH, &KEYS_2M], "BGSAVE", saved)
            .until(Until::Saved),
    ];
    all.into_iter().map(Heavy::everywhere).collect()
}

/// The keyspace is emptied.
pub fn emptying() -> Vec<Heavy> {
    let commands = ["FLUSHALL SYNC", "FLUSHALL ASYNC", "FLUSHDB SYNC"];
    let titles = ["FLUSHALL of 2M", "FLUSHALL ASYNC of 2M", "FLUSHDB of 2M"];
    let heavy = |(title, command)| Heavy::new(title, &[], command, OK).before(FULL).everywhere().empties();
    titles.into_iter().zip(commands).map(heavy).collect()
}

/// What nobody asks for: keys expire and are evicted.
pub fn mass() -> Vec<Heavy> {
    let expire =
        |title, before| Heavy::new(title, &[], "DEBUG SET-ACTIVE-EXPIRE 1", OK).before(before).everywhere();
    let evict = "CONFIG SET maxmemory {below:60000000}";
    vec![
        expire("1M keys expire", EXPIRED_KEYS).until(Until::Expired(1_000_000)),
        expire("500k fields of a hash expire", EXPIRED_FIELDS).until(Until::FieldsExpired(500_000)),
        Heavy::new("60 MB of small keys are evicted", &[], evict, OK)
            .before(FULL_OF_BYTES)
            .until(Until::Fits)
            .after(&["CONFIG SET maxmemory 0"])
            .everywhere()
            .empties(),
    ]
}
