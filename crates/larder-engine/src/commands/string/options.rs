//! The options that SET, GETEX, MSETEX, HSETEX and HGETEX share: conditions and expiry.

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::key_table::ExpireChange;
use larder_resp::Args;

/// When a key is set, or fields are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition<'a> {
    Always,
    IfAbsent,
    IfPresent,
    IfEqual(&'a [u8]),
}

/// The unit and base of an expiry argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExpiryUnit {
    pub seconds: bool,
    pub absolute: bool,
}

/// What happens to the time to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry<'a> {
    /// Nothing was said.
    Unsaid,
    Keep,
    Persist,
    At(ExpiryUnit, &'a [u8]),
}

/// Options parsed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'a> {
    pub condition: Condition<'a>,
    /// The condition that fields must meet.
    pub fields: Condition<'a>,
    pub get: bool,
    pub expiry: Expiry<'a>,
}

/// Which options a command takes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowed {
    pub condition: bool,
    pub if_equal: bool,
    pub fields: bool,
    pub get: bool,
    pub keep: bool,
    pub persist: bool,
}

impl<'a> Options<'a> {
    /// Parses all of `args`; anything unknown or contradictory is a syntax error. Of a time that is given twice in the same
    /// unit, the second counts.
    pub(crate) fn parse(args: Args<'a>, allowed: Allowed) -> CommandResult<Self> {
        let mut options = Options {
            condition: Condition::Always,
            fields: Condition::Always,
            get: false,
            expiry: Expiry::Unsaid,
        };
        let mut at = 0;
        while let Some(word) = args.get(at) {
            at += options.take(word, args.get(at + 1), allowed)?;
        }
        Ok(options)
    }

    /// Takes one option and returns how many arguments it used.
    fn take(&mut self, word: &'a [u8], next: Option<&'a [u8]>, allowed: Allowed) -> CommandResult<usize> {
        if is_word(word, "get") && allowed.get {
            self.get = true;
            return Ok(1);
        }
        if let Some(condition) = field_condition(word, allowed) {
            return replace(&mut self.fields, condition, |old| old == Condition::Always || old == condition)
                .map(|()| 1);
        }
        if let Some((condition, used)) = condition(word, next, allowed) {
            return replace(&mut self.condition, condition, |old| {
                old == Condition::Always || old == condition && used == 1
            })
            .map(|()| used);
        }
        let (expiry, used) = expiry(word, next, allowed).ok_or(CommandError::SYNTAX)?;
        replace(&mut self.expiry, expiry, |old| match (old, expiry) {
            (Expiry::At(old, _), Expiry::At(new, _)) => old == new,
            _ => old == Expiry::Unsaid || old == expiry,
        })?;
        Ok(used)
    }
}

/// Sets an option, if it may take the place of what it is.
fn replace<T: Copy>(option: &mut T, new: T, may: impl FnOnce(T) -> bool) -> CommandResult {
    let old = std::mem::replace(option, new);
    if may(old) { Ok(()) } else { Err(CommandError::SYNTAX) }
}

fn field_condition<'a>(word: &[u8], allowed: Allowed) -> Option<Condition<'a>> {
    match word {
        _ if !allowed.fields => None,
        _ if is_word(word, "fnx") => Some(Condition::IfAbsent),
        _ if is_word(word, "fxx") => Some(Condition::IfPresent),
        _ => None,
    }
}

fn condition<'a>(word: &[u8], next: Option<&'a [u8]>, allowed: Allowed) -> Option<(Condition<'a>, usize)> {
    if !allowed.condition {
        None
    } else if is_word(word, "nx") {
        Some((Condition::IfAbsent, 1))
    } else if is_word(word, "xx") {
        Some((Condition::IfPresent, 1))
    } else if is_word(word, "ifeq") && allowed.if_equal {
        Some((Condition::IfEqual(next?), 2))
    } else {
        None
    }
}

fn expiry<'a>(word: &[u8], next: Option<&'a [u8]>, allowed: Allowed) -> Option<(Expiry<'a>, usize)> {
    if is_word(word, "keepttl") && allowed.keep {
        return Some((Expiry::Keep, 1));
    }
    if is_word(word, "persist") && allowed.persist {
        return Some((Expiry::Persist, 1));
    }
    let units = [("ex", true, false), ("px", false, false), ("exat", true, true), ("pxat", false, true)];
    let &(_, seconds, absolute) = units.iter().find(|(name, ..)| is_word(word, name))?;
    Some((Expiry::At(ExpiryUnit { seconds, absolute }, next?), 2))
}

/// The Unix time in ms that an expiry argument means. It must be positive and fit.
pub(crate) fn expire_at(context: &Context<'_>, unit: ExpiryUnit, arg: &[u8]) -> CommandResult<u64> {
    let value = number::integer(arg)?;
    let invalid = || CommandError::invalid_expire(&context.command_name());
    if value <= 0 {
        return Err(invalid());
    }
    let ms = if unit.seconds { value.checked_mul(1000).ok_or_else(invalid)? } else { value };
    let base = if unit.absolute { 0 } else { context.now_ms() as i64 };
    ms.checked_add(base).map(|at| at as u64).ok_or_else(invalid)
}

impl Expiry<'_> {
    /// The change that a SET makes.
    pub(crate) fn change(self, context: &Context<'_>) -> CommandResult<ExpireChange> {
        Ok(match self {
            Expiry::Unsaid | Expiry::Persist => ExpireChange::Clear,
            Expiry::Keep => ExpireChange::Keep,
            Expiry::At(unit, arg) => ExpireChange::At(expire_at(context, unit, arg)?),
        })
    }
}
