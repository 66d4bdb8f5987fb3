//! Byte codecs and the one place for layout tricks: packed blocks, the block heap, LZF and the other codecs.

mod age;
pub mod bits;
pub mod block;
pub mod buffer;
pub mod bytes;
pub mod codec;
mod cold;
pub mod cycles;
pub mod dictionary;
pub mod embed;
pub mod heap;
pub mod int;
pub mod int_block;
pub mod leaf;
pub mod listpack;
pub mod lzf;
pub mod segment;
mod short;
pub mod small_bytes;
pub mod stream_node;
