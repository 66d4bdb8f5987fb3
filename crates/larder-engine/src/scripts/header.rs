//! The first line of a script or a library: `#!lua name=library flags=no-writes,allow-oom`.

use crate::error::{CommandError, CommandResult};

/// What a script says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScriptFlags(u8);

impl ScriptFlags {
    /// It does not write.
    pub const NO_WRITES: ScriptFlags = ScriptFlags(1);
    /// It may run when memory is short.
    pub const ALLOW_OOM: ScriptFlags = ScriptFlags(2);
    /// It may run when data is out of date.
    pub const ALLOW_STALE: ScriptFlags = ScriptFlags(4);
    /// It does not run in a cluster.
    pub const NO_CLUSTER: ScriptFlags = ScriptFlags(8);
    /// It may touch keys of several slots.
    pub const CROSS_SLOT: ScriptFlags = ScriptFlags(16);

    const NAMES: [(&str, ScriptFlags); 5] = [
        ("no-writes", ScriptFlags::NO_WRITES),
        ("allow-oom", ScriptFlags::ALLOW_OOM),
        ("allow-stale", ScriptFlags::ALLOW_STALE),
        ("no-cluster", ScriptFlags::NO_CLUSTER),
        ("allow-cross-slot-keys", ScriptFlags::CROSS_SLOT),
    ];

    /// Whether all of `flags` are set.
    pub(crate) fn has(self, flags: ScriptFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// The names of those set.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(_, flag)| self.has(*flag)).map(|(name, _)| name)
    }

    /// Sets a flag by its name; false when there is none of that name.
    pub(crate) fn add(&mut self, name: &[u8]) -> bool {
        let flag = Self::NAMES.into_iter().find(|(known, _)| known.as_bytes() == name);
        self.0 |= flag.map_or(0, |(_, flag)| flag.0);
        flag.is_some()
    }
}

/// The words of the first line, which begins with `#!`, and where it ends. Words may be quoted.
fn first_line(text: &[u8], unfinished: CommandError, unbalanced: CommandError) -> CommandResult<Header> {
    let end = memchr::memchr(b'\n', text).ok_or(unfinished)?;
    let mut words = larder_resp::split_args(&text[..end]).ok_or(unbalanced)?.into_iter();
    let engine = words.next().map_or_else(Vec::new, |word| word[2..].to_vec());
    Ok(Header { engine, options: words.collect(), code_at: end })
}

struct Header {
    engine: Vec<u8>,
    options: Vec<Vec<u8>>,
    /// The line break is kept for the numbers of lines.
    code_at: usize,
}

impl Header {
    fn is_lua(&self) -> bool {
        self.engine.eq_ignore_ascii_case(b"lua")
    }
}

/// The flags of a script for EVAL, if it has a first line that says some, and where its code begins.
pub(crate) fn of_script(text: &[u8]) -> CommandResult<(Option<ScriptFlags>, usize)> {
    if !text.starts_with(b"#!") {
        return Ok((None, 0));
    }
    let unfinished = CommandError::Fixed("ERR Invalid script shebang");
    let header = first_line(text, unfinished, CommandError::Fixed("ERR Invalid engine in script shebang"))?;
    let mut flags = ScriptFlags::default();
    for word in &header.options {
        let Some(names) = word.strip_prefix(b"flags=") else {
            return Err(with_word("ERR Unknown lua shebang option: ", word));
        };
        for name in names.split(|&b| b == b',').skip(usize::from(names.is_empty())) {
            if !flags.add(name) {
                return Err(with_word("ERR Unexpected flag in script shebang: ", name));
            }
        }
    }
    if !header.is_lua() {
        return Err(CommandError::Text(
            [b"ERR Could not find scripting engine '", &*header.engine, b"'"].concat(),
        ));
    }
    Ok((Some(flags), header.code_at))
}

/// The name of a library, and where its code begins.
pub(crate) fn of_library(text: &[u8]) -> CommandResult<(Vec<u8>, usize)> {
    const INVALID: CommandError = CommandError::Fixed("ERR Invalid library metadata");
    const OPTION: &[u8] = b"name=";
    if !text.starts_with(b"#!") {
        return Err(CommandError::Fixed("ERR Missing library metadata"));
    }
    let header = first_line(text, INVALID, INVALID)?;
    let mut name = None;
    for word in &header.options {
        let given = match word.split_at_checked(OPTION.len()) {
            Some((option, given)) if option.eq_ignore_ascii_case(OPTION) => given,
            _ => return Err(with_word("ERR Invalid metadata value given: ", word)),
        };
        if name.replace(given).is_some() {
            return Err(CommandError::Fixed(
                "ERR Invalid metadata value, name argument was given multiple times",
            ));
        }
    }
    let name = name.ok_or(CommandError::Fixed("ERR Library name was not given"))?;
    if !is_name(name) {
        return Err(BAD_NAME);
    }
    if !header.is_lua() {
        return Err(CommandError::Text([b"ERR Engine '", &*header.engine, b"' not found"].concat()));
    }
    Ok((name.to_vec(), header.code_at))
}

/// The refusal of a name of a library.
const BAD_NAME: CommandError = CommandError::Fixed(
    "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long",
);

/// Whether libraries and functions may be called so.
pub(crate) fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

fn with_word(text: &str, word: &[u8]) -> CommandError {
    let mut text = text.as_bytes().to_vec();
    text.extend_from_slice(word);
    CommandError::Text(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines() {
        assert_eq!(of_script(b"return 1"), Ok((None, 0)));
        let (flags, at) = of_script(b"#!lua flags=no-writes,allow-oom\nreturn 1").unwrap();
        assert_eq!(flags.unwrap().names().collect::<Vec<_>>(), ["no-writes", "allow-oom"]);
        assert_eq!(at, 31);
        for bad in ["#!lua", "#!js\n", "#!lua flags=none\n", "#!lua name=a\n", "#!\n"] {
            assert!(of_script(bad.as_bytes()).is_err(), "{bad}");
        }
        assert_eq!(of_library(b"#!lua name=mine\n\n"), Ok((b"mine".to_vec(), 15)));
        assert_eq!(of_library(b"#!\"lua\" NAME='mine'\n"), Ok((b"mine".to_vec(), 19)));
        for bad in
            ["", "#!lua name=a", "#!lua\n", "#!lua name=a-b\n", "#!js name=a\n", "#!lua name=a name=b\n"]
        {
            assert!(of_library(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
