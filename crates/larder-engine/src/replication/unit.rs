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

/// Bytes for which room is kept.
const BYTES_KEPT: usize = 64 << 10;

impl Unit {
    /// The first unit of a link.
    pub fn new(epoch: u64) -> Unit {
        Unit { bytes: Vec::new(), epoch, is_passed_on: false }
    }

    /// Begins the next one.
    pub fn begin(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(BYTES_KEPT);
        self.is_passed_on = false;
    }
}
