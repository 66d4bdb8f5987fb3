//! The versions that clients are told.

/// The version of Redis that clients are told: by it they judge which features there are.
pub const REDIS_VERSION: &str = "7.2.4";

/// The version of Valkey whose commands, replies and effects these are.
pub const VALKEY_VERSION: &str = "9.1.2";
