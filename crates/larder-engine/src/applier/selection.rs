//! A replica that holds a part of the keys only: what it does with a command of the stream.
//!
//! The keys of a command stand in the command table, with what is done to each. A command is executed as it is if all of them are held, and
//! passed over if none is. If some are:
//!
//! | what it does | example (`in` is held) | verdict |
//! |---|---|---|
//! | writes no key that is held | `COPY in out` | passed over |
//! | writes one, and reads none that is not held | `MSET in 1 out 2`, `RENAME in out` | executed; what it has written beside is dropped |
//! | writes one, by what it reads of one that is not held | `RENAME out in` | cannot be executed: a snapshot is needed |
//!
//! O(keys * patterns) a command.

use crate::command::key_finders::sorts_by_other_keys;
use crate::command::keys;
use crate::command::spec::{Found, Scope};
use crate::text::patterns::Patterns;
use larder_resp::Args;

/// What becomes of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict<'a> {
    /// It is executed.
    Execute,
    /// It is executed, and then these keys are dropped.
    ExecuteAndDrop(Vec<&'a [u8]>),
    /// It is passed over.
    Skip,
    /// It cannot be executed without keys that are not held.
    Unfit,
}

/// Judges a command by its keys.
pub(super) fn judge<'a>(patterns: &Patterns, found: Found, args: Args<'a>) -> Verdict<'a> {
    let (mut all_held, mut none_held, mut writes_held, mut reads_foreign) = (true, true, false, false);
    let mut foreign = Vec::new();
    let valid = keys::positions(found.command, args, |at, flags| {
        let key = args.at(at);
        if patterns.matches(key) {
            none_held = false;
            writes_held |= !flags.starts_with("RO");
        } else {
            all_held = false;
            reads_foreign |= flags.contains("ACCESS");
            if flags.starts_with("OW") || flags.starts_with("RW") {
                foreign.push(key);
            }
        }
    });
    if valid.is_err() || all_held && none_held {
        return Verdict::Execute;
    }
    if found.command.scope == Scope::Sort && sorts_by_other_keys(args) && writes_held {
        return Verdict::Unfit;
    }
    match (all_held, none_held || !writes_held, reads_foreign) {
        (true, _, _) => Verdict::Execute,
        (_, true, _) => Verdict::Skip,
        (_, _, true) => Verdict::Unfit,
        _ if foreign.is_empty() => Verdict::Execute,
        _ => Verdict::ExecuteAndDrop(foreign),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::table::table;
    use larder_resp::OwnedArgs;

    #[test]
    fn verdicts() {
        let patterns = Patterns::new([&b"in*"[..]]);
        let cases: &[(&str, &str)] = &[
            ("SET in v", "execute"),
            ("SET out v", "skip"),
            ("FLUSHALL", "execute"),
            ("SELECT 3", "execute"),
            ("PUBLISH out x", "execute"),
            ("MSET in 1 out 2 in2 3", "drop out"),
            ("MSET out 1 out2 2", "skip"),
            ("DEL in out", "execute"),
            ("UNLINK out", "skip"),
            ("RENAME in in2", "execute"),
            ("RENAME in out", "drop out"),
            ("RENAME out in", "unfit"),
            ("RENAME out out2", "skip"),
            ("COPY in out", "skip"),
            ("COPY out in", "unfit"),
            ("SMOVE in out m", "drop out"),
            ("SMOVE out in m", "unfit"),
            ("LMOVE in out LEFT LEFT", "drop out"),
            ("LMOVE out in LEFT LEFT", "unfit"),
            ("SINTERSTORE in in1 in2", "execute"),
            ("SINTERSTORE in in1 out", "unfit"),
            ("SINTERSTORE out in1 in2", "skip"),
            ("ZUNIONSTORE in 2 out in1", "unfit"),
            ("ZUNIONSTORE out 2 in1 in2", "skip"),
            ("PFMERGE out in1", "skip"),
            ("PFMERGE in out", "unfit"),
            ("BITOP AND in in1 out", "unfit"),
            ("SORT in STORE in2", "execute"),
            ("SORT out STORE in2", "unfit"),
            ("SORT in STORE out", "skip"),
            ("SORT in BY w_* STORE in2", "unfit"),
            ("GEOSEARCHSTORE in out FROMMEMBER m BYRADIUS 1 m", "unfit"),
            ("GEOSEARCHSTORE out in FROMMEMBER m BYRADIUS 1 m", "skip"),
            ("XADD in * f v", "execute"),
            ("XADD out * f v", "skip"),
        ];
        for (line, wanted) in cases {
            let args: OwnedArgs = line.split(' ').map(str::as_bytes).collect();
            let found = table().find(&args.as_args()[0]).expect("it is a command");
            let verdict = match judge(&patterns, found, args.as_args()) {
                Verdict::Execute => "execute".to_owned(),
                Verdict::Skip => "skip".to_owned(),
                Verdict::Unfit => "unfit".to_owned(),
                Verdict::ExecuteAndDrop(keys) => {
                    format!("drop {}", String::from_utf8_lossy(&keys.join(&b' ')))
                }
            };
            assert_eq!(verdict, *wanted, "{line}");
        }
    }
}
