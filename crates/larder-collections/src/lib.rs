//! The collections: `Hash`, `List` and the packed tables. They know nothing of RESP, time, configuration or keys.

pub mod hash;
pub mod key_table;
pub mod list;
pub mod member_hash;
pub mod table;
pub mod value;

pub use member_hash::member_hash;
