//! Compressed links: what a primary sends to a replica that has asked for it.
//!
//! A replica asks by `REPLCONF capa larder-lz4` or `larder-zstd`, which other servers ignore. The primary agrees by a last word in its
//! answer to PSYNC (`lz4` or `zstd`); from the byte after that line on, what it sends is in messages:
//!
//! ```text
//!   0..4   bytes of the payload, little endian; the highest bit says that a new series begins
//!   4..8   bytes of what it holds: 1 to 65,536
//!   8..    the payload
//! ```
//!
//! The payloads of a series are one compressed text (a frame of Zstandard with a window of 128 KiB, or of LZ4 with linked blocks), cut where a
//! message ends: so a short message is compressed by what came before it. A snapshot is a series that all replicas of a group are sent alike;
//! the stream of each is another one. Positions in the stream count bytes before compression.
//!
//! Cost, for each replica: about 0.4 MiB at the primary for zstd and 0.3 for lz4, half of it at the replica.

use larder_engine::config::LinkCompression;
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use std::io::{Cursor, Read, Write};
use zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer};

/// The most bytes that a message holds.
pub const HELD_MAX: usize = 64 << 10;
/// What cannot be compressed takes hardly more.
const PAYLOAD_MAX: usize = HELD_MAX + 4096;
const HEAD_BYTES: usize = 8;
/// Bytes that are expanded at once, about.
const EXPANDED_AT_ONCE: usize = 1 << 20;
const BEGINS: u32 = 1 << 31;
/// What cannot be compressed takes at most this much more, and a hundredth.
const MARGIN_BYTES: usize = 512;
/// The fastest that saves much; the next ones cost twice as much for a tenth.
const ZSTD_LEVEL: i32 = 1;
/// Powers of two: what a later message may refer to, and what a replica must keep.
const ZSTD_WINDOW_LOG: u32 = 17;

/// Compresses one series.
pub struct Encoder {
    codec: Encoding,
    begins: bool,
}

enum Encoding {
    Lz4(Box<FrameEncoder<Vec<u8>>>),
    Zstd(CCtx<'static>),
}

impl Encoder {
    /// A new series; `None` for a link that is not compressed.
    pub fn new(compression: LinkCompression) -> Option<Encoder> {
        let codec = match compression {
            LinkCompression::No => return None,
            LinkCompression::Lz4 => {
                let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Linked);
                Encoding::Lz4(Box::new(FrameEncoder::with_frame_info(info, Vec::new())))
            }
            LinkCompression::Zstd => {
                let mut context = CCtx::create();
                for parameter in
                    [CParameter::CompressionLevel(ZSTD_LEVEL), CParameter::WindowLog(ZSTD_WINDOW_LOG)]
                {
                    context.set_parameter(parameter).expect("zstd knows its parameters");
                }
                Encoding::Zstd(context)
            }
        };
        Some(Encoder { codec, begins: true })
    }

    /// Appends messages that hold these bytes to `out`.
    pub fn encode(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for held in bytes.chunks(HELD_MAX) {
            let at = out.len();
            out.extend_from_slice(&[0; HEAD_BYTES]);
            self.codec.compress(held, out);
            let begins = if std::mem::take(&mut self.begins) { BEGINS } else { 0 };
            let payload = (out.len() - at - HEAD_BYTES) as u32;
            out[at..at + 4].copy_from_slice(&(payload | begins).to_le_bytes());
            out[at + 4..at + 8].copy_from_slice(&(held.len() as u32).to_le_bytes());
        }
    }
}

impl Encoding {
    /// Appends the part of the compressed text that holds these bytes.
    fn compress(&mut self, held: &[u8], out: &mut Vec<u8>) {
        match self {
            Encoding::Lz4(encoder) => {
                let written = encoder.write_all(held).and_then(|()| encoder.flush());
                written.expect("a vector takes everything");
                out.append(encoder.get_mut());
            }
            Encoding::Zstd(context) => {
                let mut input = InBuffer::around(held);
                let flush = ZSTD_EndDirective::ZSTD_e_flush;
                loop {
                    let end = out.len();
                    out.resize(end + held.len() + held.len() / 128 + MARGIN_BYTES, 0);
                    let mut output = OutBuffer::around(&mut out[end..]);
                    let left = context.compress_stream2(&mut output, &mut input, flush);
                    let written = output.pos();
                    out.truncate(end + written);
                    if left.expect("zstd compresses everything") == 0 && input.pos() == held.len() {
                        return;
                    }
                }
            }
        }
    }
}

