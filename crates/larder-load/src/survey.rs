//! How often each key comes in a file of commands or a table: with the last time a key is complete and can be sent, while others are still gathered.
//! Keys of one command or row, as most are, need not be gathered at all.
//!
//! Keys are known by hashes of 64 bits. Two of the same hash count together: both are complete later, never too soon. Counts are kept of keys
//! that come more than once only: hashes that were seen once so far are written one after the other, sorted a run at a time (what comes again
//! soon is found then) and from time to time all together, which takes half of the memory of a table and a fraction of its cache misses. At the end
//! they are dropped: a key without a count comes once. O(n log n) in the keys of a file.

use crate::commands::{Command, Commands, Transaction};
use crate::error::Result;
use crate::reader::{Each, Line};
use crate::template::Template;
use crate::understand::{plain_op, understand};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::ops::ControlFlow;

/// What a key takes that came more than once, and one that did not, about: with the room for sorting.
const COUNT_BYTES: usize = 32;
const HASH_BYTES: usize = 16;
/// Hashes that are sorted at once: they fit into the second cache.
const RUN: usize = 1 << 14;
/// Hashes at which all are sorted for the first time.
const MANY: usize = 1 << 22;

/// How often keys are still to come.
#[derive(Default)]
pub struct Survey {
    /// Of keys that come more than once.
    counts: HashTable<Count>,
    hasher: RandomState,
}

/// Of a key.
#[derive(Clone, Copy)]
struct Count {
    hash: u64,
    left: u32,
    is_seen: bool,
}

/// Counts the keys of a survey.
struct Counter {
    survey: Survey,
    /// Hashes that came once, as far as is known: runs of sorted ones, and those after them.
    once: Vec<u64>,
    /// How many are in runs.
    sorted: usize,
    /// How many make it worth while to sort all.
    many: usize,
}

/// What is known of a key when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The first time and the last.
    Only,
    /// The last time.
    Last,
    /// Neither, or nobody knows.
    Other,
}

/// What was found in a file.
#[derive(Default)]
pub struct Found {
    /// None if there are too many keys.
    pub survey: Option<Survey>,
    /// The first command that is none of those that are gathered: its offset and its name.
    pub stop: Option<(u64, String)>,
}

