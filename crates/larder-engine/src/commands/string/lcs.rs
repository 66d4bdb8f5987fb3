//! LCS: the longest common subsequence of two strings.

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::kind::string_bytes;
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::{Args, Reply};

const NOT_STRINGS: CommandError = CommandError::Fixed("ERR The specified keys must contain string values");
const LEN_AND_IDX: CommandError =
    CommandError::Fixed("ERR If you want both the length and indexes, please just use IDX.");
const TOO_LONG: CommandError = CommandError::Fixed("ERR String too long for LCS");
const TOO_MUCH_MEMORY: CommandError =
    CommandError::Fixed("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");

/// Cells of the table that take as long as an element of a collection.
const CELLS_PER_ELEMENT: u64 = 40;

#[derive(Default)]
struct Options {
    len: bool,
    idx: bool,
    with_match_len: bool,
    min_match_len: usize,
}

pub(super) fn lcs(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    // Both are looked up before either may be of the wrong type.
    let strings = [1, 2].map(|at| {
        let key = context.key(args.at(at));
        context.read(&key, |entry, _| match entry {
            Some(entry) => string_bytes(&entry.value()).map(<[u8]>::to_vec).map_err(|_| NOT_STRINGS),
            None => Ok(Vec::new()),
        })
    });
    let [a, b] = &strings;
    let (a, b) = (a.as_ref().map_err(Clone::clone)?, b.as_ref().map_err(Clone::clone)?);
    let options = parse(args.from(3))?;
    let cells = check_size(context, a.len(), b.len())?;
    context.reads(cells as u64 / CELLS_PER_ELEMENT)?;
    let lengths = Lengths::compute(a, b, cells);
    write(&mut context.reply, &options, &lengths, a, b);
    Ok(())
}

fn parse(args: Args<'_>) -> CommandResult<Options> {
    let mut options = Options::default();
    let mut at = 0;
    while let Some(word) = args.get(at) {
        if is_word(word, "len") {
            options.len = true;
        } else if is_word(word, "idx") {
            options.idx = true;
        } else if is_word(word, "withmatchlen") {
            options.with_match_len = true;
        } else if is_word(word, "minmatchlen") && at + 1 < args.len() {
            at += 1;
            options.min_match_len = number::integer(&args[at])?.max(0) as usize;
        } else {
            return Err(CommandError::SYNTAX);
        }
        at += 1;
    }
    if options.len && options.idx { Err(LEN_AND_IDX) } else { Ok(options) }
}

/// Number of cells of the table of lengths, when it is allowed to be that large.
fn check_size(context: &Context<'_>, a: usize, b: usize) -> CommandResult<usize> {
    if a >= u32::MAX as usize - 1 || b >= u32::MAX as usize - 1 {
        return Err(TOO_LONG);
    }
    let max = context.engine.config.hot.string_bytes_max() as usize;
    let cells =
        (a + 1).checked_mul(b + 1).filter(|&cells| cells.checked_mul(4).is_some_and(|bytes| bytes <= max));
    cells.ok_or(TOO_MUCH_MEMORY)
}

/// For each pair of prefixes, the length of their longest common subsequence.
struct Lengths {
    cells: Vec<u32>,
    width: usize,
}

impl Lengths {
    fn compute(a: &[u8], b: &[u8], cells: usize) -> Self {
        let mut lengths = Lengths { cells: vec![0; cells], width: b.len() + 1 };
        for i in 1..=a.len() {
            for j in 1..=b.len() {
                let length = if a[i - 1] == b[j - 1] {
                    lengths.at(i - 1, j - 1) + 1
                } else {
                    lengths.at(i - 1, j).max(lengths.at(i, j - 1))
                };
                lengths.cells[i * lengths.width + j] = length;
            }
        }
        lengths
    }

    fn at(&self, i: usize, j: usize) -> u32 {
        self.cells[i * self.width + j]
    }
}

/// A run of equal bytes: its length and where it ends, exclusive, in each string.
#[derive(Clone, Copy)]
struct Run {
    a_end: usize,
    b_end: usize,
    len: usize,
}

/// Walks back from the ends and calls `each` with every run of the subsequence, last first.
fn runs(lengths: &Lengths, a: &[u8], b: &[u8], mut each: impl FnMut(Run)) {
    let (mut i, mut j) = (a.len(), b.len());
    let mut run: Option<Run> = None;
    while i > 0 && j > 0 {
        if a[i - 1] == b[j - 1] {
            run.get_or_insert(Run { a_end: i, b_end: j, len: 0 }).len += 1;
            (i, j) = (i - 1, j - 1);
            continue;
        }
        run.take().into_iter().for_each(&mut each);
        if lengths.at(i - 1, j) > lengths.at(i, j - 1) {
            i -= 1;
        } else {
            j -= 1;
        }
    }
    run.into_iter().for_each(each);
}

fn write(reply: &mut Reply<'_>, options: &Options, lengths: &Lengths, a: &[u8], b: &[u8]) {
    let total = lengths.at(a.len(), b.len());
    if options.idx {
        write_index(reply, options, lengths, a, b, total);
    } else if options.len {
        reply.int(i64::from(total));
    } else {
        let mut pieces = Vec::new();
        runs(lengths, a, b, |run| pieces.push(&a[run.a_end - run.len..run.a_end]));
        pieces.reverse();
        reply.bulk(&pieces.concat());
    }
}

fn write_index(reply: &mut Reply<'_>, options: &Options, lengths: &Lengths, a: &[u8], b: &[u8], total: u32) {
    let mut matches = Vec::new();
    runs(lengths, a, b, |run| matches.push(run));
    matches.retain(|run| run.len >= options.min_match_len);
    reply.map(2);
    reply.bulk(b"matches");
    reply.array(matches.len());
    for run in matches {
        reply.array(2 + usize::from(options.with_match_len));
        for end in [run.a_end, run.b_end] {
            reply.array(2);
            reply.count(end - run.len);
            reply.count(end - 1);
        }
        if options.with_match_len {
            reply.count(run.len);
        }
    }
    reply.bulk(b"len");
    reply.int(i64::from(total));
}
