//! One option, and the words that the sections describe one with.

use crate::config::hot::{Hot, Slot};
use crate::config::kind::{Check, Kind, Names};
use crate::config::number::Unit;
use crate::config::special::Special;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};

/// `INT_MAX`, the upper bound of many options.
pub(super) const INT_MAX: i128 = i32::MAX as i128;
/// `LLONG_MAX`.
pub(super) const LONG_MAX: i128 = i64::MAX as i128;
/// `LLONG_MIN`.
pub(super) const LONG_MIN: i128 = i64::MIN as i128;
/// `UINT_MAX`.
pub(super) const UINT_MAX: i128 = u32::MAX as i128;
/// `ULLONG_MAX`.
pub(super) const ULONG_MAX: i128 = u64::MAX as i128;

/// One option.
#[derive(Clone, Copy)]
pub(crate) struct Opt {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) kind: Kind,
    /// Canonical text.
    pub(crate) default: &'static str,
    /// What it does, in a line.
    pub(crate) summary: &'static str,
    /// The file that tests it, below `crates/larder-server/tests`.
    pub(crate) tested_in: &'static str,
    /// CONFIG SET refuses it.
    pub(crate) immutable: bool,
    /// CONFIG SET refuses it unless `enable-protected-configs` allows.
    pub(crate) protected: bool,
    /// Its value is kept out of logs.
    pub(crate) sensitive: bool,
    /// Patterns of CONFIG GET skip it.
    pub(crate) hidden: bool,
    /// Its text may have zero bytes; others end at the first one.
    pub(crate) any_byte: bool,
    /// It names something that may change while the text stays the same: CONFIG SET puts it into effect every time.
    pub(crate) volatile: bool,
    pub(crate) slot: Option<Slot>,
    pub(crate) effect: Effect,
}

/// What becomes of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Some part of the server reads it; a test looks for the reader.
    Read,
    /// It asks for what does not exist here, which is named: any value but the default is refused.
    Absent(&'static str),
    /// It tunes how another server does something, and changes no reply. The log says that it has no effect, and this sentence why.
    Ignored(&'static str),
    /// It shapes what never happens here, which is named: no value of it could be noticed.
    Dormant(&'static str),
}

pub(super) const fn option(name: &'static str, kind: Kind, default: &'static str) -> Opt {
    Opt {
        name,
        aliases: &[],
        kind,
        default,
        summary: "",
        tested_in: "",
        immutable: false,
        protected: false,
        sensitive: false,
        hidden: false,
        any_byte: false,
        volatile: false,
        slot: None,
        effect: Effect::Read,
    }
}

pub(super) const fn yes_no(name: &'static str, default: &'static str) -> Opt {
    option(name, Kind::Bool, default)
}

pub(super) const fn int(name: &'static str, min: i128, max: i128, default: &'static str) -> Opt {
    option(name, Kind::Int { bounds: (min, max), unit: Unit::Plain }, default)
}

pub(super) const fn memory(name: &'static str, min: i128, max: i128, default: &'static str) -> Opt {
    option(name, Kind::Int { bounds: (min, max), unit: Unit::Memory }, default)
}

pub(super) const fn one_of(name: &'static str, names: Names, default: &'static str) -> Opt {
    option(name, Kind::Enum(names), default)
}

pub(super) const fn text(name: &'static str, default: &'static str) -> Opt {
    option(name, Kind::Text(None), default)
}

pub(super) const fn checked_text(name: &'static str, check: Check, default: &'static str) -> Opt {
    option(name, Kind::Text(Some(check)), default)
}

pub(super) const fn special(name: &'static str, which: Special, default: &'static str) -> Opt {
    option(name, Kind::Special(which), default)
}

impl Opt {
    pub(super) const fn alias(mut self, aliases: &'static [&'static str]) -> Opt {
        self.aliases = aliases;
        self
    }

    /// What an option of the effect [`Effect::Read`] does, and which file tests it.
    pub(super) const fn does(mut self, summary: &'static str, tested_in: &'static str) -> Opt {
        assert!(self.summary.is_empty(), "it has been said already");
        self.summary = summary;
        self.tested_in = tested_in;
        self
    }

    pub(super) const fn immutable(mut self) -> Opt {
        self.immutable = true;
        self
    }

    pub(super) const fn protected(mut self) -> Opt {
        self.protected = true;
        self
    }

    pub(super) const fn sensitive(mut self) -> Opt {
        self.sensitive = true;
        self
    }

    pub(super) const fn hidden(mut self) -> Opt {
        self.hidden = true;
        self
    }

    pub(super) const fn any_byte(mut self) -> Opt {
        self.any_byte = true;
        self
    }

    pub(super) const fn volatile(mut self) -> Opt {
        self.volatile = true;
        self
    }

    pub(super) const fn hot_bool(mut self, cell: fn(&Hot) -> &AtomicBool) -> Opt {
        self.slot = Some(Slot::Bool(cell));
        self
    }

    pub(super) const fn hot_int(mut self, cell: fn(&Hot) -> &AtomicI64) -> Opt {
        self.slot = Some(Slot::Int(cell));
        self
    }

    pub(super) const fn hot_unsigned(mut self, cell: fn(&Hot) -> &AtomicU64) -> Opt {
        self.slot = Some(Slot::Unsigned(cell));
        self
    }

    pub(super) const fn absent(mut self, what: &'static str) -> Opt {
        self.effect = Effect::Absent(what);
        self
    }

    pub(super) const fn ignored(mut self, why: &'static str) -> Opt {
        self.effect = Effect::Ignored(why);
        self
    }

    pub(super) const fn dormant(mut self, what: &'static str) -> Opt {
        self.effect = Effect::Dormant(what);
        self
    }

    /// The name and every alias.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}
