//! GEOADD: ZADD with positions for scores.

use super::parse_position;
use crate::commands::is_word;
use crate::commands::sorted_set::{AddOptions, add_all};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use larder_resp::Args;

pub(super) fn geoadd(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let mut options = AddOptions::default();
    let mut first = 2;
    while let Some(word) = args.get(first) {
        match word {
            _ if is_word(word, "nx") => options.nx = true,
            _ if is_word(word, "xx") => options.xx = true,
            _ if is_word(word, "ch") => options.changed = true,
            _ => break,
        }
        first += 1;
    }
    let given = args.from(first);
    if given.is_empty() || !given.len().is_multiple_of(3) || options.nx && options.xx {
        return Err(CommandError::SYNTAX);
    }
    let score = |at| parse_position(&given[at], &given[at + 1]).map(|position| position.score());
    let key = context.key(args.at(1));
    let member = |i| given.at(3 * i + 2);
    // Most often there is one, which needs no list.
    if given.len() == 3 {
        return add_all(context, &key, &options, &[score(0)?], member);
    }
    let scores: Vec<f64> = (0..given.len()).step_by(3).map(score).collect::<CommandResult<_>>()?;
    add_all(context, &key, &options, &scores, member)
}
