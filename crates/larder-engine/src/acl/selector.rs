//! A selector: commands, and the keys and channels that they may be used with. Every user has one, and more by rules in
//! parentheses; a command is allowed if one of them allows all of it.

use super::commands::{self, CommandSet};
use super::databases::Databases;
use super::rule_error::RuleError;
use super::words::has_blanks;
use crate::command::spec::Found;
use crate::command::table::table;
use crate::text::glob;
use std::collections::BTreeMap;

/// What may be done with a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub read: bool,
    pub write: bool,
}

impl Access {
    pub(crate) const ALL: Access = Access { read: true, write: true };

    fn covers(self, wanted: Access) -> bool {
        (self.read || !wanted.read) && (self.write || !wanted.write)
    }
}

/// Keys by pattern, and what may be done with them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KeyPattern {
    pattern: Box<[u8]>,
    access: Access,
    /// The pattern is this many plain bytes, at least one, and a star.
    prefix_len: Option<usize>,
}

impl KeyPattern {
    fn new(pattern: &[u8], access: Access) -> Self {
        let is_plain = |rest: &&[u8]| !rest.iter().any(|byte| b"*?[\\".contains(byte));
        let prefix_len = pattern.strip_suffix(b"*").filter(is_plain).map(<[u8]>::len).filter(|&len| len > 0);
        KeyPattern { pattern: pattern.into(), access, prefix_len }
    }

    fn matches(&self, key: &[u8]) -> bool {
        match self.prefix_len {
            Some(len) => key.starts_with(&self.pattern[..len]),
            None => glob::matches(&self.pattern, key),
        }
    }
}

/// Commands, keys and channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selector {
    pub(super) commands: CommandSet,
    /// First arguments with which a command may be used that is not allowed otherwise.
    first_args: BTreeMap<u16, Vec<Box<[u8]>>>,
    all_keys: bool,
    keys: Vec<KeyPattern>,
    all_channels: bool,
    channels: Vec<Box<[u8]>>,
    databases: Databases,
    /// The rules on commands that count, as they were given: with their signs, in lower case.
    command_rules: Vec<Box<[u8]>>,
}

impl Selector {
    /// Allows nothing, but perhaps all channels.
    pub(crate) fn new(all_channels: bool) -> Self {
        Selector {
            commands: CommandSet::none(),
            first_args: BTreeMap::new(),
            all_keys: false,
            keys: Vec::new(),
            all_channels,
            channels: Vec::new(),
            databases: Databases::All,
            command_rules: Vec::new(),
        }
    }

    /// Allows everything.
    pub(crate) fn all() -> Self {
        Selector { commands: CommandSet::all(), all_keys: true, ..Selector::new(true) }
    }

    /// Whether it allows everything.
    pub(crate) fn is_all(&self) -> bool {
        self.all_keys && self.all_channels && self.databases == Databases::All && self.commands.is_all()
    }

    /// Applies a rule.
    pub(crate) fn apply(&mut self, rule: &[u8]) -> Result<(), RuleError> {
        match rule {
            _ if is(rule, "allkeys") || rule == b"~*" => self.set_keys(true),
            _ if is(rule, "resetkeys") => self.set_keys(false),
            _ if is(rule, "allchannels") || rule == b"&*" => self.set_channels(true),
            _ if is(rule, "resetchannels") => self.set_channels(false),
            _ if is(rule, "allcommands") || is(rule, "+@all") => self.set_commands(CommandSet::all()),
            _ if is(rule, "nocommands") || is(rule, "-@all") => self.set_commands(CommandSet::none()),
            _ if is(rule, "alldbs") => self.databases = Databases::All,
            _ if is(rule, "resetdbs") => self.databases = Databases::Only(Vec::new()),
            _ if rule.len() >= 3 && is(&rule[..3], "db=") => self.databases = Databases::parse(&rule[3..])?,
            [b'~' | b'%', ..] => return self.add_key(rule),
            [b'&', pattern @ ..] => return self.add_channel(pattern),
            [sign @ (b'+' | b'-'), name @ ..] => {
                match name {
                    [b'@', category @ ..] => self.set_category(category, *sign == b'+')?,
                    _ if *sign == b'+' => self.allow(name)?,
                    _ => self.set_command(find(name)?, false),
                }
                self.keep_rule(rule.to_ascii_lowercase());
            }
            _ => return Err(RuleError::Syntax),
        }
        Ok(())
    }

