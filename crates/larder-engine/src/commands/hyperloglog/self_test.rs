//! PFSELFTEST: counts known numbers of elements, and compares the two encodings.

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use larder_collections::hyperloglog::{REGISTERS, Sketch, empty};
use larder_resp::Args;

/// Elements added.
const ELEMENTS: u64 = 1_000_000;
/// Bytes up to which the sparse one of the two stays so.
const SPARSE_BYTES_MAX: usize = 3000;

pub(super) fn pfselftest(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let (mut dense, mut sparse) = (empty(), empty());
    let failed = |what: &str, at: u64| CommandError::text(format!("TESTFAILED {what} after {at} elements"));
    let mut pair = [&mut dense, &mut sparse].map(|bytes| Sketch::of(bytes).expect("it was made just now"));
    pair[0].make_dense()?;
    let seed = context.worker.rng.u64(..);
    let mut check_at = 1;
    for n in 1..=ELEMENTS {
        let element = (n ^ seed).to_le_bytes();
        for sketch in &mut pair {
            sketch.add(&element, SPARSE_BYTES_MAX)?;
        }
        if n < check_at {
            continue;
        }
        check_at *= 10;
        let [dense, sparse] = [pair[0].view().count()?, pair[1].view().count()?];
        if dense != sparse {
            return Err(failed("the encodings differ", n));
        }
        // Six times the standard error; a little more where few elements make steps coarse.
        let error_max =
            (6.0 * 1.04 / (REGISTERS as f64).sqrt() * n as f64).ceil() + if n <= 10 { 1.0 } else { 0.0 };
        if (dense as f64 - n as f64).abs() > error_max {
            return Err(failed("the count is too far off", n));
        }
    }
    context.reply.ok();
    Ok(())
}