/// What was received is no message of a compressed link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// Takes messages apart.
pub struct Decoder {
    compression: LinkCompression,
    codec: Option<Decoding>,
    /// What has come and is not expanded yet.
    wire: Vec<u8>,
}

enum Decoding {
    Lz4(Box<FrameDecoder<Cursor<Vec<u8>>>>),
    Zstd(DCtx<'static>),
}

impl Decoder {
    /// For what follows the answer to PSYNC; `None` for a link that is not compressed.
    pub fn new(compression: LinkCompression) -> Option<Decoder> {
        let is_compressed = compression != LinkCompression::No;
        is_compressed.then(|| Decoder { compression, codec: None, wire: Vec::new() })
    }

    /// Takes what has come, and appends what whole messages hold to `out`: about a MiB at once, so that a few bytes do not become
    /// a gigabyte. [`Decoder::has_message`] tells whether there is more.
    ///
    /// # Errors
    /// After damaged bytes nothing more can be read.
    pub fn decode(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Damaged> {
        self.wire.extend_from_slice(bytes);
        let (mut used, enough) = (0, out.len() + EXPANDED_AT_ONCE);
        while out.len() < enough
            && let Some(message) = Message::first_of(&self.wire[used..])?
        {
            if message.begins {
                self.codec = Some(Decoding::new(self.compression));
            }
            let at = out.len();
            out.resize(at + message.held, 0);
            self.codec.as_mut().ok_or(Damaged)?.expand(message.payload, &mut out[at..])?;
            used += HEAD_BYTES + message.payload.len();
        }
        self.wire.drain(..used);
        Ok(())
    }

    /// Whether a whole message has come that is not expanded yet, or one that is damaged.
    pub fn has_message(&self) -> bool {
        Message::first_of(&self.wire).map_or(true, |message| message.is_some())
    }
}

struct Message<'w> {
    begins: bool,
    held: usize,
    payload: &'w [u8],
}

impl<'w> Message<'w> {
    /// The first message, if the whole of it has come.
    fn first_of(wire: &'w [u8]) -> Result<Option<Message<'w>>, Damaged> {
        let Some((head, rest)) = wire.split_first_chunk::<HEAD_BYTES>() else { return Ok(None) };
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (payload, held) = ((number(0) & !BEGINS) as usize, number(4) as usize);
        if !(1..=PAYLOAD_MAX).contains(&payload) || !(1..=HELD_MAX).contains(&held) {
            return Err(Damaged);
        }
        let begins = number(0) & BEGINS != 0;
        Ok(rest.get(..payload).map(|payload| Message { begins, held, payload }))
    }
}

impl Decoding {
    fn new(compression: LinkCompression) -> Decoding {
        if compression == LinkCompression::Lz4 {
            return Decoding::Lz4(Box::new(FrameDecoder::new(Cursor::default())));
        }
        let mut context = DCtx::create();
        context.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG)).expect("zstd knows its parameters");
        Decoding::Zstd(context)
    }

