//! The commands of a pipeline that were found before their turn.
//!
//! Who knows the keys of the next commands while it executes the first one can have the processor load what they will read.
//! To find them costs nothing, as each is parsed once: the parser goes on with what was found.

use crate::args::{Args, Span};
use std::ops::Range;
use std::slice;

/// Whole commands, in order, and how many of them have had their turn. Their arguments are kept by the parser, those of all in one list.
#[derive(Debug, Default)]
pub(super) struct Queue {
    wholes: Vec<Whole>,
    taken: usize,
}

#[derive(Clone, Copy, Debug)]
struct Whole {
    /// Where its arguments end among those of all.
    spans_end: usize,
    /// Bytes that it takes.
    bytes: usize,
}

/// Commands that were found before their turn, in order.
#[derive(Clone, Debug)]
pub struct Ahead<'a> {
    /// The buffer from the next command on.
    rest: &'a [u8],
    spans: &'a [Span],
    spans_start: usize,
    wholes: slice::Iter<'a, Whole>,
}

impl Queue {
    /// How many commands were found.
    pub fn len(&self) -> usize {
        self.wholes.len()
    }

    /// Whether there is one that has not had its turn.
    #[inline]
    pub fn has_next(&self) -> bool {
        self.taken < self.wholes.len()
    }

    /// Adds a command of this many bytes, whose arguments are those up to `spans_end` that are not of the one before.
    pub fn push(&mut self, spans_end: usize, bytes: usize) {
        self.wholes.push(Whole { spans_end, bytes });
    }

    /// The next command has its turn: where its arguments are, and its bytes.
    #[inline(always)]
    pub fn take(&mut self) -> Option<(Range<usize>, usize)> {
        let Whole { spans_end, bytes } = *self.wholes.get(self.taken)?;
        let spans = self.spans_start()..spans_end;
        self.taken += 1;
        Some((spans, bytes))
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.wholes.clear();
        self.taken = 0;
    }

    /// Those that have not had their turn, which lie in `rest` and have their arguments in `spans`.
    pub fn rest<'a>(&'a self, rest: &'a [u8], spans: &'a [Span]) -> Ahead<'a> {
        Ahead { rest, spans, spans_start: self.spans_start(), wholes: self.wholes[self.taken..].iter() }
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.wholes.capacity() * size_of::<Whole>()
    }

    #[inline]
    fn spans_start(&self) -> usize {
        match self.taken {
            0 => 0,
            taken => self.wholes[taken - 1].spans_end,
        }
    }
}

impl<'a> Iterator for Ahead<'a> {
    type Item = Args<'a>;

    #[inline]
    fn next(&mut self) -> Option<Args<'a>> {
        let whole = self.wholes.next()?;
        let args = Args::new(self.rest, &self.spans[self.spans_start..whole.spans_end]);
        self.spans_start = whole.spans_end;
        self.rest = &self.rest[whole.bytes..];
        Some(args)
    }
}