/// Counts the keys of the commands that would be gathered, and reads all others for nobody: whether the file is one of whole commands and
/// whole transactions. Nothing more is counted when the counts take this many bytes.
pub fn survey(commands: &mut Commands, db: u32, room_bytes: usize) -> Result<Found> {
    let (mut counter, mut stop) = (Some(Counter::new(MANY)), None);
    let (mut transaction, mut db, mut room) = (Transaction::default(), db, Vec::new());
    let _ = commands.each(&mut |command| {
        transaction.note(command);
        if stop.is_some() {
            return Ok(ControlFlow::Continue(()));
        }
        if let Some(new) = selected(command) {
            db = new;
            return Ok(ControlFlow::Continue(()));
        }
        let mut add = |key: &[u8]| {
            if let Some(counter) = &mut counter {
                counter.add(db, key);
            }
        };
        let is_known = if plain_op(command.args).is_some() {
            add(command.args.at(1));
            true
        } else {
            understand(command.args, (0, 0), &mut room, &mut |key, _| add(key))
        };
        if !is_known {
            stop = Some((command.offset, command.args.at(0).escape_ascii().to_string()));
        }
        if counter.as_mut().is_some_and(|counter| !counter.fits(room_bytes)) {
            counter = None;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    transaction.finish(commands.name())?;
    Ok(Found { survey: counter.map(Counter::finish), stop })
}

/// Counts the keys of the rows of a table. None if the counts would take more than this many bytes. Rows that will be rejects may be
/// counted: their keys are complete at the end.
pub fn of_rows(
    read: impl FnOnce(Each<'_>) -> Result<()>,
    key: &Template,
    db: u32,
    room_bytes: usize,
) -> Result<Option<Survey>> {
    let (mut counter, mut filled) = (Some(Counter::new(MANY)), Vec::new());
    read(&mut |_, line| {
        let (Line::Row(row), Some(counting)) = (line, &mut counter) else { return Ok(()) };
        filled.clear();
        if key.fill(row, &mut filled).is_ok() {
            counting.add(db, &filled);
            if !counting.fits(room_bytes) {
                counter = None;
            }
        }
        Ok(())
    })?;
    Ok(counter.map(Counter::finish))
}

impl Counter {
    /// Nothing is counted yet.
    fn new(many: usize) -> Self {
        Counter { survey: Survey::default(), once: Vec::new(), sorted: 0, many }
    }

    /// Counts a key.
    fn add(&mut self, db: u32, key: &[u8]) {
        let hash = self.survey.hasher.hash_one((db, key));
        if let Some(count) = self.survey.find(hash) {
            count.left = count.left.saturating_add(1);
            return;
        }
        self.once.push(hash);
        if self.once.len() - self.sorted >= RUN {
            self.once[self.sorted..].sort_unstable();
            self.part(self.sorted);
        }
        if self.once.len() >= self.many {
            self.sort();
            self.many = self.many.max(2 * self.once.len());
        }
    }

    /// Whether the counts take at most this many bytes. If they do not, all are sorted, after which a quarter must be free: so this is not
    /// done with every key.
    fn fits(&mut self, room_bytes: usize) -> bool {
        let bytes = |of: &Self| of.survey.counts.len() * COUNT_BYTES + of.once.len() * HASH_BYTES;
        bytes(self) <= room_bytes || {
            self.sort();
            bytes(self) <= room_bytes / 4 * 3
        }
    }

    /// Sorts all hashes. The runs are merged.
    fn sort(&mut self) {
        self.once.sort();
        self.part(0);
    }

    /// Of the sorted hashes from a position on, moves those that came more than once to the counts.
    fn part(&mut self, from: usize) {
        let (mut kept, mut at) = (from, from);
        while let Some(&hash) = self.once.get(at) {
            let same = self.once[at..].iter().take_while(|&&other| other == hash).count();
            at += same;
            let same = u32::try_from(same).unwrap_or(u32::MAX);
            if let Some(count) = self.survey.find(hash) {
                count.left = count.left.saturating_add(same);
            } else if same > 1 {
                let count = Count { hash, left: same, is_seen: false };
                self.survey.counts.insert_unique(hash, count, |count| count.hash);
            } else {
                self.once[kept] = hash;
                kept += 1;
            }
        }
        self.once.truncate(kept);
        self.sorted = kept;
    }

    /// The counts.
    fn finish(mut self) -> Survey {
        self.sort();
        self.survey
    }
}

impl Survey {
    fn find(&mut self, hash: u64) -> Option<&mut Count> {
        self.counts.find_mut(hash, |count| count.hash == hash)
    }

    /// Notes that a key has come.
    pub fn turn(&mut self, db: u32, key: &[u8]) -> Turn {
        let hash = self.hasher.hash_one((db, key));
        let Some(count) = self.find(hash) else { return Turn::Only };
        // One that was counted to the end of the numbers may come more often; one of which nothing is left should not come.
        if !(1..u32::MAX).contains(&count.left) {
            return Turn::Other;
        }
        count.left -= 1;
        match (count.left, std::mem::replace(&mut count.is_seen, true)) {
            (0, false) => Turn::Only,
            (0, true) => Turn::Last,
            _ => Turn::Other,
        }
    }
}

/// The database that a command selects.
pub fn selected(command: &Command<'_>) -> Option<u32> {
    let args = command.args;
    let is_select = args.len() == 2 && args.at(0).eq_ignore_ascii_case(b"SELECT");
    is_select.then(|| std::str::from_utf8(args.at(1)).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, room_bytes: usize) -> Result<Found> {
        let source = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
        survey(&mut Commands::new(source, "f".to_owned(), false, (0, Vec::new())), 0, room_bytes)
    }

    #[test]
    fn the_last_time_of_a_key_is_known() {
        let text = "SET a 1\nRPUSH b 1\nMSET c 1 b 2\nSELECT 1\nSET a 1\nSELECT x\n";
        let mut all = found(text, 1 << 20).unwrap();
        assert_eq!(all.stop, Some((text.find("SELECT x").unwrap() as u64, "SELECT".to_owned())));
        let mut survey = all.survey.take().unwrap();
        let turns = [(0, "a"), (0, "b"), (0, "c"), (0, "b"), (1, "a"), (0, "b"), (0, "d")];
        let turns = turns.map(|(db, key)| survey.turn(db, key.as_bytes()));
        let (only, last, other) = (Turn::Only, Turn::Last, Turn::Other);
        assert_eq!(turns, [only, other, only, last, only, other, only]);
        let bytes = 3 * HASH_BYTES + COUNT_BYTES;
        assert!(found(text, 2 * bytes).unwrap().survey.is_some());
        assert!(found(text, bytes / 2).unwrap().survey.is_none());
        assert!(found("SET a 1\nGET a\nSET", 1000).is_err());
        assert!(found("SET a 1\nMULTI\nSET a 2\n", 1000).is_err());
    }

    #[test]
    fn keys_of_rows_are_counted() {
        let layout = crate::reader::Layout::of(crate::reader::Format::Csv);
        let draft = crate::mapping::Draft {
            key: Some("k:{id}".to_owned()),
            kind: Some("hash".to_owned()),
            ..Default::default()
        };
        let mapping = draft.finish().unwrap();
        let found = |text: &str, room_bytes| {
            let read =
                |each: Each<'_>| crate::reader::read(("file", text.as_bytes()), &layout, &mapping, each);
            of_rows(read, &mapping.key, 2, room_bytes)
        };
        let mut survey = found("id,a\n1,x\n2,x\nbroken\n1,y\n", 1 << 20).unwrap().unwrap();
        let turns = ["k:1", "k:2", "k:1"].map(|key| survey.turn(2, key.as_bytes()));
        assert_eq!(turns, [Turn::Other, Turn::Only, Turn::Last]);
        assert!(found("id,a\n1,x\n2,x\n", HASH_BYTES).unwrap().is_none());
        assert!(found("id,a\n1,\"x\n", 1 << 20).is_err());
    }

    #[test]
    fn counts_are_those_of_a_plain_table() {
        let mut rng = fastrand::Rng::with_seed(5);
        // All keys in one run, keys that come again in later runs, and all sorted now and then.
        for (keys, commands, many) in
            [(50, 3000, MANY), (60_000, 100_000, MANY), (60_000, 200_000, 10_000), (1 << 40, 50_000, 30_000)]
        {
            let all: Vec<u64> = (0..commands).map(|_| rng.u64(..keys).min(rng.u64(..keys))).collect();
            let (mut counter, mut plain) = (Counter::new(many), std::collections::HashMap::new());
            for key in &all {
                counter.add(3, &key.to_le_bytes());
                *plain.entry(key).or_insert(0) += 1;
            }
            let (mut survey, total) = (counter.finish(), plain.clone());
            assert_eq!(survey.counts.len(), total.values().filter(|&&count| count > 1).count());
            for key in &all {
                let left = plain.get_mut(key).unwrap();
                *left -= 1;
                let expected = match (*left, total[key]) {
                    (0, 1) => Turn::Only,
                    (0, _) => Turn::Last,
                    _ => Turn::Other,
                };
                assert_eq!(survey.turn(3, &key.to_le_bytes()), expected);
            }
        }
    }

    #[test]
    fn a_survey_without_room_is_given_up_soon() {
        let mut counter = Counter::new(MANY);
        let fit = (0..100_000_u32).take_while(|key| {
            counter.add(0, &key.to_le_bytes());
            counter.fits(10_000 * HASH_BYTES)
        });
        assert_eq!(fit.count(), 10_000);
        // Keys that come again and again need no room.
        let mut counter = Counter::new(MANY);
        for key in 0..1_000_000_u32 {
            counter.add(0, &(key % 3_000).to_le_bytes());
            assert!(counter.fits(10_000 * HASH_BYTES));
        }
    }
}
