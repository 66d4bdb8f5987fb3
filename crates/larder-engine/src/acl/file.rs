//! The text of an ACL file: one line for each user, as ACL LIST prints it.

use super::rule_error::RuleError;
use super::words::has_blanks;
use super::{Rights, join_selectors};
use std::collections::BTreeMap;

const UNCHANGED: &str =
    "WARNING: ACL errors detected, no change to the previously active ACL rules was performed";

/// The users of a file's text, or all that is wrong with it. `path` is for the messages.
pub(crate) fn parse_file(
    path: &str,
    text: &[u8],
    all_channels: bool,
) -> Result<BTreeMap<Vec<u8>, Rights>, Vec<u8>> {
    let mut users = BTreeMap::new();
    let mut errors = Vec::new();
    for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = trim(line, b" \t\r\n");
        if !line.is_empty() {
            let parser = Line { path, number: at + 1, all_channels };
            parser.read(line, &mut users, &mut errors);
        }
    }
    if errors.is_empty() {
        return Ok(users);
    }
    errors.extend_from_slice(UNCHANGED.as_bytes());
    Err(errors)
}

/// Where a line stands.
struct Line<'a> {
    path: &'a str,
    number: usize,
    all_channels: bool,
}

impl Line<'_> {
    fn read(&self, line: &[u8], users: &mut BTreeMap<Vec<u8>, Rights>, errors: &mut Vec<u8>) {
        let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
        let [b"user", name, rules @ ..] = &words[..] else {
            let text = " should start with user keyword followed by the username. ";
            return errors.extend_from_slice(format!("{}:{}{text}", self.path, self.number).as_bytes());
        };
        if has_blanks(name) {
            errors.push(b'\'');
            return self.complain(errors, &[b"username '", name, b"' contains invalid characters. "]);
        }
        if users.contains_key(*name) {
            let text = [b"WARNING: Duplicate user '", *name, b"' found on line "].concat();
            errors.extend_from_slice(&text);
            return errors.extend_from_slice(format!("{}. ", self.number).as_bytes());
        }
        let mut rights = Rights::none(self.all_channels);
        match join_selectors(rules.iter().copied()) {
            Ok(rules) => self.apply(&mut rights, &rules, errors),
            Err(_) => self.complain(errors, &[b"Unmatched parenthesis in selector definition."]),
        }
        users.insert(name.to_vec(), rights);
    }

    /// Applies all rules. Unknown names are all told, of other errors the first: they may follow from one another, and
    /// the rule may be a password.
    fn apply(&self, rights: &mut Rights, rules: &[Vec<u8>], errors: &mut Vec<u8>) {
        let mut told = false;
        for rule in rules.iter().map(|rule| trim(rule, b"\t\r\n")) {
            match rights.apply(rule, self.all_channels) {
                Ok(()) => {}
                Err(error @ RuleError::Unknown) => {
                    let text = error.to_string();
                    let parts = [&b"Error in applying operation '"[..], rule, b"': ", text.as_bytes(), b". "];
                    self.complain(errors, &parts);
                }
                Err(_) if told => {}
                Err(error) => {
                    told = true;
                    self.complain(errors, &[error.to_string().as_bytes(), b". "]);
                }
            }
        }
    }

    fn complain(&self, errors: &mut Vec<u8>, text: &[&[u8]]) {
        errors.extend_from_slice(format!("{}:{}: ", self.path, self.number).as_bytes());
        errors.extend_from_slice(&text.concat());
    }
}

fn trim<'t>(mut text: &'t [u8], bytes: &[u8]) -> &'t [u8] {
    while let [first, rest @ ..] = text
        && bytes.contains(first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && bytes.contains(last)
    {
        text = rest;
    }
    text
}

/// The text of a file with these lines.
pub(crate) fn to_file(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.iter().flat_map(|line| [&line[..], b"\n"]).flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(text: &str) -> String {
        let errors = parse_file("f", text.as_bytes(), false).expect_err("there are errors");
        let errors = String::from_utf8(errors).expect("text");
        errors.strip_suffix(UNCHANGED).expect("says that nothing has changed").to_owned()
    }

    #[test]
    fn users_are_read() {
        let users = parse_file("f", b"\n  user a on >x ~a (+get ~b)\r\nuser b\n\n", false).expect("valid");
        let text: Vec<_> =
            users.values().map(|rights| String::from_utf8_lossy(&rights.describe()).into_owned()).collect();
        assert!(text[0].ends_with("~a resetchannels -@all (~b resetchannels -@all +get)"), "{text:?}");
        assert_eq!(text[1], "off resetchannels -@all");
    }

    /// Whatever stands in a file: it is refused, or it gives users that are written and read again as the same.
    #[test]
    fn any_bytes_will_do() {
        let seed = larder_testkit::seed(5);
        let mut rng = fastrand::Rng::with_seed(seed);
        let words: [&[u8]; 24] = [
            b"user",
            b"a",
            b"b",
            b"on",
            b"off",
            b">x",
            b"<x",
            b"#1",
            b"~k*",
            b"%R~k",
            b"%W~",
            b"&c",
            b"&*",
            b"~*",
            b"+get",
            b"-@all",
            b"+@read",
            b"+config|get",
            b"+select|1",
            b"(",
            b"(+set",
            b")",
            b"~y)",
            b"reset",
        ];
        let mut read = 0;
        for _ in 0..3000 {
            let mut text = Vec::new();
            for _ in 0..rng.usize(..12) {
                text.extend_from_slice(words[rng.usize(..words.len())]);
                text.push(if rng.u32(..6) == 0 { b'\n' } else { b' ' });
            }
            if rng.u32(..8) == 0 && !text.is_empty() {
                let at = rng.usize(..text.len());
                text[at] = rng.u8(..);
            }
            let text = if rng.bool() { [b"user a ", &text[..]].concat() } else { text };
            let Ok(users) = parse_file("f", &text, rng.bool()) else { continue };
            let line = |(name, rights): (&Vec<u8>, &Rights)| {
                [&b"user "[..], name, b" ", &rights.describe()].concat()
            };
            let again = to_file(&users.iter().map(line).collect::<Vec<_>>());
            assert_eq!(parse_file("f", &again, rng.bool()).as_ref(), Ok(&users), "{}", again.escape_ascii());
            read += 1;
        }
        assert!(read > 100, "only {read} files were valid");
    }

    #[test]
    fn all_errors_are_told() {
        assert_eq!(
            errors("user\nuser a\nfoo\n"),
            "f:1 should start with user keyword followed by the username. f:3 should start with user keyword followed by \
             the username. "
        );
        assert_eq!(errors("user a\nuser a"), "WARNING: Duplicate user 'a' found on line 2. ");
        let unknown = "f:1: Error in applying operation '+x': Unknown command or category name in ACL. ";
        assert_eq!(errors("user a foo +x bar"), format!("f:1: Syntax error. {unknown}"));
        assert_eq!(errors("user a (x"), "f:1: Unmatched parenthesis in selector definition.");
    }
}
