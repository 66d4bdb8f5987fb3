//! The forms that text takes: numbers, patterns, ids.

pub(crate) mod glob;
pub(crate) mod hex;
pub(crate) mod long_double;
pub(crate) mod number;
pub(crate) mod patterns;
pub(crate) mod quote;
pub(crate) mod stream_id;
pub(crate) mod word;
