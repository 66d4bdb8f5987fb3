//! The collections: `List`, `SortedSet` and the packed key table. They know nothing of RESP, time, configuration or keys.

pub mod key_table;
pub mod list;
pub mod member_hash;
pub mod sorted_set;
pub mod value;
