//! Blocks as bytes: how a list travels between two Larders, without a look at its elements.
//!
//! ```text
//!   0      1               2     6     14
//!   +------+---------------+-----+-----+------+
//!   | form | codec | flags | n 4 | aux | body |    little endian; `form` is `inner` of a compressed block: kind and width
//!   | 1    | 1             |     | 8   |      |    of the plain one
//!   +------+---------------+-----+-----+------+
//!
//!   plain       codec 0; the body is the data, then the lengths, as in memory without the gaps
//!   compressed  the body is the bytes of the plain image (4), then the payload
//! ```
//!
//! What comes in is checked whole, compressed or not: a block that passes satisfies the invariants of
//! [`super`]. Cost: to write, a copy of the bytes as they are; to read, O(1) for each length and each byte
//! that is decompressed.

use super::packed::{Body, IMAGE_LISTPACK, IMAGE_RAW};
use super::{Block, HEADER, INCOMPRESSIBLE, Kind, REVERSED};
use crate::codec::{Codec, Damaged};

const HEAD_BYTES: usize = 14;
const CODEC: u8 = 0x0F;
const FLAGS_SHIFT: u32 = 4;
/// A payload that decompresses to more than this for each of its bytes is neither sent nor taken: the bytes
/// that a sender sends bound what the reader allocates.
const RATIO_MAX: usize = 256;
/// A block may have this many more elements than its image has bytes, as elements may be empty; lists begin
/// another block long before.
const EMPTY_MAX: usize = 1 << 16;

impl Block {
    /// Appends the block's image.
    pub fn image_into(&self, out: &mut Vec<u8>) {
        let h = self.header();
        if h.kind != Kind::Compressed {
            let body = self.body_form();
            write_head(out, body.inner, 0, self);
            out.extend_from_slice(&body.aux.to_le_bytes());
            return self.body_into(out);
        }
        if h.start as usize > RATIO_MAX * h.end as usize {
            return self.to_plain().image_into(out);
        }
        write_head(out, h.inner, h.width, self);
        out.extend_from_slice(&h.aux.to_le_bytes());
        out.extend_from_slice(&h.start.to_le_bytes());
        out.extend_from_slice(self.bytes(HEADER, h.end as usize));
    }

    /// The block of an image, which may be hostile.
    pub fn from_image(image: &[u8]) -> Result<Block, Damaged> {
        let (head, rest) = image.split_first_chunk::<HEAD_BYTES>().ok_or(Damaged)?;
        let [inner, second, ref numbers @ ..] = *head;
        let (n, aux) = numbers.split_first_chunk().ok_or(Damaged)?;
        let n = u32::from_le_bytes(*n) as usize;
        let aux = u64::from_le_bytes(*aux.first_chunk().ok_or(Damaged)?);
        let flags = second >> FLAGS_SHIFT;
        if flags & !(REVERSED | INCOMPRESSIBLE) != 0 || n == 0 {
            return Err(Damaged);
        }
        let is_reversed = flags & REVERSED != 0;
        let block = match second & CODEC {
            0 => {
                let body = Body { inner, n, aux, is_reversed, len: rest.len() };
                let block = body.build(|to| {
                    to.copy_from_slice(rest);
                    Ok(())
                })?;
                block.check_read(rest.len())?;
                block
            }
            codec => {
                let codec = Codec::from_number(codec).ok_or(Damaged)?;
                let (plain_len, payload) = rest.split_first_chunk().ok_or(Damaged)?;
                let plain_len = u32::from_le_bytes(*plain_len) as usize;
                if plain_len > RATIO_MAX * payload.len() || plain_len > super::ELEMENT_LEN_MAX {
                    return Err(Damaged);
                }
                // What is compressed with LZF goes into dumps as it is.
                if (codec == Codec::Lzf) != matches!(inner, IMAGE_LISTPACK | IMAGE_RAW) {
                    return Err(Damaged);
                }
                let mut block = Block::of_payload(codec, inner, payload, plain_len, n);
                block.header_mut().aux = aux;
                block.set_flag(REVERSED, is_reversed);
                let plain = block.decompress()?;
                if plain.len() != n {
                    return Err(Damaged);
                }
                plain.check_read(plain_len)?;
                block
            }
        };
        block.set_flag(INCOMPRESSIBLE, flags & INCOMPRESSIBLE != 0);
        Ok(block)
    }

    /// Checks what [`Body::build`] takes on trust: that the lengths sum up to the data, and that elements are not made of
    /// nothing. `len` is the size of the image.
    fn check_read(&self, len: usize) -> Result<(), Damaged> {
        let h = self.header();
        if h.kind == Kind::Int {
            return Ok(());
        }
        let n = self.len();
        let sum = match h.width {
            0 => h.elem_len().checked_mul(n).ok_or(Damaged)?,
            _ => (0..n).map(|i| self.str_len(i)).sum(),
        };
        if sum == h.data_len() && n <= len + EMPTY_MAX { Ok(()) } else { Err(Damaged) }
    }
}

fn write_head(out: &mut Vec<u8>, inner: u8, codec: u8, block: &Block) {
    let flags = [REVERSED, INCOMPRESSIBLE].into_iter().filter(|&flag| block.flag(flag)).sum::<u8>();
    out.extend_from_slice(&[inner, codec | flags << FLAGS_SHIFT]);
    out.extend_from_slice(&(block.len() as u32).to_le_bytes());
}
