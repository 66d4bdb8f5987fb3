//! The arguments of one command, as slices of the buffer they arrived in.

use std::ops::Index;

/// Where one argument lies in its buffer: `start..end`, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// A command and its arguments: argument 0 is the command's name. Borrows, copies nothing.
#[derive(Clone, Copy)]
pub struct Args<'a> {
    buf: &'a [u8],
    spans: &'a [Span],
}

impl<'a> Args<'a> {
    /// Arguments at `spans` of `buf`, in ascending order. Every span must lie inside `buf`; a span that does not panics
    /// when read.
    pub fn new(buf: &'a [u8], spans: &'a [Span]) -> Self {
        Args { buf, spans }
    }

    /// Number of arguments, the command's name included.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is not even a name.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Argument `i`, if there is one; lives as long as the buffer, not as this view.
    pub fn get(&self, i: usize) -> Option<&'a [u8]> {
        self.spans.get(i).map(|s| &self.buf[s.start..s.end])
    }

    /// Argument `i`; panics when there are fewer.
    pub fn at(&self, i: usize) -> &'a [u8] {
        let s = self.spans[i];
        &self.buf[s.start..s.end]
    }

    /// All arguments in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + DoubleEndedIterator + use<'a> {
        let buf = self.buf;
        self.spans.iter().map(move |s| &buf[s.start..s.end])
    }

    /// The arguments from `i` on (none when there are fewer).
    pub fn from(&self, i: usize) -> Args<'a> {
        Args { buf: self.buf, spans: self.spans.get(i..).unwrap_or(&[]) }
    }

    /// The arguments before `i` (all when there are fewer).
    pub fn before(&self, i: usize) -> Args<'a> {
        Args { buf: self.buf, spans: self.spans.get(..i).unwrap_or(self.spans) }
    }

    /// Where the arguments lie in their buffer.
    pub fn spans(&self) -> &'a [Span] {
        self.spans
    }

    /// Where the arguments lie in `buf`, if the buffer of these is a part of it.
    pub fn spans_in(&self, buf: &[u8]) -> Option<Vec<Span>> {
        let offset = (self.buf.as_ptr() as usize).checked_sub(buf.as_ptr() as usize)?;
        if offset + self.buf.len() > buf.len() {
            return None;
        }
        Some(
            self.spans
                .iter()
                .map(|span| Span { start: span.start + offset, end: span.end + offset })
                .collect(),
        )
    }

    /// Sum of the arguments' lengths in bytes.
    pub fn size_bytes(&self) -> usize {
        self.spans.iter().map(|s| s.end - s.start).sum()
    }

    /// Bytes from the first argument's start to the last one's end: at least [`Args::size_bytes`], and O(1).
    #[inline]
    pub fn extent_bytes(&self) -> usize {
        match self.spans {
            [first, .., last] => last.end - first.start,
            _ => self.size_bytes(),
        }
    }

    /// The command as [`encode_command`](crate::encode_command) writes it, if it came in just these bytes and they are still around it.
    pub fn encoded(&self) -> Option<&'a [u8]> {
        let (first, others) = self.spans.split_first()?;
        let head = head_before(self.buf, first.start, b'$', first.end - first.start)?;
        let start = head_before(self.buf, head, b'*', self.spans.len())?;
        let mut end = first.end;
        for span in others {
            let head = head_before(self.buf, span.start, b'$', span.end - span.start)?;
            if head != end + 2 || &self.buf[end..head] != b"\r\n" {
                return None;
            }
            end = span.end;
        }
        (self.buf.get(end..end + 2)? == b"\r\n").then(|| &self.buf[start..end + 2])
    }

    /// A copy that owns its bytes, for commands that wait (a transaction's queue, a blocked client).
    pub fn to_owned(&self) -> OwnedArgs {
        let buf = Vec::with_capacity(self.size_bytes());
        let mut owned = OwnedArgs { buf, spans: Vec::with_capacity(self.len()) };
        owned.extend(self.iter());
        owned
    }
}

/// Where the mark, the number and the end of line begin that stand before `end`, if they do.
#[inline]
fn head_before(buf: &[u8], end: usize, mark: u8, mut number: usize) -> Option<usize> {
    let mut at = end.checked_sub(2)?;
    if &buf[at..end] != b"\r\n" {
        return None;
    }
    loop {
        at = at.checked_sub(1)?;
        if buf[at] != b'0' + (number % 10) as u8 {
            return None;
        }
        number /= 10;
        if number == 0 {
            break;
        }
    }
    at = at.checked_sub(1)?;
    (buf[at] == mark).then_some(at)
}

