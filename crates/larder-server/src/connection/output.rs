//! Replies that wait to be sent: one buffer that commands append to, and a chain of full ones before it.
//!
//! Nearly always everything goes out with one write at the end of the iteration and the buffer returns to the event
//! loop. A buffer that has grown beyond [`CHUNK_BYTES`] joins the chain as it is, so that nothing is copied twice, and
//! the chain is sent with vectored writes.
//!
//! Invariants:
//! - I1: `chain_bytes` is the sum of the chain's chunks, minus what has been sent of the first one.
//! - I2: `chain_memory` is the sum of what the chain's chunks take, sent or not, used or spare.

use super::Stream;
use larder_engine::config::OutputLimit;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;

/// The tail joins the chain from this size on.
const CHUNK_BYTES: usize = 64 * 1024;
/// Shared bytes below this are copied; from here on the chain refers to them.
const SHARED_BYTES_MIN: usize = 4 * 1024;
/// Buffers in one vectored write.
const SLICES_MAX: usize = 64;
/// Buffers above this capacity are not kept for reuse.
const KEPT_BYTES_MAX: usize = 64 * 1024;
/// What a new buffer has room for: two cache lines, which are its own then. Smaller ones of two threads could share one, and each reply would
/// take it away from the other thread.
const NEW_BYTES: usize = 128;
/// Buffers kept for reuse.
const KEPT_MAX: usize = 64;

enum Chunk {
    Own(Vec<u8>),
    Shared(Arc<[u8]>),
}

impl Chunk {
    fn bytes(&self) -> &[u8] {
        match self {
            Chunk::Own(bytes) => bytes,
            Chunk::Shared(bytes) => bytes,
        }
    }

    /// What it takes; of shared bytes, as if nobody else held them.
    fn memory(&self) -> usize {
        match self {
            Chunk::Own(bytes) => bytes.capacity(),
            Chunk::Shared(bytes) => bytes.len(),
        }
    }
}

/// Buffers that no connection needs at the moment.
#[derive(Default)]
pub struct Pool {
    buffers: Vec<Vec<u8>>,
}

impl Pool {
    fn get(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_else(|| Vec::with_capacity(NEW_BYTES))
    }

    fn put(&mut self, mut buffer: Vec<u8>) {
        if (NEW_BYTES..=KEPT_BYTES_MAX).contains(&buffer.capacity()) && self.buffers.len() < KEPT_MAX {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }
}

/// What a replica has to be sent of the stream, which is in no output.
#[derive(Clone, Copy, Default)]
pub struct Unsent {
    /// How much it is.
    pub bytes: u64,
    /// The hard limit counts as this if it is less: what the backlog keeps costs nothing more.
    pub hard_bytes_min: u64,
}

/// What has been sent in a turn.
#[derive(Clone, Copy, Debug)]
pub struct Flushed {
    /// How much it is.
    pub bytes: usize,
    /// The socket takes no more for now.
    pub is_full: bool,
}

/// What a connection has to send.
#[derive(Default)]
pub struct Output {
    /// Where replies are appended.
    pub tail: Vec<u8>,
    chain: VecDeque<Chunk>,
    chain_bytes: usize,
    chain_memory: usize,
    /// Bytes of the first chunk (of the tail, when there is no chain) that have been sent.
    sent: usize,
    /// Since when the soft limit is exceeded, in ms.
    soft_since_ms: Option<u64>,
}

impl Output {
    /// Whether everything is sent.
    pub fn is_empty(&self) -> bool {
        self.tail.is_empty() && self.chain.is_empty()
    }

    /// Bytes that wait.
    pub fn len(&self) -> usize {
        let sent_of_tail = if self.chain.is_empty() { self.sent } else { 0 };
        self.chain_bytes + self.tail.len() - sent_of_tail
    }

    /// Bytes of memory that what waits takes: a buffer goes as a whole when all of it is sent. O(1).
    pub fn memory(&self) -> usize {
        self.chain_memory + self.tail.capacity()
    }

    /// Buffers in the chain.
    pub fn chain_len(&self) -> usize {
        self.chain.len()
    }

    /// Makes the tail ready to be appended to.
    #[inline]
    pub fn open(&mut self, pool: &mut Pool) {
        if self.tail.capacity() == 0 {
            self.tail = pool.get();
        }
    }

    /// Moves a large tail to the chain.
    #[inline]
    pub fn settle(&mut self) {
        if self.tail.len() >= CHUNK_BYTES {
            self.chain_tail();
        }
    }

    /// Appends bytes that other clients get too.
    pub fn push_shared(&mut self, bytes: &Arc<[u8]>) {
        if bytes.len() < SHARED_BYTES_MIN {
            self.tail.extend_from_slice(bytes);
            return self.settle();
        }
        self.chain_tail();
        self.chain_bytes += bytes.len();
        self.push(Chunk::Shared(Arc::clone(bytes)));
    }

    fn push(&mut self, chunk: Chunk) {
        self.chain_memory += chunk.memory();
        self.chain.push_back(chunk);
    }

    fn chain_tail(&mut self) {
        if self.tail.is_empty() {
            return;
        }
        let sent = if self.chain.is_empty() { self.sent } else { 0 };
        let tail = std::mem::take(&mut self.tail);
        self.chain_bytes += tail.len() - sent;
        self.push(Chunk::Own(tail));
    }

