//! The collections: `List`, `IntSet` and the packed key table. They know nothing of RESP, time, configuration or keys.

pub mod int_set;
pub mod key_table;
pub mod list;
#[cfg(test)]
mod test_seeds;
pub mod value;
