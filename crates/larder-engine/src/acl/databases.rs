//! Databases: which a selector allows, and which a command uses.

use super::rule_error::RuleError;
use crate::command::spec::{Found, flags};
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::Args;

/// The databases that a selector allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Databases {
    All,
    /// These alone, in order.
    Only(Vec<u32>),
}

impl Databases {
    /// What follows `db=`: numbers, separated by commas.
    pub(super) fn parse(list: &[u8]) -> Result<Databases, RuleError> {
        let mut all = Vec::new();
        for text in list.split(|&byte| byte == b',') {
            if text.is_empty()
                || !text.iter().enumerate().all(|(at, b)| b.is_ascii_digit() || at == 0 && *b == b'-')
            {
                return Err(RuleError::Syntax);
            }
            let id = number::parse_i64(text).filter(|id| (0..=i64::from(i32::MAX)).contains(id));
            all.push(id.ok_or(RuleError::NoSuchDatabase)? as u32);
        }
        all.sort_unstable();
        all.dedup();
        Ok(Databases::Only(all))
    }

    fn allows(&self, db: usize) -> bool {
        match self {
            Databases::All => true,
            Databases::Only(list) => u32::try_from(db).is_ok_and(|db| list.binary_search(&db).is_ok()),
        }
    }

    /// As a rule of GETUSER: nothing if none is allowed.
    pub(crate) fn text(&self) -> String {
        match self {
            Databases::All => "alldbs".to_owned(),
            Databases::Only(list) if list.is_empty() => String::new(),
            Databases::Only(list) => {
                format!("db={}", list.iter().map(u32::to_string).collect::<Vec<_>>().join(","))
            }
        }
    }

    /// As a rule of a whole description, which does not mention that all are allowed.
    pub(super) fn rule(&self) -> String {
        match self {
            Databases::All => String::new(),
            Databases::Only(list) if list.is_empty() => "resetdbs".to_owned(),
            Databases::Only(_) => self.text(),
        }
    }

    /// Whether a command of a connection that has selected `db` may be used; if not, the position of the argument that names a
    /// database, or 0 when it is the selected one. Numbers that are no databases are for the handler to refuse.
    pub(super) fn check(&self, found: Found, args: Args<'_>, db: usize, count: usize) -> Result<(), usize> {
        if *self == Databases::All {
            return Ok(());
        }
        named(found, args).into_iter().try_for_each(|at| {
            let named = args.get(at).and_then(number::parse_i64).and_then(|id| usize::try_from(id).ok());
            match named.filter(|&id| id < count) {
                Some(id) if !self.allows(id) => Err(at),
                _ => Ok(()),
            }
        })?;
        if found.command.has(flags::ALL_DBS) || uses_selected(found) && !self.allows(db) {
            return Err(0);
        }
        Ok(())
    }
}

/// The positions of the arguments that name databases.
fn named(found: Found, args: Args<'_>) -> Vec<usize> {
    match found.command.name {
        _ if found.parent.is_some() => Vec::new(),
        "select" => vec![1],
        "move" => vec![2],
        "swapdb" => vec![1, 2],
        "copy" => (3..args.len()).filter(|&at| is_word(args.at(at), "db")).map(|at| at + 1).collect(),
        _ => Vec::new(),
    }
}

/// Whether a command is about data of the selected database, or may be.
fn uses_selected(found: Found) -> bool {
    let command = found.command;
    let has_keys = command.keys.iter().any(|spec| spec.flags != "NOT_KEY");
    (has_keys || command.has_any(flags::READONLY | flags::WRITE))
        && !matches!(command.name, "select" | "swapdb")
}
