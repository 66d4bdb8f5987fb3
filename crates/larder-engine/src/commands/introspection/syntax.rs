//! How a command is written, from its declared arguments: `SET key value [NX | XX] [GET] [EX seconds | PX milliseconds]`.

use super::arguments::Argument;

/// The arguments of a command in one line.
pub(super) fn syntax(list: &[Argument<'_>]) -> String {
    list.iter().map(Argument::syntax).collect::<Vec<_>>().join(" ")
}

impl Argument<'_> {
    /// One argument: brackets around what may be left out, `...` after what may be repeated.
    fn syntax(&self) -> String {
        let once = self.once();
        let text = match self.multiple {
            false => once,
            true if self.multiple_token || self.token.is_none() => format!("{once} [{once} ...]"),
            // The token stands once, before all of them.
            true => format!("{once} [{} ...]", self.body()),
        };
        if self.optional { format!("[{text}]") } else { text }
    }

    fn once(&self) -> String {
        let token = self
            .token
            .map(|token| if token.is_empty() { "\"\"".to_owned() } else { token.replace('_', " ") });
        match (token, self.body()) {
            (Some(token), body) if body.is_empty() => token,
            (Some(token), body) => format!("{token} {body}"),
            (None, body) => body,
        }
    }

    /// What stands after the token.
    fn body(&self) -> String {
        match self.kind {
            "pure-token" => String::new(),
            "oneof" => {
                let choices = self.children.iter().map(Argument::syntax).collect::<Vec<_>>().join(" | ");
                if self.optional && self.token.is_none() { choices } else { format!("<{choices}>") }
            }
            "block" => syntax(&self.children),
            _ => self.name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::arguments::parse;
    use super::*;
    use crate::command::table::table;

    fn of(name: &str) -> String {
        let found = table().find_full(name.as_bytes()).expect("it is a command");
        syntax(&parse(found.command.args))
    }

    #[test]
    fn commands_as_they_are_written() {
        assert_eq!(of("get"), "key");
        assert_eq!(of("del"), "key [key ...]");
        assert_eq!(of("lmove"), "source destination <LEFT | RIGHT> <LEFT | RIGHT>");
        assert_eq!(of("hset"), "key field value [field value ...]");
        assert_eq!(of("lpos"), "key element [RANK rank] [COUNT num-matches] [MAXLEN len]");
        assert_eq!(of("expire"), "key seconds [NX | XX | GT | LT]");
        assert_eq!(
            of("sort"),
            "key [BY by-pattern] [LIMIT offset count] [GET get-pattern [GET get-pattern ...]] [ASC | DESC] [ALPHA] \
             [STORE destination]"
        );
    }
}
