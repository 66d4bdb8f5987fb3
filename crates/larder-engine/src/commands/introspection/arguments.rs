//! The notation in which commands declare their arguments, and its expansion in COMMAND DOCS.
//!
//! ```text
//! list     = argument *( " " argument )
//! argument = name ":" type [ "=" token ] [ "?" ] [ "*" ] [ "+" ] [ "#" key-spec ] [ "@" since ] [ "!" deprecated ]
//!            [ "~" display ] [ "^" summary ] [ "(" list ")" ]
//! ```
//!
//! `?` marks what may be left out, `*` what may be repeated, `+` a token that is repeated with it; in a token `_` stands
//! for a blank, and a text of blanks or signs with a meaning is quoted.
//! For example `condition:oneof?(nx:pure-token=NX xx:pure-token=XX)`.

use larder_resp::Reply;

/// One argument.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Argument<'a> {
    pub(super) name: &'a str,
    pub(super) kind: &'a str,
    pub(super) token: Option<&'a str>,
    pub(super) optional: bool,
    pub(super) multiple: bool,
    pub(super) multiple_token: bool,
    key_spec: Option<&'a str>,
    since: Option<&'a str>,
    deprecated: Option<&'a str>,
    /// What is shown in place of the name.
    display: Option<&'a str>,
    summary: Option<&'a str>,
    pub(super) children: Vec<Argument<'a>>,
}

/// Parses a list of arguments. The notation is ours, so a mistake in it is a bug and panics.
pub fn parse(text: &str) -> Vec<Argument<'_>> {
    let mut rest = text;
    let list = parse_list(&mut rest);
    assert!(rest.is_empty(), "arguments end at '{rest}'");
    list
}

fn parse_list<'a>(rest: &mut &'a str) -> Vec<Argument<'a>> {
    let mut list = Vec::new();
    while !rest.is_empty() && !rest.starts_with(')') {
        *rest = rest.trim_start();
        list.push(parse_one(rest));
    }
    list
}

fn parse_one<'a>(rest: &mut &'a str) -> Argument<'a> {
    let mut argument = Argument { name: word(rest), ..Argument::default() };
    assert!(eat(rest, ':'), "argument '{}' has no type", argument.name);
    argument.kind = word(rest);
    if eat(rest, '=') {
        argument.token = Some(word_or_quoted(rest));
    }
    argument.optional = eat(rest, '?');
    argument.multiple = eat(rest, '*');
    argument.multiple_token = eat(rest, '+');
    argument.key_spec = eat(rest, '#').then(|| word(rest));
    argument.since = eat(rest, '@').then(|| word(rest));
    argument.deprecated = eat(rest, '!').then(|| word(rest));
    argument.display = eat(rest, '~').then(|| word_or_quoted(rest));
    argument.summary = eat(rest, '^').then(|| word_or_quoted(rest));
    if eat(rest, '(') {
        argument.children = parse_list(rest);
        assert!(eat(rest, ')'), "the parts of '{}' do not end", argument.name);
    }
    argument
}

/// The characters up to the next one with a meaning.
fn word<'a>(rest: &mut &'a str) -> &'a str {
    let end =
        rest.find([':', '=', '?', '*', '+', '#', '@', '!', '~', '^', '(', ')', ' ']).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = after;
    word
}

fn word_or_quoted<'a>(rest: &mut &'a str) -> &'a str {
    if eat(rest, '"') { quoted(rest) } else { word(rest) }
}

/// The characters up to a double quote, which goes with them.
fn quoted<'a>(rest: &mut &'a str) -> &'a str {
    let (text, after) = rest.split_once('"').expect("a token in quotes ends with one");
    *rest = after;
    text
}

fn eat(rest: &mut &str, wanted: char) -> bool {
    match rest.strip_prefix(wanted) {
        Some(after) => {
            *rest = after;
            true
        }
        None => false,
    }
}

/// Writes a list of arguments as COMMAND DOCS does.
pub(crate) fn write(reply: &mut Reply<'_>, list: &[Argument<'_>]) {
    reply.array(list.len());
    list.iter().for_each(|argument| argument.write(reply));
}

impl Argument<'_> {
    fn flags(&self) -> Vec<&'static str> {
        let flags = [
            (self.optional, "optional"),
            (self.multiple, "multiple"),
            (self.multiple_token, "multiple_token"),
        ];
        flags.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect()
    }

    fn write(&self, reply: &mut Reply<'_>) {
        let flags = self.flags();
        let is_shown = !matches!(self.kind, "oneof" | "block");
        let fields = 2
            + usize::from(is_shown)
            + usize::from(self.key_spec.is_some())
            + usize::from(self.token.is_some())
            + usize::from(self.summary.is_some())
            + usize::from(self.since.is_some())
            + usize::from(self.deprecated.is_some())
            + usize::from(!flags.is_empty())
            + usize::from(!self.children.is_empty());
        reply.map(fields);
        write_text(reply, "name", self.name);
        write_text(reply, "type", self.kind);
        if is_shown {
            write_text(reply, "display_text", self.display.unwrap_or(self.name));
        }
        if let Some(key_spec) = self.key_spec {
            reply.bulk(b"key_spec_index");
            reply.int(key_spec.parse().expect("a key specification is a number"));
        }
        if let Some(token) = self.token {
            write_text(reply, "token", &token.replace('_', " "));
        }
        if let Some(summary) = self.summary {
            write_text(reply, "summary", summary);
        }
        if let Some(since) = self.since {
            write_text(reply, "since", since);
        }
        if let Some(deprecated) = self.deprecated {
            write_text(reply, "deprecated_since", deprecated);
        }
        if !flags.is_empty() {
            reply.bulk(b"flags");
            reply.set(flags.len());
            flags.iter().for_each(|flag| reply.simple(flag));
        }
        if !self.children.is_empty() {
            reply.bulk(b"arguments");
            write(reply, &self.children);
        }
    }
}

fn write_text(reply: &mut Reply<'_>, field: &str, text: &str) {
    reply.bulk(field.as_bytes());
    reply.bulk(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notation() {
        let text =
            r#"key:key#0 c:oneof?(nx:pure-token=NX ttl:integer=EX_AT@7.0.0) v:string*+ auto:pure-token="*"?"#;
        let list = parse(text);
        assert_eq!(list.len(), 4);
        assert_eq!((list[3].token, list[3].optional), (Some("*"), true));
        assert_eq!(
            list[0],
            Argument { name: "key", kind: "key", key_spec: Some("0"), ..Argument::default() }
        );
        let children = &list[1].children;
        assert_eq!((list[1].optional, children.len()), (true, 2));
        assert_eq!((children[1].token, children[1].since), (Some("EX_AT"), Some("7.0.0")));
        assert!(list[2].multiple && list[2].multiple_token);
        let list = parse(r#"old:string!2.8.12~"ip:port" by:pattern=BY?~pattern^"By what."(k:key)"#);
        assert_eq!((list[0].deprecated, list[0].display), (Some("2.8.12"), Some("ip:port")));
        assert_eq!((list[1].optional, list[1].display), (true, Some("pattern")));
        assert_eq!((list[1].summary, list[1].children.len()), (Some("By what."), 1));
    }

    #[test]
    fn every_command_declares_its_arguments_well() {
        for found in crate::command::table::table().all() {
            parse(found.command.args);
        }
    }
}
