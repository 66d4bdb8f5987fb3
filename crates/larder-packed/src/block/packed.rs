//! Compressed blocks: making them and getting the plain block back.
//!
//! What is compressed (the *image*) depends on the codec. For zstd and LZ4 it is the body of the plain block as it
//! lies in memory, data then lengths: nothing to convert on the way back. For LZF it is what Redis would have
//! compressed, the listpack of the elements or the one big element raw, so that a dump takes the payload as it is.

use super::{Block, HEADER, Kind, REVERSED};
use crate::codec::{Codec, Damaged};
use crate::heap;
use crate::listpack;

/// What lies under a payload, in `Header::inner`.
const IMAGE_BODY_STR: u8 = 0;
const IMAGE_BODY_INT: u8 = 1;
pub(super) const IMAGE_LISTPACK: u8 = 2;
pub(super) const IMAGE_RAW: u8 = 3;
/// The width of a body image is kept in the bits from here on.
const WIDTH_SHIFT: u32 = 4;

/// An LZF payload as dumps hold it.
#[derive(Clone, Copy, Debug)]
pub struct LzfImage<'a> {
    /// The compressed bytes.
    pub payload: &'a [u8],
    /// Their size when decompressed.
    pub plain_len: usize,
    /// True if that is one raw element, false if it is a listpack.
    pub is_raw: bool,
}

impl Block {
    /// The block compressed, or None when that would not save an eighth of its memory.
    pub fn compress(&self, codec: Codec) -> Option<Block> {
        if self.is_compressed() || self.is_empty() {
            return None;
        }
        let (image, inner) = self.image(codec);
        let most = heap::class_size(HEADER + self.used()) / 8 * 7;
        let mut payload = Vec::new();
        let fits = codec.compress(&image, &mut payload, most.checked_sub(HEADER)?);
        (fits && heap::class_size(HEADER + payload.len()) <= most).then(|| {
            let mut block = Block::of_payload(codec, inner, &payload, image.len(), self.len());
            block.header_mut().aux = self.header().body_aux();
            block.set_flag(REVERSED, self.reversed());
            block
        })
    }

    /// The block as it can be read: itself, or decompressed.
    pub fn to_plain(&self) -> Block {
        if !self.is_compressed() {
            return self.clone();
        }
        self.decompress().expect("payloads were made by `compress`, or checked when they came in")
    }

    /// A compressed block from a payload that a dump holds, after checking it; the plain block comes with it.
    pub fn from_lzf(image: LzfImage<'_>) -> Result<(Block, Block), Damaged> {
        // LZF makes at most 264 bytes of 3, so a hostile size cannot ask for much memory.
        if image.plain_len / 88 > image.payload.len() || image.plain_len > super::ELEMENT_LEN_MAX {
            return Err(Damaged);
        }
        let inner = if image.is_raw { IMAGE_RAW } else { IMAGE_LISTPACK };
        let mut block = Block::of_payload(Codec::Lzf, inner, image.payload, image.plain_len, 1);
        let plain = block.decompress()?;
        block.header_mut().n = plain.header().n;
        Ok((block, plain))
    }

