//! What a user may do, and how he proves who he is: an immutable value. A change makes a new one.

use super::password::Hash;
use super::rule_error::RuleError;
use super::selector::Selector;

/// The rights of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rights {
    enabled: bool,
    /// Any password will do.
    nopass: bool,
    passwords: Vec<Hash>,
    /// The user's own; then those in parentheses.
    root: Selector,
    selectors: Vec<Selector>,
}

impl Rights {
    /// A user who is off and may do nothing, but perhaps use all channels.
    pub(crate) fn none(all_channels: bool) -> Self {
        Rights {
            enabled: false,
            nopass: false,
            passwords: Vec::new(),
            root: Selector::new(all_channels),
            selectors: Vec::new(),
        }
    }

    /// A user who may do everything, without password.
    pub(crate) fn all() -> Self {
        Rights { enabled: true, nopass: true, root: Selector::all(), ..Rights::none(true) }
    }

    /// Applies a rule. `all_channels` is what users start from. On an error nothing has changed.
    pub(crate) fn apply(&mut self, rule: &[u8], all_channels: bool) -> Result<(), RuleError> {
        let is = |word: &str| rule.eq_ignore_ascii_case(word.as_bytes());
        match rule {
            [] => {}
            _ if is("on") => self.enabled = true,
            _ if is("off") => self.enabled = false,
            _ if is("nopass") => self.reset_passwords(true),
            _ if is("resetpass") => self.reset_passwords(false),
            // Payloads are always checked; descriptions of users do not say so.
            _ if is("skip-sanitize-payload") || is("sanitize-payload") => {}
            _ if is("clearselectors") => self.selectors.clear(),
            _ if is("reset") => *self = Rights::none(all_channels),
            [b'>' | b'#' | b'<' | b'!', ..] => return self.change_password(rule),
            [b'(', inner @ .., b')'] => self.selectors.push(parse_selector(inner, all_channels)?),
            _ => return self.root.apply(rule),
        }
        Ok(())
    }

    /// Applies rules, of which those in parentheses are whole; the error comes with the rule that is wrong.
    pub(crate) fn apply_all(
        &mut self,
        rules: &[Vec<u8>],
        all_channels: bool,
    ) -> Result<(), (usize, RuleError)> {
        let mut each = rules.iter().enumerate();
        each.try_for_each(|(at, rule)| self.apply(rule, all_channels).map_err(|error| (at, error)))
    }

    fn reset_passwords(&mut self, nopass: bool) {
        self.nopass = nopass;
        self.passwords.clear();
    }

    fn change_password(&mut self, rule: &[u8]) -> Result<(), RuleError> {
        let hash = match rule[0] {
            b'>' | b'<' => Hash::of(&rule[1..]),
            _ => Hash::parse(&rule[1..]).ok_or(RuleError::BadHash)?,
        };
        let known = self.passwords.iter().position(|known| *known == hash);
        match (rule[0], known) {
            (b'>' | b'#', _) => {
                if known.is_none() {
                    self.passwords.push(hash);
                }
                self.nopass = false;
            }
            (_, Some(at)) => {
                self.passwords.remove(at);
            }
            (_, None) => return Err(RuleError::NoSuchPassword),
        }
        Ok(())
    }

    /// Whether the user may come in with this password.
    pub(crate) fn admits(&self, password: &[u8]) -> bool {
        if !self.enabled || self.nopass {
            return self.enabled;
        }
        let given = Hash::of(password);
        // All are compared, so that the time does not tell which one fits.
        self.passwords.iter().fold(false, |found, known| found | known.equals(&given))
    }

    /// Whether any password will do.
    pub(crate) fn nopass(&self) -> bool {
        self.nopass
    }

    /// Whether connections that have not said who they are may be this user.
    pub(crate) fn is_open(&self) -> bool {
        self.nopass && self.enabled
    }

    /// Whether the user can come in at all.
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// All selectors, the user's own first.
    pub(crate) fn selectors(&self) -> impl Iterator<Item = &Selector> {
        std::iter::once(&self.root).chain(&self.selectors)
    }

    /// Whether no command needs to be looked at.
    pub(crate) fn is_all(&self) -> bool {
        self.selectors().any(Selector::is_all)
    }

    /// Whether a channel, or a pattern of channels, may be used.
    pub(crate) fn allows_channel(&self, name: &[u8], is_pattern: bool) -> bool {
        self.selectors().any(|selector| selector.allows_channel(name, is_pattern))
    }

