//! The table against models, hostile hashes, and its own promises.

mod bulk;
mod model;
mod promises;

use super::{FieldValue, FieldValueNew, Member, Table};
use crate::key_table::KeyHash;

/// A hash as good as any, and the same in every run: FNV with a finalizer.
pub struct Good;

impl KeyHash for Good {
    fn hash(key: &[u8]) -> u64 {
        let mut h = key
            .iter()
            .fold(0xCBF2_9CE4_8422_2325_u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01B3));
        h = (h ^ h >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        h = (h ^ h >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        h ^ h >> 31
    }
}

/// The key's first eight bytes are its hash, so that a test can choose it.
pub struct Chosen;

impl KeyHash for Chosen {
    fn hash(key: &[u8]) -> u64 {
        key.iter().take(8).fold(0, |h, &b| h << 8 | u64::from(b))
    }
}

pub type Members<H = Good> = Table<Member, H>;
pub type Fields<H = Good> = Table<FieldValue, H>;

pub fn field<'a>(field: &'a [u8], value: &'a [u8], expire_at_ms: Option<u64>) -> FieldValueNew<'a> {
    FieldValueNew { field, value, expire_at_ms }
}

pub fn key(n: u64) -> Vec<u8> {
    format!("member:{n:012}").into_bytes()
}
