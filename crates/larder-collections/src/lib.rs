//! The collections: `List` and the packed key table. They know nothing of RESP, time, configuration or keys.

pub mod key_table;
pub mod list;
pub mod value;
