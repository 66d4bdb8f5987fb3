//! Event classes of `notify-keyspace-events`.

/// Letter and flag of each class, in the order CONFIG GET shows them.
const CLASSES: [(char, u16); 15] = [
    ('g', GENERIC),
    ('$', STRING),
    ('l', LIST),
    ('s', SET),
    ('h', HASH),
    ('z', SORTED_SET),
    ('x', EXPIRED),
    ('e', EVICTED),
    ('d', MODULE),
    ('t', STREAM),
    ('K', KEYSPACE),
    ('E', KEYEVENT),
    ('m', KEY_MISS),
    ('n', NEW),
    ('A', ALL),
];

/// `K`: publish to `__keyspace@<db>__`.
pub const KEYSPACE: u16 = 1;
/// `E`: publish to `__keyevent@<db>__`.
pub const KEYEVENT: u16 = 1 << 1;
/// `g`: DEL, EXPIRE, RENAME...
pub const GENERIC: u16 = 1 << 2;
/// `$`.
pub const STRING: u16 = 1 << 3;
/// `l`.
pub const LIST: u16 = 1 << 4;
/// `s`.
pub const SET: u16 = 1 << 5;
/// `h`.
pub const HASH: u16 = 1 << 6;
/// `z`.
pub const SORTED_SET: u16 = 1 << 7;
/// `x`.
pub const EXPIRED: u16 = 1 << 8;
/// `e`.
pub const EVICTED: u16 = 1 << 9;
/// `t`.
pub const STREAM: u16 = 1 << 10;
/// `m`, not part of `A`.
pub const KEY_MISS: u16 = 1 << 11;
/// `d`.
pub const MODULE: u16 = 1 << 13;
/// `n`, not part of `A`.
pub const NEW: u16 = 1 << 14;
/// `A`.
pub const ALL: u16 = GENERIC | STRING | LIST | SET | HASH | SORTED_SET | EXPIRED | EVICTED | STREAM | MODULE;

/// The flags of `letters`; `None` when one is unknown.
pub(super) fn parse(letters: &str) -> Option<u16> {
    letters.chars().try_fold(0, |flags, c| Some(flags | CLASSES.iter().find(|class| class.0 == c)?.1))
}

/// The letters of `flags`: `A` when all of its classes are there.
pub(super) fn show(flags: u16) -> String {
    let all = flags & ALL == ALL;
    let singly =
        |class: &&(char, u16)| class.1 != ALL && flags & class.1 != 0 && !(all && ALL & class.1 != 0);
    let prefix = if all { "A" } else { "" };
    prefix.chars().chain(CLASSES.iter().filter(singly).map(|class| class.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters() {
        for (given, shown) in
            [("KEA", "AKE"), ("", ""), ("xgE", "gxE"), ("AKEmn", "AKEmn"), ("g$lshzxedt", "A")]
        {
            assert_eq!(show(parse(given).unwrap()), shown);
        }
        assert_eq!(parse("Q"), None);
    }
}
