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
            Malformed::Length => "a length that is not that of the type and the counts",
            Malformed::Name => "a name that is none",
            Malformed::Signature => "a wrong signature",
            Malformed::Text => "an address that is none",
            Malformed::Type => "a light header with a type that has none",
            Malformed::Version => "another version of the protocol",
        })
    }
}

impl std::error::Error for Malformed {}