    /// Expands a payload, which is to fill `out`.
    fn expand(&mut self, payload: &[u8], out: &mut [u8]) -> Result<(), Damaged> {
        match self {
            Decoding::Lz4(decoder) => {
                *decoder.get_mut() = Cursor::new(payload.to_vec());
                decoder.read_exact(out).map_err(|_| Damaged)
            }
            Decoding::Zstd(context) => {
                let mut input = InBuffer::around(payload);
                let mut output = OutBuffer::around(out);
                while input.pos() < payload.len() {
                    let (read, written) = (input.pos(), output.pos());
                    context.decompress_stream(&mut output, &mut input).map_err(|_| Damaged)?;
                    if (input.pos(), output.pos()) == (read, written) {
                        return Err(Damaged);
                    }
                }
                if output.pos() == output.capacity() { Ok(()) } else { Err(Damaged) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_testkit::seed;

    const BOTH: [LinkCompression; 2] = [LinkCompression::Lz4, LinkCompression::Zstd];

    /// Pieces of every size, some of which cannot be compressed.
    fn pieces(rng: &mut fastrand::Rng) -> Vec<Vec<u8>> {
        let piece = |rng: &mut fastrand::Rng| {
            let len = 1 << rng.u32(0..18);
            let len = rng.usize(1..=len);
            match rng.bool() {
                true => (0..len).map(|_| rng.u8(..)).collect(),
                false => format!("{{\"user\": {}, \"name\": \"somebody\"}}", rng.u16(..))
                    .bytes()
                    .cycle()
                    .take(len)
                    .collect(),
            }
        };
        (0..60).map(|_| piece(rng)).collect()
    }

    fn take_all(decoder: &mut Decoder, wire: &[u8], got: &mut Vec<u8>) {
        decoder.decode(wire, got).unwrap();
        while decoder.has_message() {
            decoder.decode(&[], got).unwrap();
        }
    }

    #[test]
    fn what_was_sent_arrives_however_it_is_cut() {
        for compression in BOTH {
            let mut rng = fastrand::Rng::with_seed(seed(7));
            let mut decoder = Decoder::new(compression).unwrap();
            for _series in 0..3 {
                let mut encoder = Encoder::new(compression).unwrap();
                let (mut sent, mut wire, mut got) = (Vec::new(), Vec::new(), Vec::new());
                for piece in pieces(&mut rng) {
                    encoder.encode(&piece, &mut wire);
                    sent.extend_from_slice(&piece);
                    // All that was encoded can be decoded at once.
                    if rng.bool() {
                        take_all(&mut decoder, &std::mem::take(&mut wire), &mut got);
                        assert!(got == sent, "{compression:?}");
                    }
                }
                for part in wire.chunks(rng.usize(1..5000)) {
                    take_all(&mut decoder, part, &mut got);
                }
                assert!(got == sent, "{compression:?}");
            }
        }
    }

    #[test]
    fn short_messages_are_compressed_by_those_before() {
        for (compression, most) in BOTH.into_iter().zip([0.6, 0.4]) {
            let mut encoder = Encoder::new(compression).unwrap();
            let (mut sent, mut wire) = (0, Vec::new());
            for i in 0..1000 {
                let text = format!(
                    "*3\r\n$3\r\nSET\r\n$8\r\nuser:{i:03}\r\n$74\r\n{{\"id\": {i}, \"name\": \"Somebody {i}\", \"mail\": \"somebody{i}@example.org\", \"active\": true}}\r\n"
                );
                sent += text.len();
                encoder.encode(text.as_bytes(), &mut wire);
            }
            let ratio = wire.len() as f64 / sent as f64;
            assert!(ratio < most, "{compression:?}: {ratio}");
        }
    }

    #[test]
    fn damaged_messages_are_refused() {
        for compression in BOTH {
            let mut rng = fastrand::Rng::with_seed(seed(8));
            let mut encoder = Encoder::new(compression).unwrap();
            let mut wire = Vec::new();
            for piece in pieces(&mut rng) {
                encoder.encode(&piece[..piece.len().min(2000)], &mut wire);
            }
            let mut refused = 0;
            for _ in 0..2000 {
                let mut damaged = wire.clone();
                for _ in 0..rng.usize(1..4) {
                    let at = rng.usize(..damaged.len());
                    damaged[at] = rng.u8(..);
                }
                damaged.truncate(rng.usize(1..=damaged.len()));
                let (mut decoder, mut got) = (Decoder::new(compression).unwrap(), Vec::new());
                refused += usize::from(decoder.decode(&damaged, &mut got).is_err());
                assert!(got.len() < EXPANDED_AT_ONCE + HELD_MAX);
            }
            // Most of the damage is in what cannot be compressed, and stands there as it is.
            assert!(refused > 20, "{refused}");
            let mut decoder = Decoder::new(compression).unwrap();
            let without_beginning = [1, 0, 0, 0, 1, 0, 0, 0, 0];
            assert_eq!(decoder.decode(&without_beginning, &mut Vec::new()), Err(Damaged));
            let too_long = [0xff, 0xff, 0xff, 0x7f, 1, 0, 0, 0];
            assert_eq!(Decoder::new(compression).unwrap().decode(&too_long, &mut Vec::new()), Err(Damaged));
        }
    }
}
