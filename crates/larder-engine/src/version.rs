//! The versions that clients are told.

/// The version of Redis that clients are told, which features they rely on.
pub const REDIS_VERSION: &str = "7.2.4";

/// The version of Valkey whose commands, replies and effects these are.
pub const VALKEY_VERSION: &str = "9.1.2";
