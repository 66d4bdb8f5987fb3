//! What a primary sends as a whole: a command, or a transaction from MULTI to EXEC.

/// A unit, as it came.
pub(crate) struct Unit {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The link that it came by.
    pub epoch: u64,
    /// They are in this server's own stream.
    pub is_passed_on: bool,
}