    /// Sends what the socket takes, but no more than this many bytes: others wait for their turn.
    pub fn flush(&mut self, stream: &mut Stream, pool: &mut Pool, bytes_max: usize) -> io::Result<Flushed> {
        let mut flushed = Flushed { bytes: 0, is_full: false };
        while !self.is_empty() && flushed.bytes < bytes_max {
            match self.write_some(stream, bytes_max - flushed.bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    flushed.bytes += n;
                    self.advance(n, pool);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    flushed.is_full = true;
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(flushed)
    }

    fn write_some(&self, stream: &mut Stream, bytes_max: usize) -> io::Result<usize> {
        if self.chain.is_empty() {
            let unsent = &self.tail[self.sent..];
            return stream.write(&unsent[..unsent.len().min(bytes_max)]);
        }
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let (mut count, mut left) = (0, bytes_max);
        let tail = (!self.tail.is_empty()).then_some(self.tail.as_slice());
        for bytes in self.chain.iter().map(Chunk::bytes).chain(tail).take(SLICES_MAX) {
            let unsent = if count == 0 { &bytes[self.sent..] } else { bytes };
            let part = &unsent[..unsent.len().min(left)];
            slices[count] = IoSlice::new(part);
            count += 1;
            left -= part.len();
            if left == 0 {
                break;
            }
        }
        stream.write_vectored(&slices[..count])
    }

    /// `n` bytes have been sent.
    fn advance(&mut self, n: usize, pool: &mut Pool) {
        let mut left = n;
        while let Some(first) = self.chain.front().map(|chunk| chunk.bytes().len()) {
            let now = left.min(first - self.sent);
            self.chain_bytes -= now;
            self.sent += now;
            left -= now;
            if self.sent < first {
                return;
            }
            self.sent = 0;
            let gone = self.chain.pop_front().map_or(0, |chunk| chunk.memory());
            self.chain_memory -= gone;
        }
        if self.chain.capacity() > 0 {
            self.chain = VecDeque::new();
        }
        self.sent += left;
        if self.sent == self.tail.len() {
            self.sent = 0;
            pool.put(std::mem::take(&mut self.tail));
        }
    }

    /// Whether the client must be closed because it does not read: at once above the hard limit, after some seconds
    /// above the soft one. A replica has part of the stream to take besides.
    pub fn over_limit(&mut self, limit: &OutputLimit, stream: Unsent, now_ms: u64) -> bool {
        let len = self.len() as u64 + stream.bytes;
        limit.is_exceeded(len, stream.hard_bytes_min, &mut self.soft_since_ms, now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mio::net::UnixStream;
    use std::io::Read;

    fn pair() -> (Stream, UnixStream) {
        let (a, b) = UnixStream::pair().unwrap();
        (Stream::Unix(a), b)
    }

    #[test]
    fn everything_arrives_in_order() {
        let seed = larder_testkit::seed(5);
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut near, mut far) = pair();
        let (mut output, mut pool) = (Output::default(), Pool::default());
        let (mut expected, mut got) = (Vec::new(), Vec::new());
        for step in 0..2000 {
            let bytes: Vec<u8> = std::iter::repeat_n(step as u8, rng.usize(0..20_000)).collect();
            expected.extend_from_slice(&bytes);
            output.open(&mut pool);
            if rng.bool() {
                output.push_shared(&bytes.into());
            } else {
                output.tail.extend_from_slice(&bytes);
                output.settle();
            }
            let (before, bytes_max) = (output.len(), rng.usize(1..100_000));
            let Flushed { bytes, is_full } = output.flush(&mut near, &mut pool, bytes_max).unwrap();
            assert_eq!(output.len(), before - bytes, "SEED={seed}");
            assert!(bytes <= bytes_max, "SEED={seed}");
            assert!(is_full || bytes == bytes_max || output.is_empty(), "SEED={seed}");
            let mut part = vec![0; rng.usize(1..40_000)];
            let n = far.read(&mut part).unwrap_or(0);
            got.extend_from_slice(&part[..n]);
        }
        while got.len() < expected.len() {
            output.flush(&mut near, &mut pool, usize::MAX).unwrap();
            let mut part = vec![0; 65536];
            let n = far.read(&mut part).unwrap_or(0);
            got.extend_from_slice(&part[..n]);
        }
        assert!(got == expected, "SEED={seed}");
        assert!(output.is_empty() && output.tail.capacity() == 0);
    }

    #[test]
    fn limits() {
        let config = larder_engine::config::Config::new(1);
        config.store_own("client-output-buffer-limit", "normal 1000 100 2").unwrap();
        let limit = &config.hot.output_limits[0];
        let over = |output: &mut Output, now| output.over_limit(limit, Unsent::default(), now);
        let mut output = Output { tail: vec![0; 100], ..Output::default() };
        assert!(!over(&mut output, 0));
        output.tail.resize(500, 0);
        assert!(!over(&mut output, 1000) && !over(&mut output, 3000));
        assert!(over(&mut output, 3001));
        output.tail.resize(1001, 0);
        assert!(over(&mut output, 0));
        let stream = |bytes, hard_bytes_min| Unsent { bytes, hard_bytes_min };
        let mut output = Output::default();
        assert!(!output.over_limit(limit, stream(1000, 0), 0));
        assert!(output.over_limit(limit, stream(1001, 0), 0));
        assert!(!output.over_limit(limit, stream(1001, 5000), 0));
        assert!(output.over_limit(limit, stream(5001, 5000), 0));
    }
}
