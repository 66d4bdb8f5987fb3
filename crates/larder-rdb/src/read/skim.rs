//! Finding the end of a value without making it.

use super::input::Input;
use crate::error::Result;
use crate::format::kind;
use std::io::BufRead;

/// Passes over the value of a type; false, having read nothing, for a type whose values must be read to find their end.
pub fn skim(input: &mut Input<impl BufRead>, kind: u8) -> Result<bool> {
    let (strings_each, bytes_each) = match kind {
        kind::STRING
        | kind::HASH_ZIPMAP
        | kind::HASH_ZIPLIST
        | kind::HASH_LISTPACK
        | kind::LIST_ZIPLIST
        | kind::SET_INTSET
        | kind::SET_LISTPACK
        | kind::ZSET_ZIPLIST
        | kind::ZSET_LISTPACK => {
            input.skip_string()?;
            return Ok(true);
        }
        kind::LIST_QUICKLIST_2 => {
            for _ in 0..input.length()? {
                input.length()?;
                input.skip_string()?;
            }
            return Ok(true);
        }
        kind::ZSET_BLOCKS => {
            (0..2).try_for_each(|_| skip_strings(input))?;
            return Ok(true);
        }
        kind::HASH_BLOCKS => {
            skip_strings(input)?;
            for _ in 0..input.length()? {
                input.skip(8)?;
                (0..2).try_for_each(|_| input.skip_string())?;
            }
            return Ok(true);
        }
        kind::SET_BLOCKS => {
            (0..3).try_for_each(|_| skip_strings(input))?;
            return Ok(true);
        }
        kind::LIST | kind::SET | kind::LIST_QUICKLIST | kind::LIST_BLOCKS => (1, 0),
        kind::ZSET_2 => (1, 8),
        kind::HASH => (2, 0),
        kind::HASH_2 => (2, 8),
        _ => return Ok(false),
    };
    for _ in 0..input.length()? {
        (0..strings_each).try_for_each(|_| input.skip_string())?;
        input.skip(bytes_each)?;
    }
    Ok(true)
}

/// Passes over strings, whose number comes first.
fn skip_strings(input: &mut Input<impl BufRead>) -> Result<()> {
    for _ in 0..input.length()? {
        input.skip_string()?;
    }
    Ok(())
}