impl Index<usize> for Args<'_> {
    type Output = [u8];

    fn index(&self, i: usize) -> &[u8] {
        self.at(i)
    }
}

/// Arguments that own their bytes: one buffer, one list of spans.
#[derive(Clone, Debug, Default)]
pub struct OwnedArgs {
    buf: Vec<u8>,
    spans: Vec<Span>,
}

impl OwnedArgs {
    /// Arguments at `spans` of `buf`, as for [`Args::new`].
    pub fn of_buffer(buf: Vec<u8>, spans: Vec<Span>) -> Self {
        OwnedArgs { buf, spans }
    }

    /// The borrowed view that commands take.
    pub fn as_args(&self) -> Args<'_> {
        Args::new(&self.buf, &self.spans)
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.buf.capacity() + self.spans.capacity() * size_of::<Span>()
    }
}

impl<'a> FromIterator<&'a [u8]> for OwnedArgs {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(iter: I) -> Self {
        let mut owned = OwnedArgs::default();
        owned.extend(iter);
        owned
    }
}

impl<'a> Extend<&'a [u8]> for OwnedArgs {
    fn extend<I: IntoIterator<Item = &'a [u8]>>(&mut self, iter: I) {
        for arg in iter {
            let start = self.buf.len();
            self.buf.extend_from_slice(arg);
            self.spans.push(Span { start, end: self.buf.len() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owned_round_trip() {
        let owned: OwnedArgs = [&b"SET"[..], b"", b"value"].into_iter().collect();
        let args = owned.as_args();
        assert_eq!(args.len(), 3);
        assert_eq!(&args[2], b"value");
        assert_eq!(args.get(3), None);
        assert_eq!(args.from(1).iter().collect::<Vec<_>>(), [&b""[..], b"value"]);
        assert_eq!(args.from(9).len(), 0);
        assert_eq!(args.size_bytes(), 8);
        assert_eq!(
            (args.extent_bytes(), args.from(2).extent_bytes(), args.from(3).extent_bytes()),
            (8, 5, 0)
        );
        let spans = [Span { start: 4, end: 7 }, Span { start: 13, end: 14 }];
        let sparse = Args::new(b"$3\r\nGET\r\n$1\r\nk\r\n", &spans);
        assert_eq!((sparse.size_bytes(), sparse.extent_bytes()), (4, 10));
        assert_eq!(sparse.spans_in(b"another buffer"), None);
    }

    #[test]
    fn bytes_that_came_are_known_again() {
        let words = |len: usize| [b"SET".to_vec(), Vec::new(), vec![b'x'; len]];
        for len in [0, 1, 9, 10, 99, 100, 999, 1000, 12_345] {
            let mut buf = b"before".to_vec();
            crate::encode_command(&mut buf, words(len).iter().map(Vec::as_slice));
            let whole = buf.len();
            buf.extend_from_slice(b"after");
            let end = whole - 2;
            let spans =
                [Span { start: 14, end: 17 }, Span { start: 23, end: 23 }, Span { start: end - len, end }];
            let args = Args::new(&buf, &spans);
            assert_eq!(args.iter().collect::<Vec<_>>(), words(len));
            assert_eq!(args.encoded(), Some(&buf[6..whole]), "{len}");
            assert_eq!((args.from(1).encoded(), args.before(2).encoded()), (None, None));
            // Any other byte around them, and a buffer that ends before they do.
            for at in (6..14).chain(17..23).chain(23..end - len).chain(end..whole) {
                let mut other = buf.clone();
                other[at] ^= 1;
                assert_eq!(Args::new(&other, &spans).encoded(), None, "{len}: byte {at}");
            }
            assert_eq!(Args::new(&buf[..end], &spans).encoded(), None);
        }
        let spans = [Span { start: 0, end: 3 }, Span { start: 4, end: 5 }];
        assert_eq!(Args::new(b"GET k\r\n", &spans).encoded(), None);
        let spans = [Span { start: 9, end: 12 }];
        assert_eq!(Args::new(b"*01\r\n$3\r\nGET\r\n", &spans[..0]).encoded(), None);
        assert_eq!(Args::new(b"*01\r\n$3\r\nGET\r\n", &spans).encoded(), None);
    }

    #[test]
    fn a_buffer_is_taken_with_its_arguments() {
        let buf = b"before;GET k;after".to_vec();
        let spans = [Span { start: 0, end: 3 }, Span { start: 4, end: 5 }];
        let args = Args::new(&buf[7..], &spans);
        let spans = args.spans_in(&buf).unwrap();
        let owned = OwnedArgs::of_buffer(buf, spans);
        assert_eq!(owned.as_args().iter().collect::<Vec<_>>(), [&b"GET"[..], b"k"]);
    }
}