    /// Keeps a rule on commands, in place of those that it makes void: the same one, and those on subcommands.
    fn keep_rule(&mut self, rule: Vec<u8>) {
        self.command_rules.retain(|known| match known[1..].strip_prefix(&rule[1..]) {
            Some(rest) => !rest.is_empty() && rest[0] != b'|',
            None => true,
        });
        self.command_rules.push(rule.into());
    }

    /// The databases that it allows.
    pub(crate) fn databases(&self) -> &Databases {
        &self.databases
    }

    /// The commands as rules, separated by blanks: what becomes of commands of later versions, and then the rules as they
    /// were given.
    pub(crate) fn commands_text(&self) -> Vec<u8> {
        let first: &[u8] = if self.commands.has_future() { b"+@all" } else { b"-@all" };
        let rules = std::iter::once(first).chain(self.command_rules.iter().map(|rule| &**rule));
        rules.collect::<Vec<_>>().join(&b' ')
    }

    /// The whole selector as rules.
    pub(crate) fn describe(&self) -> Vec<u8> {
        let channels = self.channels_text();
        let reset: &[u8] = if self.all_channels { b"" } else { b"resetchannels" };
        let databases = self.databases.rule().into_bytes();
        let parts = [&*self.keys_text(), reset, &*channels, &*databases, &*self.commands_text()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(&b' ')
    }

    fn set_keys(&mut self, all: bool) {
        self.all_keys = all;
        self.keys.clear();
    }

    fn set_channels(&mut self, all: bool) {
        self.all_channels = all;
        self.channels.clear();
    }

    fn set_commands(&mut self, commands: CommandSet) {
        self.commands = commands;
        self.first_args.clear();
        self.command_rules.clear();
    }

    fn add_key(&mut self, rule: &[u8]) -> Result<(), RuleError> {
        if self.all_keys {
            return Err(RuleError::KeyAfterAll);
        }
        let (access, pattern) = key_rule(rule)?;
        check_pattern(pattern)?;
        match self.keys.iter_mut().find(|known| *known.pattern == *pattern) {
            Some(known) => {
                known.access.read |= access.read;
                known.access.write |= access.write;
            }
            None => self.keys.push(KeyPattern::new(pattern, access)),
        }
        Ok(())
    }

    fn add_channel(&mut self, pattern: &[u8]) -> Result<(), RuleError> {
        if self.all_channels {
            return Err(RuleError::ChannelAfterAll);
        }
        check_pattern(pattern)?;
        if !self.channels.iter().any(|known| **known == *pattern) {
            self.channels.push(pattern.into());
        }
        Ok(())
    }

    fn set_category(&mut self, name: &[u8], on: bool) -> Result<(), RuleError> {
        let category = commands::category(name).ok_or(RuleError::Unknown)?;
        self.commands.set_category(category, on);
        self.first_args.retain(|id, _| !category.contains(*id));
        Ok(())
    }

    fn set_command(&mut self, found: Found, on: bool) {
        self.commands.set(found, on);
        self.first_args.remove(&found.id);
    }

    /// `+command`, `+container|subcommand` or `+command|argument`.
    fn allow(&mut self, name: &[u8]) -> Result<(), RuleError> {
        let Some(bar) = memchr::memrchr(b'|', name) else {
            self.set_command(find(name)?, true);
            return Ok(());
        };
        let (outer, inner) = (find(&name[..bar])?, &name[bar + 1..]);
        if outer.parent.is_some() {
            return Err(RuleError::FirstArgOfSubcommand);
        }
        if inner.is_empty() {
            return Err(RuleError::Syntax);
        }
        if outer.command.subcommands.is_empty() {
            self.add_first_arg(outer.id, inner);
        } else {
            self.set_command(find(name)?, true);
        }
        Ok(())
    }

    fn add_first_arg(&mut self, id: u16, arg: &[u8]) {
        let args = self.first_args.entry(id).or_default();
        if !args.iter().any(|known| known.eq_ignore_ascii_case(arg)) {
            args.push(arg.into());
        }
    }

    /// Whether a command may be used whose arguments begin so.
    pub(super) fn allows_command(&self, found: Found, first_arg: Option<&[u8]>) -> bool {
        self.commands.has(found.id) || first_arg.is_some_and(|arg| self.allows_first_arg(found.id, arg))
    }

    fn allows_first_arg(&self, id: u16, arg: &[u8]) -> bool {
        let allowed = self.first_args.get(&id);
        allowed.is_some_and(|allowed| allowed.iter().any(|known| known.eq_ignore_ascii_case(arg)))
    }

    /// Whether no key needs to be looked at.
    pub(super) fn allows_all_keys(&self) -> bool {
        self.all_keys
    }

    /// Whether this may be done with a key.
    pub(super) fn allows_key(&self, key: &[u8], access: Access) -> bool {
        let fits = |known: &KeyPattern| known.access.covers(access) && known.matches(key);
        self.all_keys || self.keys.iter().any(fits)
    }

    /// Whether every key may be read.
    pub(super) fn reads_all_keys(&self) -> bool {
        self.all_keys || self.keys.iter().any(|known| &*known.pattern == b"*" && known.access.read)
    }

    /// Whether no channel needs to be looked at.
    pub(super) fn allows_all_channels(&self) -> bool {
        self.all_channels
    }

    /// Whether any channel may be used.
    pub(super) fn allows_a_channel(&self) -> bool {
        self.all_channels || !self.channels.is_empty()
    }

    /// Whether a channel may be used. A pattern of channels must be one of those allowed, literally: what it may match
    /// in addition cannot be told.
    pub(super) fn allows_channel(&self, name: &[u8], is_pattern: bool) -> bool {
        let fits = |known: &[u8]| if is_pattern { known == name } else { glob::matches(known, name) };
        self.all_channels || self.channels.iter().any(|known| fits(known))
    }

    /// The keys as rules, separated by blanks.
    pub(crate) fn keys_text(&self) -> Vec<u8> {
        if self.all_keys {
            return b"~*".to_vec();
        }
        let rule = |known: &KeyPattern| {
            let prefix: &[u8] = match known.access {
                Access { read: true, write: true } => b"~",
                Access { read: true, .. } => b"%R~",
                _ => b"%W~",
            };
            [prefix, &known.pattern].concat()
        };
        self.keys.iter().map(rule).collect::<Vec<_>>().join(&b' ')
    }

    /// The channels as rules, separated by blanks.
    pub(crate) fn channels_text(&self) -> Vec<u8> {
        if self.all_channels {
            return b"&*".to_vec();
        }
        self.channels.iter().map(|known| [b"&", &**known].concat()).collect::<Vec<_>>().join(&b' ')
    }
}

fn is(rule: &[u8], word: &str) -> bool {
    rule.eq_ignore_ascii_case(word.as_bytes())
}

/// A command or `container|subcommand` by its own name; renaming does not matter.
fn find(name: &[u8]) -> Result<Found, RuleError> {
    table().find_full(name).ok_or(RuleError::Unknown)
}

/// What `~pattern` or `%RW~pattern` allows, and the pattern.
fn key_rule(rule: &[u8]) -> Result<(Access, &[u8]), RuleError> {
    if let [b'~', pattern @ ..] = rule {
        return Ok((Access::ALL, pattern));
    }
    let mut access = Access::default();
    for (at, byte) in rule.iter().enumerate().skip(1) {
        match byte.to_ascii_uppercase() {
            b'R' if !access.read => access.read = true,
            b'W' if !access.write => access.write = true,
            b'~' if access != Access::default() => return Ok((access, &rule[at + 1..])),
            _ => return Err(RuleError::Syntax),
        }
    }
    // Without a tilde, the pattern is empty.
    if access == Access::default() { Err(RuleError::Syntax) } else { Ok((access, b"")) }
}

fn check_pattern(pattern: &[u8]) -> Result<(), RuleError> {
    if has_blanks(pattern) { Err(RuleError::Syntax) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Access = Access { read: true, write: false };

    fn selector(rules: &str) -> Selector {
        let mut selector = Selector::new(false);
        rules.split(' ').for_each(|rule| selector.apply(rule.as_bytes()).expect(rule));
        selector
    }

    #[test]
    fn keys_by_pattern_and_access() {
        let selector = selector("%R~read:* %W~write:* ~both:* %r~one %W~one");
        assert!(selector.allows_key(b"read:1", READ) && !selector.allows_key(b"read:1", Access::ALL));
        assert!(!selector.allows_key(b"write:1", READ));
        assert!(selector.allows_key(b"both:", Access::ALL) && selector.allows_key(b"one", Access::ALL));
        assert!(!selector.allows_key(b"both", READ) && !selector.allows_key(b"bo", READ));
        assert_eq!(selector.keys_text(), b"%R~read:* %W~write:* ~both:* ~one");
        assert!(!selector.reads_all_keys());
    }

    #[test]
    fn patterns_of_channels_are_compared_literally() {
        let selector = selector("&news.* &x");
        assert!(selector.allows_channel(b"news.art", false) && selector.allows_channel(b"news.*", true));
        assert!(!selector.allows_channel(b"news.a*", true) && !selector.allows_channel(b"y", false));
    }

    #[test]
    fn first_arguments() {
        let select = table().find(b"select").expect("a command");
        let mut selector = selector("+@all -select +select|0 +select|0");
        assert!(selector.allows_command(select, Some(b"0")) && !selector.allows_command(select, Some(b"1")));
        assert!(!selector.allows_command(select, None));
        assert_eq!(selector.commands_text(), b"+@all -select +select|0");
        selector.apply(b"-@connection").expect("a rule");
        assert!(!selector.allows_command(select, Some(b"0")));
    }

    #[test]
    fn what_is_refused() {
        let mut selector = selector("+get ~a");
        for (rule, error) in [
            ("%~x", RuleError::Syntax),
            ("%RR~x", RuleError::Syntax),
            ("%", RuleError::Syntax),
            ("", RuleError::Syntax),
            ("~a b", RuleError::Syntax),
            ("+nosuch", RuleError::Unknown),
            ("-get|x", RuleError::Unknown),
            ("+config|get|x", RuleError::FirstArgOfSubcommand),
            ("+get|", RuleError::Syntax),
        ] {
            let before = selector.clone();
            assert_eq!(selector.apply(rule.as_bytes()), Err(error), "{rule}");
            assert_eq!(selector, before);
        }
    }

    fn text(rules: &str) -> String {
        String::from_utf8(selector(rules).describe()).expect("rules are text")
    }

    #[test]
    fn descriptions_are_the_rules_that_count() {
        assert_eq!(text("+get -GET +@read ~a &b"), "~a resetchannels &b -@all -get +@read");
        assert_eq!(text("+@all allkeys allchannels allcommands"), "~* &* +@all");
        assert_eq!(text("+@all +config|get -config +config|set"), "resetchannels +@all -config +config|set");
        assert_eq!(text("db=3,1 db=2,0,2 +get"), "resetchannels db=0,2 -@all +get");
        assert_eq!(text("resetdbs +get"), "resetchannels resetdbs -@all +get");
    }

    #[test]
    fn descriptions_give_the_same_rights() {
        let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(7));
        for _ in 0..200 {
            let mut selector = Selector::new(rng.bool());
            for _ in 0..rng.usize(..12) {
                let sign = if rng.bool() { '+' } else { '-' };
                let rule = if rng.bool() {
                    format!(
                        "{sign}@{}",
                        rng.choice(crate::command::categories::CATEGORIES).expect("not empty")
                    )
                } else {
                    format!("{sign}{}", table().all()[rng.usize(..table().len())].full_name())
                };
                selector.apply(rule.as_bytes()).expect("a rule");
            }
            let mut again = Selector::new(true);
            let described = selector.describe();
            described.split(|&b| b == b' ').for_each(|rule| again.apply(rule).expect("a rule"));
            assert_eq!(again.commands, selector.commands, "{}", described.escape_ascii());
        }
    }
}