    /// Whether all channels may be used.
    pub(crate) fn allows_all_channels(&self) -> bool {
        self.selectors().any(Selector::allows_all_channels)
    }

    /// Whether any channel may be used.
    pub(crate) fn allows_a_channel(&self) -> bool {
        self.selectors().any(Selector::allows_a_channel)
    }

    /// The flags as rules.
    pub(crate) fn flags(&self) -> Vec<&'static str> {
        let mut flags = vec![if self.enabled { "on" } else { "off" }];
        if self.nopass {
            flags.push("nopass");
        }
        flags
    }

    /// The hashes of the passwords.
    pub(crate) fn passwords(&self) -> &[Hash] {
        &self.passwords
    }

    /// Everything as rules, separated by blanks.
    pub(crate) fn describe(&self) -> Vec<u8> {
        let mut text = self.flags().join(" ").into_bytes();
        text.push(b' ');
        for hash in &self.passwords {
            text.push(b'#');
            text.extend_from_slice(hash.digits());
            text.push(b' ');
        }
        text.extend_from_slice(&self.root.describe());
        for selector in &self.selectors {
            text.extend_from_slice(b" (");
            text.extend_from_slice(&selector.describe());
            text.push(b')');
        }
        text
    }
}

/// The rules within parentheses. Words follow the quoting rules of configuration lines; where quotes are unbalanced
/// there are none, as in Redis.
fn parse_selector(rules: &[u8], all_channels: bool) -> Result<Selector, RuleError> {
    let mut selector = Selector::new(all_channels);
    for rule in larder_resp::split_args(rules).unwrap_or_default() {
        selector.apply(&rule)?;
    }
    Ok(selector)
}

/// Joins the words of rules in parentheses. The error is the position of a parenthesis that is never closed.
pub(crate) fn join_selectors<'a>(words: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Vec<u8>>, usize> {
    let mut rules = Vec::new();
    let mut open: Option<(usize, Vec<u8>)> = None;
    for (at, word) in words.enumerate() {
        let closes = word.last() == Some(&b')');
        if open.is_none() && word.first() == Some(&b'(') && !closes {
            open = Some((at, word.to_vec()));
        } else if let Some((start, mut rule)) = open.take() {
            rule.push(b' ');
            rule.extend_from_slice(word);
            if closes {
                rules.push(rule);
            } else {
                open = Some((start, rule));
            }
        } else {
            rules.push(word.to_vec());
        }
    }
    open.map_or(Ok(rules), |(at, _)| Err(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(rules: &str) -> Rights {
        let mut rights = Rights::none(false);
        let rules = join_selectors(rules.split(' ').map(str::as_bytes)).expect("closed");
        rights.apply_all(&rules, false).expect("valid");
        rights
    }

    #[test]
    fn described_as_set() {
        let text = rights("on >x %R~a (+get ~x) ( ~y &z +set )").describe();
        let expected = "on #2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881 %R~a resetchannels -@all (~x \
                        resetchannels -@all +get) (~y resetchannels &z -@all +set)";
        assert_eq!(String::from_utf8(text).expect("text"), expected);
        assert_eq!(rights("on +get reset").describe(), b"off resetchannels -@all");
    }

    #[test]
    fn passwords_let_in() {
        assert!(rights("on >a >b").admits(b"b") && !rights("on >a >b <b").admits(b"b"));
        assert!(rights("on nopass").admits(b"whatever") && !rights("nopass").admits(b"x"));
        assert!(!rights("on").admits(b""));
        assert!(!rights("on nopass >a").admits(b"b"), "a password ends nopass");
    }

    #[test]
    fn parentheses() {
        let join = |text: &str| join_selectors(text.split(' ').map(str::as_bytes));
        let rules = join("a (b c) d").expect("closed");
        assert_eq!(rules, [&b"a"[..], b"(b c)", b"d"]);
        assert_eq!(join("a (b c"), Err(1));
        assert_eq!(join("(a (b c)").expect("closed"), [b"(a (b c)"]);
    }

    #[test]
    fn a_refused_rule_changes_nothing() {
        let mut rights = rights("on >x ~a +get");
        let before = rights.clone();
        for rule in ["(on)", "(+get +nosuch)", "#abc", "<y", "!abc", "foo", "+@nosuch"] {
            assert!(rights.apply(rule.as_bytes(), false).is_err(), "{rule}");
        }
        assert_eq!(rights, before);
    }
}
