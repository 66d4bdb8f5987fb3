//! The place of a node.

/// The place of a node in the table; it is given to another node after this one has been removed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeKey(pub(crate) u16);
