//! The collections: `Hash`, `List`, `Set`, `SortedSet`, `Stream`, the format of HyperLogLogs, the packed
//! table of hashes and sets, and the table of the keyspace. They know nothing of RESP or configuration, and
//! never read the time.

#![deny(unsafe_code)]

pub mod cold;
mod counted_tree;
pub mod footprint;
pub mod hash;
pub mod hyperloglog;
pub mod int_set;
pub mod key_table;
pub mod keyed_hash;
pub mod list;
pub mod member_hash;
#[allow(unsafe_code, reason = "records hold numbers, which stand for counted pointers")]
mod numbered;
#[allow(unsafe_code, reason = "pointers are given away and taken back")]
mod raw;
mod relocation;
mod segment_scan;
pub mod set;
pub mod shapes;
pub mod sorted_set;
pub mod stream;
pub mod table;
pub mod value;
mod varint;

pub use member_hash::member_hash;
