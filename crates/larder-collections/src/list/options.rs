//! What the configuration says about lists, as arguments.

use larder_packed::block::Limit;
use larder_packed::codec::Codec;

/// How full a block may become, from `list-max-listpack-size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    setting: i32,
}

/// Positive settings count elements, and still keep a block within this many bytes.
const SAFETY_BYTES: u32 = 8192;
/// The most elements that a positive setting can ask for, as in Redis.
const COUNT_MAX: i32 = 32767;

impl Fill {
    /// `-1..=-5` mean 4, 8, 16, 32 and 64 KB per block; a positive number means that many elements, at most 8 KB;
    /// 0 means one element. Other numbers are clamped into these, as Redis does.
    pub fn new(setting: i32) -> Fill {
        Fill { setting: setting.clamp(-5, COUNT_MAX) }
    }

    /// The setting after clamping.
    pub fn setting(self) -> i32 {
        self.setting
    }

    /// The limits of one block.
    #[inline]
    pub fn limit(self) -> Limit {
        match self.setting {
            ..0 => Limit { bytes: 2048 << -self.setting, count: Limit::NONE.count },
            count => Limit { bytes: SAFETY_BYTES, count: count.max(1) as u32 },
        }
    }
}

impl Default for Fill {
    /// 8 KB.
    fn default() -> Self {
        Fill::new(-2)
    }
}

/// Options of one list operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ListOptions {
    /// How full a block may become.
    pub fill: Fill,
    /// Blocks that stay plain at each end; 0 switches compression off.
    pub compress_depth: u32,
    /// What inner blocks are compressed with.
    pub codec: Codec,
}

impl ListOptions {
    /// Bytes to reserve for a block that opens with an element of `len` bytes at the end of a big list: all that the
    /// limits can use, so that it never has to grow.
    pub(super) fn room_bytes(&self, len: usize) -> usize {
        let limit = self.fill.limit();
        let by_count = (limit.count as usize).saturating_mul(len.max(2) + 2);
        if len > limit.bytes as usize { 0 } else { by_count.min(limit.bytes as usize) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_mean_what_redis_means() {
        let bytes = |setting| Fill::new(setting).limit().bytes;
        assert_eq!([-1, -2, -3, -4, -5, -9].map(bytes), [4096, 8192, 16384, 32768, 65536, 65536]);
        assert_eq!([0, 1, 16, 40_000].map(|s| Fill::new(s).limit().count), [1, 1, 16, 32767]);
        assert_eq!(bytes(16), 8192);
    }
}
