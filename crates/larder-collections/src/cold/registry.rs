//! The dictionaries of cold values, by number.
//!
//! A dictionary lives as long as somebody counts it: the one who adds values with it, and each value that it has compressed.

use crate::numbered::{self, Counted, Numbered};
use larder_packed::bytes::SharedBytes;
use larder_packed::dictionary::{self, Compressor};
use std::ptr::null_mut;
use std::sync::atomic::AtomicPtr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most dictionaries at a time.
const DICTIONARIES_MAX: usize = 256;

static PLACES: [AtomicPtr<Dictionary>; DICTIONARIES_MAX] =
    [const { AtomicPtr::new(null_mut()) }; DICTIONARIES_MAX];
static LOCK: Mutex<()> = Mutex::new(());

/// A dictionary with its number.
pub struct Dictionary {
    number: u8,
    /// Values in hashes count it without its number.
    dictionary: Arc<dictionary::Dictionary>,
}

/// A dictionary that its holder keeps alive.
pub type DictionaryRef = Counted<Dictionary>;

impl Numbered for Dictionary {
    fn places() -> &'static [AtomicPtr<Dictionary>] {
        &PLACES
    }

    #[inline]
    fn number(&self) -> u16 {
        u16::from(self.number)
    }
}

impl Dictionary {
    /// Something to compress values with; None without memory.
    pub fn compressor(&self) -> Option<Compressor> {
        Compressor::new(&self.dictionary)
    }

    /// Bytes of heap.
    pub fn heap_bytes(&self) -> usize {
        self.dictionary.heap_bytes()
    }

    /// Its number.
    pub fn number_byte(&self) -> u8 {
        self.number
    }

    /// The dictionary itself.
    pub fn trained(&self) -> &Arc<dictionary::Dictionary> {
        &self.dictionary
    }

    /// The bytes of a frame that was compressed with this, in an allocation of their own.
    pub(crate) fn decompress_shared(&self, frame: &[u8]) -> SharedBytes {
        self.dictionary.decompress_shared(frame).expect("a frame is kept as it was made")
    }

    /// Appends the bytes of a frame that was compressed with this.
    pub(crate) fn decompress(&self, frame: &[u8], out: &mut Vec<u8>) {
        self.dictionary.decompress(frame, out).expect("a frame is kept as it was made");
    }
}

/// Figures of the dictionaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DictionaryStats {
    /// Dictionaries.
    pub count: usize,
    /// Bytes of them.
    pub bytes: usize,
    /// Values that were compressed with them, clones among them.
    pub users: usize,
}

/// Gives a dictionary a number; None if all are in use.
pub fn add(dictionary: dictionary::Dictionary) -> Option<DictionaryRef> {
    let _lock = lock();
    let is_free = |&number: &u8| numbered::look::<Dictionary, _>(u16::from(number), |_, _| ()).is_none();
    let number = (0..=u8::MAX).find(is_free)?;
    numbered::put(Dictionary { number, dictionary: Arc::new(dictionary) });
    numbered::get(u16::from(number))
}

/// Frees dictionaries that nobody counts. For a periodic task.
pub fn sweep() {
    let _lock = lock();
    for number in 0..DICTIONARIES_MAX as u16 {
        let is_shared = numbered::look(number, |dictionary: &Dictionary, _| {
            Arc::strong_count(&dictionary.dictionary) > 1
        });
        if is_shared == Some(false) {
            numbered::take_unused::<Dictionary>(number);
        }
    }
}

/// What there is now.
pub fn stats() -> DictionaryStats {
    let _lock = lock();
    let mut stats = DictionaryStats::default();
    for number in 0..DICTIONARIES_MAX as u16 {
        numbered::look(number, |dictionary: &Dictionary, users| {
            stats.count += 1;
            stats.bytes += dictionary.heap_bytes();
            stats.users += users + Arc::strong_count(&dictionary.dictionary) - 1;
        });
    }
    stats
}

fn lock() -> MutexGuard<'static, ()> {
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}
