//! How often each key comes in a file of commands: with the last time a key is complete and can be sent, while others are still gathered.
//! Keys of one command, as most strings are, need not be gathered at all.
//!
//! Keys are known by hashes of 64 bits: 16 bytes each, and about as much slack. Two of the same hash count
//! together: both are complete later, never too soon.

use crate::commands::{Command, Commands, Transaction};
use crate::error::Result;
use crate::understand::understand;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::ops::ControlFlow;

/// What a key takes, about.
const KEY_BYTES: usize = 32;

/// How often keys are still to come.
#[derive(Default)]
pub struct Survey {
    counts: HashTable<Count>,
    hasher: RandomState,
}

/// Of a key.
struct Count {
    hash: u64,
    left: u32,
    is_seen: bool,
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
    let mut found = Found { survey: Some(Survey::default()), stop: None };
    let (mut transaction, mut db, mut room) = (Transaction::default(), db, Vec::new());
    let _ = commands.each(&mut |command| {
        transaction.note(command);
        if found.stop.is_some() {
            return Ok(ControlFlow::Continue(()));
        }
        if let Some(new) = selected(command) {
            db = new;
            return Ok(ControlFlow::Continue(()));
        }
        let is_known = understand(command.args, (0, 0), &mut room, &mut |key, _| {
            if let Some(survey) = &mut found.survey {
                survey.add(db, key);
            }
        });
        if !is_known {
            found.stop = Some((command.offset, command.args.at(0).escape_ascii().to_string()));
        }
        if found.survey.as_ref().is_some_and(|survey| survey.counts.len() * KEY_BYTES > room_bytes) {
            found.survey = None;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    transaction.finish(commands.name())?;
    Ok(found)
}

impl Survey {
    fn add(&mut self, db: u32, key: &[u8]) {
        let hash = self.hasher.hash_one((db, key));
        let entry = self.counts.entry(hash, |count| count.hash == hash, |count| count.hash);
        let count = entry.or_insert(Count { hash, left: 0, is_seen: false }).into_mut();
        count.left = count.left.saturating_add(1);
    }

    /// Notes that a key has come.
    pub fn turn(&mut self, db: u32, key: &[u8]) -> Turn {
        let hash = self.hasher.hash_one((db, key));
        let count = self.counts.find_mut(hash, |count| count.hash == hash);
        // One that was counted to the end of the numbers may come more often; one that is not there should not come.
        let Some(count) = count.filter(|count| (1..u32::MAX).contains(&count.left)) else {
            return Turn::Other;
        };
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
        let turns = [(0, "a"), (0, "b"), (0, "c"), (0, "b"), (1, "a"), (1, "a"), (0, "d")];
        let turns = turns.map(|(db, key)| survey.turn(db, key.as_bytes()));
        let (only, last, other) = (Turn::Only, Turn::Last, Turn::Other);
        assert_eq!(turns, [only, other, only, last, only, other, other]);
        assert!(found(text, 3 * KEY_BYTES).unwrap().survey.is_none());
        assert!(found("SET a 1\nGET a\nSET", 1000).is_err());
        assert!(found("SET a 1\nMULTI\nSET a 2\n", 1000).is_err());
    }
}
