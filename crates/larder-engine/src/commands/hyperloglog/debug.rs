//! PFDEBUG: how a HyperLogLog is stored.

use super::sketch;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::word::is_word;
use larder_collections::hyperloglog::{Encoding, Registers, Run, Sketch, View};
use larder_resp::{Args, Reply};
use std::fmt::Write;

/// What a subcommand does to the string, and how it replies; true if it changed the string.
type Subcommand = fn(&mut Sketch<'_>, &mut Reply<'_>) -> CommandResult<bool>;

const SUBCOMMANDS: [(&str, Subcommand); 4] =
    [("decode", decode), ("encoding", encoding), ("getreg", getreg), ("todense", todense)];

pub(super) fn pfdebug(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(2));
    let mut out = Vec::new();
    let mut reply = Reply::new(&mut out, context.reply.protocol());
    let changed = context.with_string(&key, |bytes| {
        let mut sketch = sketch(bytes)?;
        let found = SUBCOMMANDS.iter().find(|(name, _)| is_word(&args[1], name));
        let (_, run) = found.ok_or_else(|| unknown(&args[1]))?;
        run(&mut sketch, &mut reply).map(|changed| (changed, changed))
    })?;
    match changed {
        None => return Err(CommandError::Fixed("ERR The specified key does not exist")),
        Some(true) => context.modified(&key),
        Some(false) => {}
    }
    context.reply.raw(&out);
    Ok(())
}

fn unknown(name: &[u8]) -> CommandError {
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    CommandError::Text([b"ERR Unknown PFDEBUG subcommand '", name, b"'"].concat())
}

/// All registers; the string is dense afterwards.
fn getreg(sketch: &mut Sketch<'_>, reply: &mut Reply<'_>) -> CommandResult<bool> {
    let changed = sketch.make_dense()?;
    let mut registers = Registers::new();
    registers.merge(sketch.view())?;
    reply.array(registers.iter().count());
    registers.iter().for_each(|register| reply.int(i64::from(register)));
    Ok(changed)
}

/// The runs of a sparse one: `z` and `Z` are short and long runs of zeros, `v` is value and length.
fn decode(sketch: &mut Sketch<'_>, reply: &mut Reply<'_>) -> CommandResult<bool> {
    let view: View<'_> = sketch.view();
    if view.encoding() != Encoding::Sparse {
        return Err(CommandError::Fixed("ERR HLL encoding is not sparse"));
    }
    let mut text = String::new();
    for run in view.runs() {
        let _ = match run {
            Run::ShortZeros(len) => write!(text, "z:{len} "),
            Run::LongZeros(len) => write!(text, "Z:{len} "),
            Run::Values(value, len) => write!(text, "v:{value},{len} "),
        };
    }
    reply.bulk(text.trim_end().as_bytes());
    Ok(false)
}

fn encoding(sketch: &mut Sketch<'_>, reply: &mut Reply<'_>) -> CommandResult<bool> {
    reply.simple(match sketch.view().encoding() {
        Encoding::Dense => "dense",
        Encoding::Sparse => "sparse",
    });
    Ok(false)
}

fn todense(sketch: &mut Sketch<'_>, reply: &mut Reply<'_>) -> CommandResult<bool> {
    let changed = sketch.make_dense()?;
    reply.int(i64::from(changed));
    Ok(changed)
}
