//! What values an option takes, and their one canonical text: what CONFIG GET shows. Everything else about an option
//! (comparison with its default, the hot value, the line in the file) is derived from that text.

use super::error::OptionError;
use super::number::Unit;
use super::number::{self, Bounds};
use super::special::{self, Special};

/// Names of an enumeration with their numbers; the first name of a number is the one shown.
pub(crate) type Names = &'static [(&'static str, i64)];

/// A further check of a string.
pub(crate) type Check = fn(&str) -> Result<(), OptionError>;

/// The type of an option.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Bool,
    Int {
        bounds: Bounds,
        unit: Unit,
    },
    Enum(Names),
    /// Several names of an enumeration, as bits.
    Flags(Names),
    Text(Option<Check>),
    Special(Special),
}

impl Kind {
    /// Whether the option takes several arguments.
    pub(crate) fn is_multi_arg(self) -> bool {
        match self {
            Kind::Flags(_) => true,
            Kind::Special(special) => special.is_multi_arg(),
            _ => false,
        }
    }

    /// The canonical text of `args`, given the present one (some options change only in part).
    pub(crate) fn canonical(self, args: &[&str], present: &str) -> Result<String, OptionError> {
        match self {
            Kind::Bool => boolean(one(args)?),
            Kind::Int { bounds, unit } => {
                number::parse(one(args)?, unit, bounds).map(|n| number::show(n, unit))
            }
            Kind::Enum(names) => member(one(args)?, names),
            Kind::Flags(names) => flags(args, names),
            Kind::Text(check) => text(one(args)?, check),
            Kind::Special(special) => special::canonical(special, args, present),
        }
    }

    /// The number that a canonical text stands for, if it does.
    pub(crate) fn value(self, canonical: &str) -> Option<i128> {
        match self {
            Kind::Bool => Some(i128::from(canonical == "yes")),
            Kind::Int { bounds, unit } => number::parse(canonical, unit, bounds).ok(),
            Kind::Enum(names) => names.iter().find(|n| n.0 == canonical).map(|n| i128::from(n.1)),
            Kind::Flags(names) => Some(i128::from(bits(canonical.split(' '), names)?)),
            Kind::Special(Special::Notify) => super::notify::parse(canonical).map(i128::from),
            Kind::Text(_) | Kind::Special(_) => None,
        }
    }
}

fn one<'a>(args: &[&'a str]) -> Result<&'a str, OptionError> {
    match args {
        [arg] => Ok(arg),
        _ => Err(OptionError::WrongCount),
    }
}

fn boolean(arg: &str) -> Result<String, OptionError> {
    match arg.to_ascii_lowercase().as_str() {
        text @ ("yes" | "no") => Ok(text.to_string()),
        _ => Err(OptionError::NotYesNo),
    }
}

fn text(arg: &str, check: Option<Check>) -> Result<String, OptionError> {
    check.map_or(Ok(()), |check| check(arg))?;
    Ok(arg.to_string())
}

fn member(arg: &str, names: Names) -> Result<String, OptionError> {
    let found = names.iter().find(|n| n.0.eq_ignore_ascii_case(arg)).ok_or(OptionError::NotOneOf(names))?;
    Ok(first_name(found.1, names).to_string())
}

fn flags(args: &[&str], names: Names) -> Result<String, OptionError> {
    let bits = bits(args.iter().copied(), names).ok_or(OptionError::NotOneOf(names))?;
    if args.is_empty() {
        return Err(OptionError::NotOneOf(names));
    }
    // How a signal ends the server is the only such choice.
    let has = |name: &str| args.iter().any(|arg| arg.eq_ignore_ascii_case(name));
    if has("save") && has("nosave") {
        return Err(OptionError::SaveAndNosave);
    }
    let shown: Vec<&str> = match bits {
        0 => vec![first_name(0, names)],
        _ => names.iter().filter(|n| n.1 != 0 && bits & n.1 == n.1).map(|n| n.0).collect(),
    };
    Ok(shown.join(" "))
}

fn bits<'a>(mut args: impl Iterator<Item = &'a str>, names: Names) -> Option<i64> {
    args.try_fold(0, |bits, arg| Some(bits | names.iter().find(|n| n.0.eq_ignore_ascii_case(arg))?.1))
}

fn first_name(value: i64, names: Names) -> &'static str {
    names.iter().find(|n| n.1 == value).map_or("", |n| n.0)
}
