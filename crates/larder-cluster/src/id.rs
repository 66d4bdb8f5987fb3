//! Names of nodes and shards: 40 letters and digits, as they stand in packets, files and replies.

use std::fmt;

/// Length of a name, in bytes.
pub const ID_BYTES: usize = 40;

/// The name of a node, or of a shard: 40 characters, each `0` to `9` or `a` to `z`. Those that are made here are hexadecimal.
///
/// Other bytes are never taken from a packet or a file, so that a name can be written into any text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId([u8; ID_BYTES]);

impl NodeId {
    /// A new name of random hexadecimal digits.
    pub fn random(rng: &mut fastrand::Rng) -> Self {
        NodeId(std::array::from_fn(|_| b"0123456789abcdef"[rng.usize(..16)]))
    }

    /// The name that a text is, if it is one.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let bytes: [u8; ID_BYTES] = text.try_into().ok()?;
        bytes.iter().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase()).then_some(NodeId(bytes))
    }

    /// The name as bytes.
    pub fn as_bytes(&self) -> &[u8; ID_BYTES] {
        &self.0
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a name is ASCII")
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", &self.as_str()[..8])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_letters_and_digits_are_names() {
        let id = NodeId::random(&mut fastrand::Rng::with_seed(1));
        assert_eq!(NodeId::parse(id.as_bytes()), Some(id));
        assert!(NodeId::parse(&[b'a'; 39]).is_none() && NodeId::parse(&[b'a'; 41]).is_none());
        for bad in [0, b' ', b'\n', b'A', b'-', 0xc3] {
            let mut text = [b'7'; ID_BYTES];
            text[17] = bad;
            assert!(NodeId::parse(&text).is_none(), "{bad}");
        }
    }
}
