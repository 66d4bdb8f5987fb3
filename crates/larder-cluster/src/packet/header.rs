//! The full header, 2256 bytes.
//!
//! ```text
//!    0  RCmb        4 | length u32 | version u16 = 1 | port u16 | type u16 | count u16
//!   16  current epoch u64 | config epoch u64 | replication offset u64
//!   40  sender's name 40
//!   80  slots 2048
//! 2128  name of its primary 40, zeros: it is one
//! 2168  own address 46, zeros: as the receiver sees it
//! 2214  extensions u16 | unused 30
//! 2246  other port u16 | bus port u16 | flags u16 | state u8 | message flags 3
//! 2256
//! ```
//! The first 16 bytes are common to the light header, which ends there: port and count are 0 in it, and the type has its top bit set.

use super::flags::{MessageFlags, NodeFlags};
use super::malformed::Malformed;
use super::start::Start;
use super::text;
use super::wire::{Reader, write_padded};
use crate::id::{ID_BYTES, NodeId};
use crate::slot_set::{BITMAP_BYTES, SlotSet};

/// Length of the full header, in bytes.
pub const HEADER_BYTES: usize = 2256;
/// Length of the light header, in bytes.
pub const LIGHT_BYTES: usize = 16;
/// Length of the field of an address, in bytes.
pub(super) const IP_BYTES: usize = 46;

const UNUSED_BYTES: usize = 30;

/// What every packet but the light ones says of its sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header<'a> {
    /// Its port for clients: that for TLS, if the bus uses TLS.
    pub port: u16,
    /// The other port for clients; 0: there is none.
    pub other_port: u16,
    /// Its port for the bus.
    pub bus_port: u16,
    /// The highest epoch that it knows.
    pub current_epoch: u64,
    /// The version of its slots; of those of its primary, if it is a replica.
    pub config_epoch: u64,
    /// How far its replication stream is.
    pub offset: u64,
    /// Its name.
    pub sender: NodeId,
    /// Its slots; those of its primary, if it is a replica.
    pub slots: Slots<'a>,
    /// Whose replica it is.
    pub primary: Option<NodeId>,
    /// Its own address, if it announces one; else empty.
    pub ip: &'a str,
    /// What it is.
    pub flags: NodeFlags,
    /// Whether it sees the cluster as failed.
    pub is_down: bool,
    /// What it says of the message.
    pub message_flags: MessageFlags,
}

/// Slots in a packet: a bitmap that was read, or a set to be written.
#[derive(Clone, Copy)]
pub enum Slots<'a> {
    /// As read.
    Bitmap(&'a [u8; BITMAP_BYTES]),
    /// To be written.
    Set(&'a SlotSet),
}

impl Slots<'_> {
    /// Whether these are the slots of a set. Reads 2 KiB at most.
    pub fn equal(&self, set: &SlotSet) -> bool {
        match self {
            Slots::Bitmap(bitmap) => set.equals_bitmap(bitmap),
            Slots::Set(other) => *other == set,
        }
    }

    /// The slots as a set.
    pub fn to_set(&self) -> SlotSet {
        match self {
            Slots::Bitmap(bitmap) => SlotSet::from_bitmap(bitmap),
            Slots::Set(set) => (*set).clone(),
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Slots::Bitmap(bitmap) => out.extend_from_slice(*bitmap),
            Slots::Set(set) => set.write_bitmap(out),
        }
    }
}

impl PartialEq for Slots<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.to_set() == other.to_set()
    }
}

impl std::fmt::Debug for Slots<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_set().fmt(f)
    }
}

/// Reads what follows the start; also the number of extensions.
pub(super) fn read<'a>(start: &Start, reader: &mut Reader<'a>) -> Result<(Header<'a>, u16), Malformed> {
    let [current_epoch, config_epoch, offset] = [reader.u64()?, reader.u64()?, reader.u64()?];
    let sender = NodeId::parse(reader.bytes(ID_BYTES)?).ok_or(Malformed::Name)?;
    let slots = Slots::Bitmap(reader.array()?);
    let primary = name_or_none(reader.bytes(ID_BYTES)?)?;
    let ip = text::address(reader.bytes(IP_BYTES)?).ok_or(Malformed::Text)?;
    let extensions = reader.u16()?;
    reader.bytes(UNUSED_BYTES)?;
    let [other_port, bus_port, flags] = [reader.u16()?, reader.u16()?, reader.u16()?];
    let (is_down, message_flags) = (reader.u8()? != 0, MessageFlags(reader.u8()?));
    reader.bytes(2)?;
    let header = Header {
        port: start.port,
        other_port,
        bus_port,
        current_epoch,
        config_epoch,
        offset,
        sender,
        slots,
        primary,
        ip,
        flags: NodeFlags(flags),
        is_down,
        message_flags,
    };
    Ok((header, extensions))
}

/// Appends what follows the start.
pub(super) fn write(header: &Header<'_>, extensions: u16, out: &mut Vec<u8>) {
    for field in [header.current_epoch, header.config_epoch, header.offset] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    out.extend_from_slice(header.sender.as_bytes());
    header.slots.write(out);
    out.extend_from_slice(header.primary.as_ref().map_or(&[0; ID_BYTES], |id| id.as_bytes()));
    write_padded(out, header.ip.as_bytes(), IP_BYTES);
    out.extend_from_slice(&extensions.to_be_bytes());
    out.resize(out.len() + UNUSED_BYTES, 0);
    for field in [header.other_port, header.bus_port, header.flags.0] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    out.extend_from_slice(&[u8::from(header.is_down), header.message_flags.0, 0, 0]);
}

fn name_or_none(field: &[u8]) -> Result<Option<NodeId>, Malformed> {
    if field.iter().all(|&byte| byte == 0) {
        return Ok(None);
    }
    NodeId::parse(field).map(Some).ok_or(Malformed::Name)
}
