//! What steps and their commands do, as far as the comparison must know.

use super::rules::{Rule, rule_of, subscribes};
use super::step::Step;

/// Commands sent at once, at most: the replies to them must fit where they wait until they are read.
const BATCH_MAX: usize = 64;

/// The commands at the beginning of the steps that one connection can send at once. What waits, or asks further when it is
/// compared, is the last of them.
pub fn batch(steps: &[Step]) -> Vec<&[Vec<u8>]> {
    let mut commands: Vec<&[Vec<u8>]> = Vec::new();
    let mut first = None;
    for step in steps.iter().take(BATCH_MAX) {
        let Step::Send { connection, args } = step else { break };
        if *first.get_or_insert(connection) != connection {
            break;
        }
        if ends_listening(args) && !commands.is_empty() {
            break;
        }
        commands.push(args);
        if takes_fields(step) || subscribes(args) || may_block(args) || rule_of(args) == Rule::Scan {
            break;
        }
    }
    commands
}

/// Whether a step may give fields of a hash a deadline.
pub fn fields_may_expire(step: &Step) -> bool {
    has_word(step, &["HEXPIRE", "HPEXPIRE", "HSETEX", "HGETEX"])
}

/// Whether a hash may have none but overdue fields after a step, in a sequence where fields have deadlines.
pub fn takes_fields(step: &Step) -> bool {
    let executes = matches!(step, Step::Send { args, .. } if is_one(args, &["EXEC"]));
    executes || fields_may_expire(step) || has_word(step, &["HDEL", "HGETDEL"])
}

/// Whether an argument begins with one of these.
fn has_word(step: &Step, words: &[&str]) -> bool {
    let is_one = |arg: &Vec<u8>| {
        let arg = arg.to_ascii_uppercase();
        words.iter().any(|word| arg.starts_with(word.as_bytes()))
    };
    matches!(step, Step::Send { args, .. } if args.iter().any(is_one))
}

/// Whether a step may put a collection in the place of what a key holds.
pub fn stores(step: &Step) -> bool {
    let has_word = |arg: &Vec<u8>| arg.to_ascii_uppercase().windows(5).any(|part| part == b"STORE");
    matches!(step, Step::Send { args, .. } if is_one(args, &["EXEC"]) || args.iter().any(has_word))
}

/// Whether a command may take channels from its connection.
pub fn ends_listening(args: &[Vec<u8>]) -> bool {
    subscribes(args) || is_one(args, &["RESET"])
}

pub fn is_one(args: &[Vec<u8>], names: &[&str]) -> bool {
    names.iter().any(|name| args[0].eq_ignore_ascii_case(name.as_bytes()))
}

pub fn name_of(args: &[Vec<u8>]) -> String {
    args.iter().take(3).map(|arg| arg.escape_ascii().to_string()).collect::<Vec<_>>().join(" ")
}

/// Whether a command may make its client wait.
pub fn may_block(args: &[Vec<u8>]) -> bool {
    const NAMES: [&str; 8] =
        ["BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "BZMPOP"];
    is_one(args, &NAMES) || is_one(args, &["XREAD", "XREADGROUP"])
}
