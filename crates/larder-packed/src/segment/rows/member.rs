//! The entry of a set: a member and nothing else.
//!
//! ```text
//!  | member                  |   of up to 128 bytes that does not begin with FE or FF
//!  | FE | member             |   of up to 128 bytes that does
//!  | FF | pointer 8          |   of more: out of line
//! ```
//! So no member of usual text pays for the few that are long or odd.

use super::super::record::POINTER_BYTES;
use super::layout::{Layout, is_same};
use super::out::{out_string, put_out};
use crate::bytes::SharedBytes;

/// The longest member that lives in its entry.
pub const MEMBER_INLINE_MAX: usize = 128;

const ESCAPE: u8 = 0xFE;
const OUT: u8 = 0xFF;

/// Entries that are members of a set.
#[derive(Clone, Copy)]
pub struct Member;

// SAFETY: only the third form has a pointer, written by `put_out`; the first form never begins like it.
unsafe impl Layout for Member {
    type New<'a> = &'a [u8];

    fn new_key<'a>(new: Self::New<'a>) -> &'a [u8] {
        new
    }

    fn entry_bytes(new: &[u8]) -> usize {
        match new {
            _ if new.len() > MEMBER_INLINE_MAX => 1 + POINTER_BYTES,
            [ESCAPE | OUT, ..] => 1 + new.len(),
            _ => new.len(),
        }
    }

    fn write(entry: &mut [u8], new: &[u8]) -> bool {
        if new.len() > MEMBER_INLINE_MAX {
            entry[0] = OUT;
            put_out(&mut entry[1..], new);
            return true;
        }
        let at = entry.len() - new.len();
        entry[..at].fill(ESCAPE);
        entry[at..].copy_from_slice(new);
        false
    }

    #[inline]
    fn new_out_bytes(new: &[u8]) -> usize {
        if new.len() > MEMBER_INLINE_MAX { SharedBytes::heap_bytes_for(new.len()) } else { 0 }
    }

    fn outs(entry: &[u8]) -> [Option<usize>; 2] {
        [(entry.first() == Some(&OUT)).then_some(1), None]
    }

    #[inline]
    unsafe fn key(entry: &[u8]) -> &[u8] {
        match entry {
            [ESCAPE, member @ ..] => member,
            // SAFETY: this form holds a pointer at 1; the rest is the caller's promise.
            [OUT, ..] => unsafe { out_string(entry, 1) },
            _ => entry,
        }
    }

    #[inline]
    unsafe fn has_key(entry: &[u8], key: &[u8]) -> bool {
        match entry {
            // SAFETY: passed on to the caller.
            [ESCAPE | OUT, ..] => unsafe { Self::key(entry) == key },
            _ => is_same(entry, key),
        }
    }
}
