//! Libraries of functions: FUNCTION LOAD brings them, FCALL names their functions.

use crate::scripts::header::ScriptFlags;
use crate::scripts::usual::UsualTime;
use larder_collections::keyed_hash::KeyedState;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A library: its text, and the functions that it registered when it was loaded.
pub(crate) struct Library {
    /// Unlike that of any other library of the process.
    pub id: u64,
    pub name: Box<[u8]>,
    pub text: Box<[u8]>,
    pub functions: Vec<Function>,
}

/// What is known of a function, beside its code.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub name: Box<[u8]>,
    pub description: Option<Box<[u8]>>,
    pub flags: ScriptFlags,
    /// How long it takes.
    pub usual: UsualTime,
}

impl Library {
    pub(crate) fn new(name: &[u8], text: &[u8], functions: Vec<Function>) -> Library {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Relaxed);
        Library { id, name: name.into(), text: text.into(), functions }
    }
}

/// All libraries. Names of functions are unique among them, in any case.
#[derive(Clone, Default)]
pub(crate) struct Libraries {
    by_name: BTreeMap<Box<[u8]>, Arc<Library>>,
    functions: HashMap<Box<[u8]>, (Arc<Library>, usize), KeyedState>,
}

fn lower(name: &[u8]) -> Box<[u8]> {
    name.to_ascii_lowercase().into()
}

/// Why a library cannot be added.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Clash {
    /// There is a library of that name.
    Library,
    /// Another library has a function of this name.
    Function(Box<[u8]>),
}

impl Libraries {
    /// Adds a library, in the place of one of the same name if `replace`; whether there was one. Nothing is changed if
    /// that fails.
    pub(crate) fn add(&mut self, library: Arc<Library>, replace: bool) -> Result<bool, Clash> {
        let replaces = self.by_name.contains_key(&library.name);
        if replaces && !replace {
            return Err(Clash::Library);
        }
        let is_taken = |function: &&Function| {
            let owner = self.functions.get(&lower(&function.name));
            owner.is_some_and(|(owner, _)| owner.name != library.name)
        };
        if let Some(twin) = library.functions.iter().find(is_taken) {
            return Err(Clash::Function(twin.name.clone()));
        }
        self.remove(&library.name);
        for (at, function) in library.functions.iter().enumerate() {
            self.functions.insert(lower(&function.name), (Arc::clone(&library), at));
        }
        self.by_name.insert(library.name.clone(), library);
        Ok(replaces)
    }

    /// Adds all libraries of another set, in the place of those of the same name if `replace`. On an error some have gone or come already.
    pub(crate) fn join(&mut self, others: &Libraries, replace: bool) -> Result<(), (Arc<Library>, Clash)> {
        // Those that go make room for functions of any that come.
        for library in others.iter() {
            if self.remove(&library.name) && !replace {
                return Err((Arc::clone(library), Clash::Library));
            }
        }
        others.iter().try_for_each(|library| {
            let added = self.add(Arc::clone(library), false);
            added.map(drop).map_err(|clash| (Arc::clone(library), clash))
        })
    }

    /// Takes a library away; false when there is none of that name.
    pub(crate) fn remove(&mut self, name: &[u8]) -> bool {
        let Some(library) = self.by_name.remove(name) else { return false };
        library.functions.iter().for_each(|f| drop(self.functions.remove(&lower(&f.name))));
        true
    }

    /// The library of a function and the function's number there; its name in any case.
    pub(crate) fn function(&self, name: &[u8]) -> Option<&(Arc<Library>, usize)> {
        self.functions.get(name).or_else(|| self.functions.get(&lower(name)))
    }

    /// The library of this name.
    pub(crate) fn library(&self, name: &[u8]) -> Option<&Arc<Library>> {
        self.by_name.get(name)
    }

    /// All libraries in the order of their names.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Library>> {
        self.by_name.values()
    }

    /// Number of functions.
    pub(crate) fn function_count(&self) -> usize {
        self.functions.len()
    }

    /// Bytes of texts and names.
    pub(crate) fn memory_bytes(&self) -> usize {
        let of = |library: &Arc<Library>| {
            let functions: usize = library.functions.iter().map(|f| 2 * f.name.len() + size_of_val(f)).sum();
            library.text.len() + library.name.len() + functions + size_of::<Library>()
        };
        self.by_name.values().map(of).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(name: &str, functions: &[&str]) -> Arc<Library> {
        let function = |name: &&str| Function {
            name: name.as_bytes().into(),
            description: None,
            flags: ScriptFlags::default(),
            usual: UsualTime::default(),
        };
        Arc::new(Library::new(name.as_bytes(), b"", functions.iter().map(function).collect()))
    }

    #[test]
    fn names_are_unique() {
        let mut all = Libraries::default();
        all.add(library("a", &["f", "g"]), false).unwrap();
        assert_eq!(all.add(library("a", &["h"]), false), Err(Clash::Library));
        assert_eq!(
            all.clone().add(library("b", &["g"]), false),
            Err(Clash::Function(b"g".as_slice().into()))
        );
        all.add(library("a", &["g", "h"]), true).unwrap();
        assert!(all.function(b"f").is_none() && all.function(b"h").is_some());
        assert_eq!((all.iter().len(), all.function_count()), (1, 2));
        assert!(all.remove(b"a") && !all.remove(b"a"));
        assert_eq!(all.function_count(), 0);
    }
}
