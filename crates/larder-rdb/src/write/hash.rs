//! Hashes.

use super::output::Output;
use crate::format::{Version, kind};
use larder_collections::hash::{Hash, HashEncoding, Peek};
use larder_packed::block::Element;
use larder_packed::listpack;
use std::io::{self, Write};

/// No field is due: those whose time has come are written with it.
const NO_TIME: u64 = 0;

/// The type byte. Expiries of fields need version 80; older ones lose them.
pub fn type_of(hash: &Hash, version: Version) -> u8 {
    if hash.expiring() > 0 && version >= Version::V80 {
        kind::HASH_2
    } else if hash.encoding() == HashEncoding::Listpack {
        kind::HASH_LISTPACK
    } else {
        kind::HASH
    }
}

/// Writes a hash as this type.
pub fn write(output: &mut Output<impl Write>, hash: &Hash, kind: u8) -> io::Result<()> {
    let mut fields = hash.peeks(NO_TIME);
    if kind == kind::HASH_LISTPACK {
        let room = hash.memory_bytes() + 2 * hash.len();
        return output.string(&listpack_of(fields, room));
    }
    output.length(hash.len() as u64)?;
    fields.try_for_each(|field| {
        output.string(field.name())?;
        output.string(&field.value())?;
        if kind == kind::HASH_2 {
            let at = field.expire_at_ms().map_or(-1, |at| at as i64);
            output.raw(&at.to_le_bytes())?;
        }
        Ok(())
    })
}

/// `room`: about how many bytes it takes.
fn listpack_of<'a>(fields: impl Iterator<Item = Peek<'a>>, room: usize) -> Vec<u8> {
    let mut writer = listpack::Writer::with_capacity(room);
    for field in fields {
        writer.push(Element::Bytes(field.name()));
        writer.push(Element::Bytes(&field.value()));
    }
    writer.finish()
}
