//! GEOADD: ZADD with positions for scores, and noted as such.

use super::parse_position;
use crate::commands::sorted_set::{AddOptions, add_all, add_apart};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::word::is_word;
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
    let score_of =
        |args: Args<'_>, at: usize| parse_position(&args[at], &args[at + 1]).map(|position| position.score());
    let all_scores = move |args: Args<'_>| {
        let given = args.from(first);
        (0..given.len()).step_by(3).map(|at| score_of(given, at)).collect::<CommandResult<Vec<f64>>>()
    };
    let key = context.key(args.at(1));
    let dirty = context.worker.stats.dirty.get();
    let (one, many);
    let scores: &[f64] = if context.makes_apart(given.len() as u64 / 3) {
        let member = first + 2;
        many = add_apart(context, &key, args, options, all_scores, move |args, i| args.at(member + 3 * i))?;
        &many
    } else {
        // Most often there is one, which needs no list.
        let scores = if given.len() == 3 {
            one = [score_of(given, 0)?];
            &one[..]
        } else {
            many = all_scores(args)?;
            &many
        };
        add_all(context, &key, &options, scores, |i| given.at(3 * i + 2))?;
        scores
    };
    if context.logs() && context.worker.stats.dirty.get() != dirty {
        log(context, args, first, scores);
    }
    Ok(())
}

/// Notes ZADD with the scores of positions. Its members begin at argument `first`, after the options.
fn log(context: &mut Context<'_>, args: Args<'_>, first: usize, scores: &[f64]) {
    let texts: Vec<String> = scores.iter().map(|score| (*score as u64).to_string()).collect();
    let mut words: Vec<&[u8]> =
        std::iter::once(&b"ZADD"[..]).chain((1..first).map(|at| args.at(at))).collect();
    for (i, text) in texts.iter().enumerate() {
        words.extend([text.as_bytes(), args.at(first + 3 * i + 2)]);
    }
    context.propagate_instead(&words);
}
