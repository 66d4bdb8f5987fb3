//! Why bytes are no packet.

use std::fmt;

/// Why bytes are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// An extension has no possible length.
    Extension,
    /// The length is not what the type and the counts give.
    Length,
    /// A name is none.
    Name,
    /// It does not begin as packets do.
    Signature,
    /// An address is none.
    Text,
    /// A light header with a type that has none.
    Type,
    /// Another version of the protocol.
    Version,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Extension => "an extension with an impossible length",
            Malformed::Length => "a length that does not match the type and the counts",
            Malformed::Name => "an invalid name",
            Malformed::Signature => "a wrong signature",
            Malformed::Text => "an invalid address",
            Malformed::Type => "a light header with a type that does not have one",
            Malformed::Version => "another version of the protocol",
        })
    }
}

impl std::error::Error for Malformed {}
