//! The numbers of the format.
//!
//! ```text
//!  file     REDIS and 4 digits, or VALKEY and 3 | part .. | END | checksum u64 (since version 5; 0: none)
//!  part     AUX name value | FUNCTION_2 source | SLOT_IMPORT name, count of ranges, first and last slot .. | SELECT_DB length
//!           | RESIZE_DB keys expiring | key;
//!           passed over: SLOT_INFO length length length, MODULE_AUX of a module that says nothing
//!  key      EXPIRE_MS i64, EXPIRE_S i32, IDLE length, FREQ u8: none or some | type u8 | name | value
//!  length   00llllll | 01llllll llllllll | 0x80 u32 | 0x81 u64                          big endian
//!  string   length and bytes | 0xC0 i8 | 0xC1 i16 | 0xC2 i32 | 0xC3 length, length of the plain one, LZF
//! ```
//! What is not a length is little endian. Names and sources are strings, counts are lengths. The modules of
//! [`read`](crate::read) have the values of each type.

/// A version to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Redis 7.0: listpacks but not for sets.
    V10,
    /// Redis 7.2, Valkey 7.2 to 8.1.
    #[default]
    V11,
    /// Valkey 9: fields of hashes that expire.
    V80,
}

impl Version {
    /// The newest.
    pub const NEWEST: Version = Version::V80;

    /// The number in the header.
    pub fn number(self) -> u16 {
        match self {
            Version::V10 => 10,
            Version::V11 => 11,
            Version::V80 => 80,
        }
    }

    /// The version of a number, as configuration gives it.
    pub fn from_number(number: u32) -> Option<Version> {
        [Version::V10, Version::V11, Version::V80].into_iter().find(|v| u32::from(v.number()) == number)
    }
}

/// Versions that Redis gave to its later formats: the types that they share with version 11 can be read.
pub(crate) const FOREIGN_VERSIONS: std::ops::RangeInclusive<u32> = 12..=79;
/// The newest version that is known, and the first that is Valkey's own.
pub(crate) const VERSION_MAX: u32 = 80;

/// Whether this machine sends and takes the types of Larder's own: their integers are little endian, as they lie in memory.
pub const BLOCKS_TRAVEL: bool = cfg!(target_endian = "little");

/// Whether all types of a version are known.
pub fn is_known(version: u32) -> bool {
    (1..=VERSION_MAX).contains(&version) && !FOREIGN_VERSIONS.contains(&version)
}

/// Type bytes of values.
pub(crate) mod kind {
    pub const STRING: u8 = 0;
    pub const LIST: u8 = 1;
    pub const SET: u8 = 2;
    pub const ZSET: u8 = 3;
    pub const HASH: u8 = 4;
    pub const ZSET_2: u8 = 5;
    pub const MODULE: u8 = 6;
    pub const MODULE_2: u8 = 7;
    pub const HASH_ZIPMAP: u8 = 9;
    pub const LIST_ZIPLIST: u8 = 10;
    pub const SET_INTSET: u8 = 11;
    pub const ZSET_ZIPLIST: u8 = 12;
    pub const HASH_ZIPLIST: u8 = 13;
    pub const LIST_QUICKLIST: u8 = 14;
    pub const STREAM: u8 = 15;
    pub const HASH_LISTPACK: u8 = 16;
    pub const ZSET_LISTPACK: u8 = 17;
    pub const LIST_QUICKLIST_2: u8 = 18;
    pub const STREAM_2: u8 = 19;
    pub const SET_LISTPACK: u8 = 20;
    pub const STREAM_3: u8 = 21;
    /// The last one that means the same in all versions.
    pub const SHARED_MAX: u8 = STREAM_3;
    pub const HASH_2: u8 = 22;
    /// Types of Larder's own, far from those that others may add.
    pub const OWN_MIN: u8 = LIST_BLOCKS;
    pub const LIST_BLOCKS: u8 = 200;
    pub const ZSET_BLOCKS: u8 = 201;
    pub const HASH_BLOCKS: u8 = 202;
    pub const SET_BLOCKS: u8 = 203;
}

/// Opcodes between values.
pub(crate) mod opcode {
    pub const SLOT_IMPORT: u8 = 243;
    pub const SLOT_INFO: u8 = 244;
    pub const FUNCTION_2: u8 = 245;
    pub const FUNCTION_PRE_GA: u8 = 246;
    pub const MODULE_AUX: u8 = 247;
    pub const IDLE: u8 = 248;
    pub const FREQ: u8 = 249;
    pub const AUX: u8 = 250;
    pub const RESIZE_DB: u8 = 251;
    pub const EXPIRE_MS: u8 = 252;
    pub const EXPIRE_S: u8 = 253;
    pub const SELECT_DB: u8 = 254;
    pub const END: u8 = 255;
}

/// First bytes of lengths and of encoded strings.
pub(crate) mod length {
    /// The upper two bits say how long the length is.
    pub const CLASS: u8 = 0xC0;
    pub const SIX_BITS: u8 = 0x00;
    pub const FOURTEEN_BITS: u8 = 0x40;
    pub const U32: u8 = 0x80;
    pub const U64: u8 = 0x81;
    pub const ENCODED: u8 = 0xC0;
    pub const INT8: u8 = 0xC0;
    pub const INT16: u8 = 0xC1;
    pub const INT32: u8 = 0xC2;
    pub const LZF: u8 = 0xC3;
}

/// How a node of a list is stored.
pub(crate) mod container {
    pub const PLAIN: u64 = 1;
    pub const PACKED: u64 = 2;
}
