//! The 16 bytes with which both headers begin.

use super::malformed::Malformed;
use super::wire::Reader;

/// The first bytes of every packet.
pub(super) const SIGNATURE: &[u8] = b"RCmb";
const VERSION: u16 = 1;
/// The bit of the type that a light header has.
pub(super) const LIGHT: u16 = 0x8000;

/// The start that both headers have, after it has been checked.
pub(super) struct Start {
    pub port: u16,
    /// The type, with the bit of light headers.
    pub kind: u16,
    /// Number of gossip entries.
    pub count: u16,
}

impl Start {
    pub fn is_light(&self) -> bool {
        self.kind & LIGHT != 0
    }

    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let len = reader.0.len();
        if reader.bytes(4)? != SIGNATURE {
            return Err(Malformed::Signature);
        }
        if reader.u32()? as usize != len {
            return Err(Malformed::Length);
        }
        if reader.u16()? != VERSION {
            return Err(Malformed::Version);
        }
        Ok(Start { port: reader.u16()?, kind: reader.u16()?, count: reader.u16()? })
    }

    /// Appends it, with a length of 0: [`finish`] sets that.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(SIGNATURE);
        out.extend_from_slice(&[0; 4]);
        for field in [VERSION, self.port, self.kind, self.count] {
            out.extend_from_slice(&field.to_be_bytes());
        }
    }
}

/// Sets the length of a packet that is written.
pub(super) fn finish(packet: &mut [u8]) {
    let len = u32::try_from(packet.len()).expect("a packet has less than 4 GiB");
    packet[4..8].copy_from_slice(&len.to_be_bytes());
}
