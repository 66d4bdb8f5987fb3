//! The collections: `List` and the packed key table. They know nothing of RESP, time, configuration or keys.

pub mod list;
