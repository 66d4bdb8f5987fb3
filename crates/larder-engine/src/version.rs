//! The products and versions that clients are told.

/// The version of Redis that clients are told: by it they judge which features there are.
pub const REDIS_VERSION: &str = "7.2.4";

/// The version of Valkey whose commands, replies and effects these are.
pub const VALKEY_VERSION: &str = "9.1.2";

/// The product that replies and errors name, which `extended-redis-compatibility` selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// Valkey: the default.
    Valkey,
    /// Redis, for clients that know no other product.
    Redis,
}

impl Product {
    /// The name in sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Product::Valkey => "Valkey",
            Product::Redis => "Redis",
        }
    }

    /// The name as a word of `HELLO`.
    pub const fn word(self) -> &'static str {
        match self {
            Product::Valkey => "valkey",
            Product::Redis => "redis",
        }
    }

    /// The version that belongs to the name.
    pub const fn version(self) -> &'static str {
        match self {
            Product::Valkey => VALKEY_VERSION,
            Product::Redis => REDIS_VERSION,
        }
    }
}
