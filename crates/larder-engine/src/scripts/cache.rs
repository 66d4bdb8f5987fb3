//! The scripts that EVALSHA can name, by the SHA-1 of their text.
//!
//! SCRIPT LOAD keeps a script until SCRIPT FLUSH. Scripts that only EVAL has brought would pile up where clients build
//! their texts again each time: of those the 500 most recently used stay.

use crate::scripts::header::ScriptFlags;
use crate::scripts::usual::UsualTime;
use crate::text::hex;
use larder_collections::keyed_hash::KeyedState;
use sha1::{Digest, Sha1};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Scripts kept that nobody has asked to keep.
pub(crate) const TRANSIENT_MAX: usize = 500;

/// Forty lower-case hexadecimal digits.
pub(crate) type Sha = [u8; 40];

/// The text of a script and what its first line says.
pub(crate) struct Script {
    pub sha: Sha,
    /// As given; what is compiled begins at `code_at`.
    pub text: Box<[u8]>,
    /// Where the first line ends, if it was one for us; the line break is kept for the numbers of lines.
    pub code_at: usize,
    /// `None` when there is no such line: then what the script may do is decided command by command.
    pub flags: Option<ScriptFlags>,
    /// When it was last looked up, on the cache's own clock.
    used: AtomicU64,
    /// How long it takes.
    pub usual: UsualTime,
}

impl Script {
    pub(crate) fn new(text: &[u8], code_at: usize, flags: Option<ScriptFlags>) -> Script {
        Script {
            sha: sha_of(text),
            text: text.into(),
            code_at,
            flags,
            used: AtomicU64::new(0),
            usual: UsualTime::default(),
        }
    }

    /// What is compiled.
    pub(crate) fn code(&self) -> &[u8] {
        &self.text[self.code_at..]
    }
}

/// An argument as a digest.
pub(crate) fn digest(arg: &[u8]) -> Option<Sha> {
    let mut sha: Sha = arg.try_into().ok()?;
    sha.make_ascii_lowercase();
    Some(sha)
}

/// The digest of a text.
pub(crate) fn sha_of(text: &[u8]) -> Sha {
    hex::digits_of(&Sha1::digest(text))
}

/// All scripts.
#[derive(Default)]
pub(crate) struct ScriptCache {
    scripts: HashMap<Sha, (Arc<Script>, bool), KeyedState>,
    /// Scripts that do not stay.
    transient: usize,
    clock: AtomicU64,
    evicted: u64,
}

impl ScriptCache {
    pub(crate) fn find(&self, sha: &Sha) -> Option<Arc<Script>> {
        let (script, stays) = self.scripts.get(sha)?;
        if !stays {
            script.used.store(self.clock.fetch_add(1, Relaxed), Relaxed);
        }
        Some(Arc::clone(script))
    }

    /// Whether there is a script of this digest.
    pub(crate) fn contains(&self, sha: &Sha) -> bool {
        self.scripts.contains_key(sha)
    }

    /// Keeps a script. O(1), but O(scripts) when one that does not stay takes another's place.
    pub(crate) fn add(&mut self, script: Script, stays: bool) -> Arc<Script> {
        if let Some((known, stayed)) = self.scripts.get_mut(&script.sha) {
            self.transient -= usize::from(stays && !*stayed);
            *stayed |= stays;
            return Arc::clone(known);
        }
        if !stays {
            if self.transient >= TRANSIENT_MAX {
                self.evict();
            }
            self.transient += 1;
        }
        script.used.store(self.clock.fetch_add(1, Relaxed), Relaxed);
        let script = Arc::new(script);
        self.scripts.insert(script.sha, (Arc::clone(&script), stays));
        script
    }

    fn evict(&mut self) {
        let transient = self.scripts.values().filter(|(_, stays)| !stays);
        if let Some(oldest) = transient.min_by_key(|(script, _)| script.used.load(Relaxed)) {
            let sha = oldest.0.sha;
            self.scripts.remove(&sha);
            self.transient -= 1;
            self.evicted += 1;
        }
    }

    /// Number of scripts.
    pub(crate) fn len(&self) -> usize {
        self.scripts.len()
    }

    /// Scripts that made place for others.
    pub(crate) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Counts scripts that make place for others from zero again.
    pub(crate) fn forget_evicted(&mut self) {
        self.evicted = 0;
    }

    /// Forgets all scripts, which have made place for nobody.
    pub(crate) fn clear(&mut self) {
        *self = ScriptCache { evicted: self.evicted, ..ScriptCache::default() };
    }

    /// Bytes of the texts and of the table.
    pub(crate) fn memory_bytes(&self) -> usize {
        let each = size_of::<(Sha, Arc<Script>, bool)>() + size_of::<Script>() + 16;
        self.scripts.values().map(|(script, _)| script.text.len() + each).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Script {
        Script::new(text.as_bytes(), 0, None)
    }

    #[test]
    fn the_least_recently_used_makes_place() {
        let mut cache = ScriptCache::default();
        let kept = cache.add(script("kept"), true).sha;
        let first = cache.add(script("0"), false).sha;
        let second = cache.add(script("1"), false).sha;
        for n in 2..TRANSIENT_MAX {
            cache.add(script(&n.to_string()), false);
        }
        assert_eq!((cache.len(), cache.evicted()), (TRANSIENT_MAX + 1, 0));
        cache.find(&first).unwrap();
        cache.add(script("new"), false);
        assert!(cache.contains(&first) && !cache.contains(&second) && cache.contains(&kept));
        assert_eq!((cache.len(), cache.evicted()), (TRANSIENT_MAX + 1, 1));
    }

    #[test]
    fn loading_makes_a_script_stay() {
        let mut cache = ScriptCache::default();
        let sha = cache.add(script("mine"), false).sha;
        cache.add(script("mine"), true);
        for n in 0..2 * TRANSIENT_MAX {
            cache.add(script(&n.to_string()), false);
        }
        assert!(cache.contains(&sha));
        assert_eq!(sha_of(b"abc"), *b"a9993e364706816aba3e25717850c26c9cd0d89d");
    }
}
