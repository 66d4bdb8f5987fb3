//! What the rows read: collections of every type at several sizes, made of commands as the rows are.

use super::template::{Commands, scaled};
use crate::session::Session;
use std::io;

/// Some keys, by the commands that make them.
#[derive(Debug)]
pub struct DataSet {
    /// What it is, which also tells it from others.
    pub name: &'static str,
    /// The command that makes a part of it.
    command: &'static str,
    /// How many of these commands.
    count: Count,
}

/// How many commands make a data set.
#[derive(Clone, Copy, Debug)]
enum Count {
    /// This many.
    Exactly(u64),
    /// This many elements by the scale, this many of them with a command.
    Elements(u64, u64),
}

impl DataSet {
    /// This many commands of a template.
    pub const fn exactly(name: &'static str, command: &'static str, count: u64) -> Self {
        DataSet { name, command, count: Count::Exactly(count) }
    }

    /// This many elements by the scale, this many of them with a command.
    pub const fn scaled(name: &'static str, command: &'static str, elements: u64, batch: u64) -> Self {
        DataSet { name, command, count: Count::Elements(elements, batch) }
    }

    /// Sends the commands and waits for the replies; an error when one was refused.
    pub fn load(&self, session: &Session, scale: f64) -> io::Result<()> {
        let mut commands = Commands::new(self.command, scale).map_err(io::Error::other)?;
        let count = match self.count {
            Count::Exactly(count) => count,
            Count::Elements(elements, batch) => scaled(elements, scale).div_ceil(batch),
        };
        let mut loader = session.loader()?;
        (0..count).try_for_each(|_| loader.send_with(|out| commands.write(out)))?;
        loader.finish()
    }
}

/// Strings of 20 bytes.
pub const STRINGS: DataSet = DataSet::scaled("strings", "MSET 10*key:{all},{v:20}", 100_000, 10);
/// Strings of 1 KB.
pub const KILOBYTES: DataSet = DataSet::exactly("strings of 1 KB", "SET kilo:{c} {v:1024}", 1000);
/// One hash, set and sorted set of a million elements each.
pub const BIG_HASH: DataSet =
    DataSet::scaled("one big hash", "HSET bighash 100*field:{all},{v:16}", 1_000_000, 100);
/// See above.
pub const BIG_SET: DataSet = DataSet::scaled("one big set", "SADD bigset 100*member:{all}", 1_000_000, 100);
/// See above.
pub const BIG_ZSET: DataSet =
    DataSet::scaled("one big sorted set", "ZADD bigzset 100*{score},member:{all}", 1_000_000, 100);

/// Lists of words, of three lengths.
pub const LISTS_10: DataSet = DataSet::exactly("lists of 10", "RPUSH list10:{c} 10*{word}", 100);
/// See above.
pub const LISTS_100: DataSet = DataSet::exactly("lists of 100", "RPUSH list100:{c} 100*{word}", 100);
/// See above.
pub const LISTS_1000: DataSet = DataSet::exactly("lists of 1,000", "RPUSH list1000:{c} 1000*{word}", 20);
/// Lists of integers.
pub const INTS_100: DataSet =
    DataSet::exactly("lists of 100 integers", "RPUSH ints100:{c} 100*{int:1000000}", 100);
/// See above.
pub const INTS_1000: DataSet =
    DataSet::exactly("lists of 1,000 integers", "RPUSH ints1000:{c} 1000*{int:1000000}", 20);
/// A list of integers that a script sorts into another.
pub const INTS_10K: DataSet =
    DataSet::exactly("a list of 10,000 integers", "RPUSH ints10k 1000*{int:1000000000}", 10);

/// Sets of strings, of three sizes.
pub const SETS_10: DataSet = DataSet::exactly("sets of 10", "SADD set10:{c} 10*member:{i}", 100);
/// See above.
pub const SETS_100: DataSet = DataSet::exactly("sets of 100", "SADD set100:{c} 100*member:{i}", 100);
/// See above.
pub const SETS_1000: DataSet = DataSet::exactly("sets of 1,000", "SADD set1000:{c} 1000*member:{i}", 20);
/// Sets that have half of their members in common with each of `SETS_10`.
pub const SETS_15: DataSet =
    DataSet::exactly("sets of 15, 10 of them in the sets of 10", "SADD set15:{c} 15*member:{i}", 100);
/// Sets of integers.
pub const INT_SETS_100: DataSet =
    DataSet::exactly("sets of 100 integers", "SADD intset100:{c} 100*1{i}", 100);

/// Hashes of 16 bytes a value, of several sizes.
pub const HASHES_10: DataSet = DataSet::exactly("hashes of 10", "HSET hash10:{c} 10*field:{i},{v:16}", 100);
/// See above.
pub const HASHES_20: DataSet = DataSet::exactly("hashes of 20", "HSET hash20:{c} 20*field:{i},{v:16}", 100);
/// See above.
pub const HASHES_100: DataSet =
    DataSet::exactly("hashes of 100", "HSET hash100:{c} 100*field:{i},{v:16}", 100);
/// See above.
pub const HASHES_200: DataSet =
    DataSet::exactly("hashes of 200", "HSET hash200:{c} 200*field:{i},{v:16}", 100);
/// See above.
pub const HASHES_1000: DataSet =
    DataSet::exactly("hashes of 1,000", "HSET hash1000:{c} 1000*field:{i},{v:16}", 20);

/// Sorted sets with whole numbers for scores, of three sizes.
pub const ZSETS_10: DataSet =
    DataSet::exactly("sorted sets of 10", "ZADD zset10:{c} 10*{int:100000},member:{i}", 100);
/// See above.
pub const ZSETS_100: DataSet =
    DataSet::exactly("sorted sets of 100", "ZADD zset100:{c} 100*{int:100000},member:{i}", 100);
/// See above.
pub const ZSETS_1000: DataSet =
    DataSet::exactly("sorted sets of 1,000", "ZADD zset1000:{c} 1000*{int:100000},member:{i}", 20);
/// Sorted sets with fractions for scores.
pub const FRACTIONS_100: DataSet =
    DataSet::exactly("sorted sets of 100 fractions", "ZADD fraction100:{c} 100*{score},member:{i}", 100);

/// Streams of 1,000 entries of two fields.
pub const STREAMS: DataSet =
    DataSet::exactly("streams", "XADD stream:{c%20} 1{c}-0 temp {int:40} device sensor-{c%10}", 20_000);
