//! The table of options: one row each, in sections. Names, aliases, types, ranges and defaults live here and nowhere
//! else; parsing, CONFIG GET/SET/REWRITE and the hot values follow from the row.

mod advanced;
mod cluster;
mod memory;
mod network;
mod persistence;
mod process;
mod replication;
mod tls;
mod types;

use super::hot::{Hot, Slot};
use super::kind::{Check, Kind, Names, Unit};
use super::special::Special;
use std::collections::HashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};

pub use memory::MAXMEMORY_POLICIES;

/// `INT_MAX`, the upper bound of many options.
const INT_MAX: i128 = i32::MAX as i128;
/// `LLONG_MAX`.
const LONG_MAX: i128 = i64::MAX as i128;
/// `LLONG_MIN`.
const LONG_MIN: i128 = i64::MIN as i128;
/// `UINT_MAX`.
const UINT_MAX: i128 = u32::MAX as i128;
/// `ULLONG_MAX`.
const ULONG_MAX: i128 = u64::MAX as i128;

/// One option.
#[derive(Clone, Copy)]
pub(crate) struct Opt {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) kind: Kind,
    /// Canonical text.
    pub(crate) default: &'static str,
    /// CONFIG SET refuses it.
    pub(crate) immutable: bool,
    /// CONFIG SET refuses it unless `enable-protected-configs` allows.
    pub(crate) protected: bool,
    /// Its value is kept out of logs.
    pub(crate) sensitive: bool,
    /// Patterns of CONFIG GET skip it.
    pub(crate) hidden: bool,
    pub(crate) slot: Option<Slot>,
    pub(crate) effect: Effect,
}

/// What becomes of an option's value. `docs/options.md` says it to users; a test compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Some part of the server reads it; a test looks for the reader.
    Read,
    /// It asks for what does not exist here, which is named: any value but the default is refused.
    Absent(&'static str),
    /// It shapes what never happens here, which is named: no value of it could be noticed.
    Dormant(&'static str),
}

const fn option(name: &'static str, kind: Kind, default: &'static str) -> Opt {
    Opt {
        name,
        aliases: &[],
        kind,
        default,
        immutable: false,
        protected: false,
        sensitive: false,
        hidden: false,
        slot: None,
        effect: Effect::Read,
    }
}

const fn yes_no(name: &'static str, default: &'static str) -> Opt {
    option(name, Kind::Bool, default)
}

const fn int(name: &'static str, min: i128, max: i128, default: &'static str) -> Opt {
    option(name, Kind::Int { bounds: (min, max), unit: Unit::Plain }, default)
}

const fn memory(name: &'static str, min: i128, max: i128, default: &'static str) -> Opt {
    option(name, Kind::Int { bounds: (min, max), unit: Unit::Memory }, default)
}

const fn one_of(name: &'static str, names: Names, default: &'static str) -> Opt {
    option(name, Kind::Enum(names), default)
}

const fn text(name: &'static str, default: &'static str) -> Opt {
    option(name, Kind::Text(None), default)
}

const fn checked_text(name: &'static str, check: Check, default: &'static str) -> Opt {
    option(name, Kind::Text(Some(check)), default)
}

const fn special(name: &'static str, which: Special, default: &'static str) -> Opt {
    option(name, Kind::Special(which), default)
}

impl Opt {
    const fn alias(mut self, aliases: &'static [&'static str]) -> Opt {
        self.aliases = aliases;
        self
    }

    const fn immutable(mut self) -> Opt {
        self.immutable = true;
        self
    }

    const fn protected(mut self) -> Opt {
        self.protected = true;
        self
    }

    const fn sensitive(mut self) -> Opt {
        self.sensitive = true;
        self
    }

    const fn hidden(mut self) -> Opt {
        self.hidden = true;
        self
    }

    const fn hot_bool(mut self, cell: fn(&Hot) -> &AtomicBool) -> Opt {
        self.slot = Some(Slot::Bool(cell));
        self
    }

    const fn hot_int(mut self, cell: fn(&Hot) -> &AtomicI64) -> Opt {
        self.slot = Some(Slot::Int(cell));
        self
    }

    const fn hot_unsigned(mut self, cell: fn(&Hot) -> &AtomicU64) -> Opt {
        self.slot = Some(Slot::Unsigned(cell));
        self
    }

    const fn absent(mut self, what: &'static str) -> Opt {
        self.effect = Effect::Absent(what);
        self
    }

    const fn dormant(mut self, what: &'static str) -> Opt {
        self.effect = Effect::Dormant(what);
        self
    }

    /// The name and every alias.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

/// All options; an option is known elsewhere by its index here.
pub(crate) static OPTIONS: LazyLock<Vec<Opt>> = LazyLock::new(|| {
    [
        network::OPTIONS,
        process::OPTIONS,
        memory::OPTIONS,
        types::OPTIONS,
        persistence::OPTIONS,
        replication::OPTIONS,
        cluster::OPTIONS,
        tls::OPTIONS,
        advanced::OPTIONS,
    ]
    .concat()
});

static INDEX: LazyLock<HashMap<&'static str, (usize, &'static str)>> = LazyLock::new(|| {
    let rows = OPTIONS.iter().enumerate();
    rows.flat_map(|(i, opt)| opt.names().map(move |name| (name, (i, name)))).collect()
});

/// Index of the option called `name` in any letter case, and the spelling of that name or alias.
pub(crate) fn find(name: &str) -> Option<(usize, &'static str)> {
    INDEX.get(name.to_ascii_lowercase().as_str()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sound() {
        let mut names: Vec<_> = OPTIONS.iter().flat_map(Opt::names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "a name occurs twice");
        for opt in OPTIONS.iter() {
            assert_eq!(opt.name, opt.name.to_ascii_lowercase());
            let words: Vec<&str> =
                if opt.kind.is_multi_arg() { opt.default.split(' ').collect() } else { vec![opt.default] };
            if opt.name != "replicaof" {
                assert_eq!(opt.kind.canonical(&words, "").as_deref(), Ok(opt.default), "{}", opt.name);
            }
            if opt.slot.is_some() {
                assert!(opt.kind.value(opt.default).is_some(), "{}", opt.name);
            }
        }
    }
}
