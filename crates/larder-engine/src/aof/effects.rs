//! What commands have done, in the form in which it can be done again: for the append-only file and for replicas.
//!
//! A command that changed something is noted as it was given, unless its outcome depends on time, chance or waiting:
//! then its handler notes what has the same effect at any time. What one command or one transaction did goes into the
//! log as a whole, while the locks of its shards are held: the order of the log is the order of execution.

use larder_resp::{Args, encode_command};

/// The effects of the command or the transaction that is being executed.
#[derive(Default)]
pub(crate) struct Effects {
    /// Whether anybody wants them.
    on: bool,
    /// Whether replicas do.
    streams: bool,
    /// The handler has spoken for the command.
    replaced: bool,
    bytes: Vec<u8>,
    parts: Vec<Part>,
}

/// One effect.
struct Part {
    db: usize,
    /// Where it ends among the bytes.
    end: usize,
    /// It is for replicas, not for the file.
    for_stream: bool,
}

impl Effects {
    /// Begins again for a command or a transaction: who wants its effects.
    #[inline]
    pub(crate) fn begin(&mut self, for_file: bool, for_stream: bool) {
        self.on = for_file || for_stream;
        self.streams = for_stream;
        if self.on && !self.parts.is_empty() {
            self.clear();
        }
    }

    /// Begins a command.
    #[inline]
    pub(crate) fn begin_command(&mut self) {
        self.replaced = false;
    }

    /// Whether anybody wants to know.
    #[inline]
    pub(crate) fn wanted(&self) -> bool {
        self.on
    }

    /// Has them noted from now on, or not.
    pub(crate) fn set_wanted(&mut self, on: bool) {
        self.on = on;
    }

    /// Whether the command is to be noted as it was given.
    #[inline]
    pub(crate) fn as_given(&self) -> bool {
        self.on && !self.replaced
    }

    /// The command is not to be noted as it was given: others stand for it, or nothing does.
    #[inline]
    pub(crate) fn replace(&mut self) {
        self.replaced = true;
    }

    /// Whether nothing was noted.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Number of effects.
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// The effects in their order: database and encoded command.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.parts().map(|(part, command)| (part.db, command))
    }

    /// The same without those that only replicas get.
    pub(crate) fn iter_for_file(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.parts().filter(|(part, _)| !part.for_stream).map(|(part, command)| (part.db, command))
    }

    fn parts(&self) -> impl Iterator<Item = (&Part, &[u8])> {
        let mut start = 0;
        self.parts
            .iter()
            .map(move |part| (part, &self.bytes[std::mem::replace(&mut start, part.end)..part.end]))
    }

    /// Notes an effect.
    pub(crate) fn push<'w>(&mut self, db: usize, words: impl ExactSizeIterator<Item = &'w [u8]>) {
        encode_command(&mut self.bytes, words);
        self.parts.push(Part { db, end: self.bytes.len(), for_stream: false });
    }

    /// Notes a command as it was given.
    pub(crate) fn push_given(&mut self, db: usize, args: Args<'_>) {
        match args.encoded() {
            Some(bytes) => self.bytes.extend_from_slice(bytes),
            None => encode_command(&mut self.bytes, args.iter()),
        }
        self.parts.push(Part { db, end: self.bytes.len(), for_stream: false });
    }

    /// Notes what only replicas are sent, if there are any.
    pub(crate) fn push_for_stream<'w>(&mut self, db: usize, words: impl ExactSizeIterator<Item = &'w [u8]>) {
        if self.on && self.streams {
            encode_command(&mut self.bytes, words);
            self.parts.push(Part { db, end: self.bytes.len(), for_stream: true });
        }
    }

    /// Forgets them.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(1 << 16);
        self.parts.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_come_back_in_order() {
        let mut effects = Effects::default();
        effects.begin(true, false);
        effects.push(3, [b"DEL".as_slice(), b"k"].into_iter());
        effects.push(0, [b"PING".as_slice()].into_iter());
        let all: Vec<(usize, &[u8])> = effects.iter().collect();
        assert_eq!(all, [(3, b"*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n".as_slice()), (0, b"*1\r\n$4\r\nPING\r\n")]);
        effects.begin(true, true);
        assert!(effects.is_empty() && effects.as_given());
        effects.push_for_stream(0, [b"PUBLISH".as_slice()].into_iter());
        assert_eq!((effects.iter().count(), effects.iter_for_file().count()), (1, 0));
    }
}
