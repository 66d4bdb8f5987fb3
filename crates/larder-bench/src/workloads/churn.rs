//! What replacing elements does to memory, at constant size.

use crate::context::Context;
use crate::figure::Target;
use crate::loader::Loader;
use std::io;

/// Loads a collection, and has its elements replaced `count` times: memory afterwards, against the fresh load.
pub fn run(
    context: &mut Context,
    row: &str,
    count: usize,
    target: Target,
    load: impl FnOnce(&mut Loader) -> io::Result<()>,
    mut replace: impl FnMut(&mut Loader, usize) -> io::Result<()>,
) -> io::Result<()> {
    let mut session = context.start()?;
    session.wait_quiet(context.still() / 3)?;
    let before = session.rss();
    let mut loader = session.loader()?;
    load(&mut loader)?;
    loader.finish()?;
    session.wait_quiet(context.still())?;
    let fresh = session.rss() - before;
    let mut loader = session.loader()?;
    for n in 0..count {
        if n.is_multiple_of(50_000) {
            context.progress("replacing", n, count);
        }
        replace(&mut loader, n)?;
    }
    loader.finish()?;
    session.wait_quiet(context.still())?;
    let after = session.rss() - before;
    context.figure(row, "times", after / fresh.max(1.0), target);
    Ok(())
}
