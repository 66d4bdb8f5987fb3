//! What of a command may be shown: MONITOR, the logs of commands and crash reports ask here, and nowhere else.

use crate::command::spec::{Command, Secrets};
use crate::config::Config;
use crate::text::word::is_word;
use larder_resp::Args;

/// What stands in the place of a secret.
const REDACTED: &[u8] = b"(redacted)";

/// The arguments, with a note in the place of those that are secrets.
pub(crate) fn visible<'a>(command: &Command, args: Args<'a>) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    let secret = secret_arguments(command.secrets, args);
    args.iter().enumerate().map(move |(at, arg)| if secret.contains(&at) { REDACTED } else { arg })
}

/// The positions of the secrets.
fn secret_arguments(secrets: Secrets, args: Args<'_>) -> Vec<usize> {
    match secrets {
        Secrets::None => Vec::new(),
        Secrets::From(first) => (first..args.len()).collect(),
        Secrets::After { words, from, until } => after_words(words, from, until, args),
        Secrets::Options(first) => (first..args.len())
            .step_by(2)
            .filter(|&name| Config::is_sensitive(&args[name]))
            .map(|name| name + 1)
            .collect(),
    }
}

fn after_words(words: &[(&str, usize)], from: usize, until: &str, args: Args<'_>) -> Vec<usize> {
    let (mut found, mut at) = (Vec::new(), from);
    while let Some(arg) = args.get(at).filter(|arg| !is_word(arg, until)) {
        let count = words.iter().find(|(word, _)| is_word(arg, word)).map_or(0, |(_, count)| *count);
        found.extend(at + 1..=at + count);
        at += 1 + count;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_resp::OwnedArgs;

    fn shown(secrets: Secrets, line: &str) -> String {
        let args: OwnedArgs = line.split(' ').map(str::as_bytes).collect();
        let command = Command { secrets, ..Command::DEFAULT };
        let words: Vec<_> = visible(&command, args.as_args()).map(String::from_utf8_lossy).collect();
        words.join(" ")
    }

    #[test]
    fn secrets_are_replaced_and_nothing_else() {
        assert_eq!(shown(Secrets::None, "SET k v"), "SET k v");
        assert_eq!(shown(Secrets::From(1), "AUTH user pw"), "AUTH (redacted) (redacted)");
        let hello = Secrets::After { words: &[("auth", 2)], from: 2, until: "" };
        assert_eq!(
            shown(hello, "HELLO 3 AUTH u p SETNAME auth"),
            "HELLO 3 AUTH (redacted) (redacted) SETNAME auth"
        );
        assert_eq!(shown(hello, "HELLO 3 AUTH u"), "HELLO 3 AUTH (redacted)", "too few");
        let migrate = Secrets::After { words: &[("auth", 1), ("auth2", 2)], from: 6, until: "keys" };
        assert_eq!(
            shown(migrate, "MIGRATE h 1 auth 0 10 COPY AUTH2 u p KEYS auth pw"),
            "MIGRATE h 1 auth 0 10 COPY AUTH2 (redacted) (redacted) KEYS auth pw"
        );
        assert_eq!(
            shown(Secrets::Options(2), "CONFIG SET maxmemory 1 requirepass pw MASTERAUTH pw"),
            "CONFIG SET maxmemory 1 requirepass (redacted) MASTERAUTH (redacted)"
        );
    }
}