    /// The LZF payload, if the block is compressed with that.
    pub fn lzf_image(&self) -> Option<LzfImage<'_>> {
        let h = self.header();
        (h.kind == Kind::Compressed && Codec::from_u8(h.width) == Codec::Lzf).then(|| LzfImage {
            payload: self.bytes(HEADER, h.end as usize),
            plain_len: h.start as usize,
            is_raw: h.inner == IMAGE_RAW,
        })
    }

    fn image(&self, codec: Codec) -> (Vec<u8>, u8) {
        if codec == Codec::Lzf {
            return match self.iter(0, super::Direction::Forward).next() {
                Some(super::Element::Bytes(raw)) if self.len() == 1 => (raw.to_vec(), IMAGE_RAW),
                _ => (listpack::from_block(self), IMAGE_LISTPACK),
            };
        }
        let mut image = Vec::new();
        self.body_into(&mut image);
        (image, self.body_form().inner)
    }

    /// Appends the data of a plain block, then its lengths.
    pub(super) fn body_into(&self, out: &mut Vec<u8>) {
        let h = self.header();
        out.extend_from_slice(self.bytes(h.start as usize, h.data_len()));
        if h.kind == Kind::Str {
            let lengths = self.len() * h.width as usize;
            out.extend_from_slice(self.bytes(h.length_offset(self.len()), lengths));
        }
    }

    /// What must be known of a plain block beside what [`Block::body_into`] appends.
    pub(super) fn body_form(&self) -> Body {
        let h = self.header();
        let kind = if h.kind == Kind::Int { IMAGE_BODY_INT } else { IMAGE_BODY_STR };
        Body {
            inner: kind | h.width << WIDTH_SHIFT,
            n: self.len(),
            aux: h.body_aux(),
            is_reversed: self.reversed(),
            len: self.used(),
        }
    }

    pub(super) fn of_payload(codec: Codec, inner: u8, payload: &[u8], image_len: usize, n: usize) -> Block {
        let mut block = Block::with_capacity(Kind::Compressed, codec as u8, HEADER + payload.len());
        block.write(HEADER, payload);
        let h = block.header_mut();
        (h.inner, h.n) = (inner, n as u32);
        (h.start, h.end) = (image_len as u32, payload.len() as u32);
        block
    }

    pub(super) fn decompress(&self) -> Result<Block, Damaged> {
        let h = self.header();
        let (payload, codec) = (self.bytes(HEADER, h.end as usize), Codec::from_u8(h.width));
        let image_len = h.start as usize;
        if h.inner == IMAGE_LISTPACK {
            let mut image = vec![0; image_len];
            codec.decompress(payload, &mut image)?;
            return listpack::to_block(&image).map_err(|listpack::Damaged| Damaged);
        }
        let body = match h.inner {
            IMAGE_RAW => Body {
                inner: IMAGE_BODY_STR,
                n: self.len(),
                aux: image_len as u64,
                is_reversed: self.reversed(),
                len: image_len,
            },
            inner => Body { inner, n: self.len(), aux: h.aux, is_reversed: self.reversed(), len: image_len },
        };
        body.build(|image| codec.decompress(payload, image))
    }
}

/// What a plain block is made from: its image, and this.
pub(super) struct Body {
    /// Kind and width.
    pub inner: u8,
    pub n: usize,
    /// The base of an Int block, the length of the elements of a Str block of width 0.
    pub aux: u64,
    pub is_reversed: bool,
    /// Bytes of the image.
    pub len: usize,
}

impl Body {
    /// Makes the block, whose image `fill` puts into zeros. Refuses what does not agree with itself, but takes the lengths of
    /// elements on trust.
    pub(super) fn build(
        &self,
        fill: impl FnOnce(&mut [u8]) -> Result<(), Damaged>,
    ) -> Result<Block, Damaged> {
        let width = self.inner >> WIDTH_SHIFT;
        let sizes = self.n.checked_mul(usize::from(width)).ok_or(Damaged)?;
        let (kind, lengths) = match self.inner & !(u8::MAX << WIDTH_SHIFT) {
            IMAGE_BODY_INT if matches!(width, 1 | 2 | 4 | 8) => (Kind::Int, 0),
            IMAGE_BODY_STR if matches!(width, 0 | 1 | 2 | 4) => (Kind::Str, sizes),
            _ => return Err(Damaged),
        };
        let aux_fits = match kind {
            Kind::Int => sizes == self.len && (width != 8 || self.aux == 0),
            _ => self.aux <= u64::from(u32::MAX) && (width == 0 || self.aux == 0),
        };
        if !aux_fits || lengths > self.len || self.n >= 1 << 30 || self.len > super::ELEMENT_LEN_MAX {
            return Err(Damaged);
        }
        let mut block = Block::with_capacity(kind, width, HEADER + self.len);
        block.fill(HEADER, self.len, fill)?;
        block.shift(HEADER + self.len - lengths, block.heap_bytes() - lengths, lengths);
        let new = block.header_mut();
        (new.n, new.end, new.aux) = (self.n as u32, (HEADER + self.len - lengths) as u32, self.aux);
        block.set_flag(REVERSED, self.is_reversed);
        Ok(block)
    }
}

impl super::Header {
    /// What a body image needs of `aux`: the base, or the length of all elements.
    fn body_aux(&self) -> u64 {
        match self.kind {
            Kind::Int => self.aux,
            _ if self.width == 0 => self.elem_len() as u64,
            _ => 0,
        }
    }
}
