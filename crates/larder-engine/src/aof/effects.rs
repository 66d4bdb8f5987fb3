//! What commands have done, in the form in which it can be done again: for the append-only file and for replicas.
//!
//! A command that changed something is noted as it was given, unless its outcome depends on time, chance or waiting:
//! then its handler notes what has the same effect at any time. What one command or one transaction did goes into the
//! log as a whole, while the locks of its shards are held: the order of the log is the order of execution.
//!
//! Rules:
//! - E1: replaying the effects of a unit on the data before it gives the data after it, deadlines included. Debug builds
//!   can check that after every unit (`unit_check.rs`).
//! - E2: effects are taken back to a [`Savepoint`] only, never as a whole, and only when what they stand for is not kept
//!   either.
//! - E3: a script may keep the effects of its commands from the file or from replicas. Keys and fields that expire meanwhile
//!   are deleted there all the same: nobody else would delete them.

use larder_resp::{Args, encode_command};

/// The effects of the command or the transaction that is being executed.
#[derive(Default)]
pub(crate) struct Effects {
    /// Who wants them.
    wanted_by: Targets,
    /// Who gets the next ones.
    to: Targets,
    /// The handler has spoken for the command.
    replaced: bool,
    bytes: Vec<u8>,
    parts: Vec<Part>,
    /// Effects that come after that of the command under way.
    trailing: Vec<(usize, Vec<u8>)>,
    /// A script has kept effects from the log, or keys were reserved and their shards released.
    #[cfg(debug_assertions)]
    are_partial: bool,
}

/// Who gets effects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Targets {
    /// The append-only file.
    pub file: bool,
    /// The stream for replicas.
    pub stream: bool,
}

impl Targets {
    /// Both.
    pub(crate) const ALL: Targets = Targets { file: true, stream: true };

    fn any(self) -> bool {
        self.file || self.stream
    }

    fn and(self, other: Targets) -> Targets {
        Targets { file: self.file && other.file, stream: self.stream && other.stream }
    }
}

/// One effect.
struct Part {
    db: usize,
    /// Where it ends among the bytes.
    end: usize,
    to: Targets,
    /// Whether it changes data.
    is_change: bool,
}

/// A place among the effects of a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Savepoint {
    bytes: usize,
    parts: usize,
}

impl Effects {
    /// Begins again for a command or a transaction: who wants its effects.
    #[inline]
    pub(crate) fn begin(&mut self, for_file: bool, for_stream: bool) {
        self.wanted_by = Targets { file: for_file, stream: for_stream };
        self.to = self.wanted_by;
        debug_assert!(self.parts.is_empty(), "the effects of the unit before are in the log");
        #[cfg(debug_assertions)]
        {
            self.are_partial = false;
        }
    }

    /// Begins a command.
    #[inline]
    pub(crate) fn begin_command(&mut self) {
        self.replaced = false;
    }

    /// Whether the effects of the command are wanted.
    #[inline]
    pub(crate) fn wanted(&self) -> bool {
        self.to.any()
    }

    /// The effects of the commands from here on go to these targets, as far as they are wanted there.
    pub(crate) fn set_targets(&mut self, to: Targets) {
        self.to = self.wanted_by.and(to);
        if to != Targets::ALL {
            self.note_partial();
        }
    }

    /// What the unit does cannot be checked against its effects.
    pub(crate) fn note_partial(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.are_partial = true;
        }
    }

    /// Whether the effects of the unit are to be all that it does.
    #[cfg(debug_assertions)]
    pub(crate) fn are_whole(&self) -> bool {
        !self.are_partial
    }

    /// Whether the command is to be noted as it was given.
    #[inline]
    pub(crate) fn as_given(&self) -> bool {
        self.to.any() && !self.replaced
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

    /// The effects for the file in their order: database and encoded command.
    pub(crate) fn for_file(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.parts().filter(|(part, _)| part.to.file).map(|(part, command)| (part.db, command))
    }

    /// The same for replicas.
    pub(crate) fn for_stream(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.parts().filter(|(part, _)| part.to.stream).map(|(part, command)| (part.db, command))
    }

    fn parts(&self) -> impl Iterator<Item = (&Part, &[u8])> {
        let mut start = 0;
        self.parts
            .iter()
            .map(move |part| (part, &self.bytes[std::mem::replace(&mut start, part.end)..part.end]))
    }

    fn note(&mut self, db: usize, to: Targets) {
        self.parts.push(Part { db, end: self.bytes.len(), to, is_change: true });
    }

    /// Whether any of them changes data: messages do not.
    pub(crate) fn has_changes(&self) -> bool {
        self.parts.iter().any(|part| part.is_change)
    }

    /// Notes an effect of the command.
    pub(crate) fn push<'w>(&mut self, db: usize, words: impl ExactSizeIterator<Item = &'w [u8]>) {
        if self.to.any() {
            encode_command(&mut self.bytes, words);
            self.note(db, self.to);
        }
    }

    /// Notes that something was deleted because its time is over, whatever a script says of its commands (E3).
    pub(crate) fn push_expiry<'w>(&mut self, db: usize, words: impl ExactSizeIterator<Item = &'w [u8]>) {
        if self.wanted_by.any() {
            encode_command(&mut self.bytes, words);
            self.note(db, self.wanted_by);
        }
    }

    /// Notes an effect that comes after that of the command under way, and belongs to what [`push_expiry`](Self::push_expiry)
    /// has noted before it.
    pub(crate) fn push_trailing<'w>(&mut self, db: usize, words: impl ExactSizeIterator<Item = &'w [u8]>) {
        if self.wanted_by.any() {
            let mut bytes = Vec::new();
            encode_command(&mut bytes, words);
            self.trailing.push((db, bytes));
        }
    }

    /// The effect of a command has been noted: what trails it follows.
    #[inline]
    pub(crate) fn end_command(&mut self) {
        if !self.trailing.is_empty() {
            self.append_trailing();
        }
    }

    #[cold]
    fn append_trailing(&mut self) {
        for (db, command) in std::mem::take(&mut self.trailing) {
            self.bytes.extend_from_slice(&command);
            self.note(db, self.wanted_by);
        }
    }

    /// Notes a command as it was given.
    pub(crate) fn push_given(&mut self, db: usize, args: Args<'_>) {
        match args.encoded() {
            Some(bytes) => self.bytes.extend_from_slice(bytes),
            None => encode_command(&mut self.bytes, args.iter()),
        }
        self.note(db, self.to);
    }

    /// Notes what only replicas are sent, if there are any.
    pub(crate) fn push_for_stream<'w>(&mut self, db: usize, words: impl ExactSizeIterator<Item = &'w [u8]>) {
        if self.to.stream {
            encode_command(&mut self.bytes, words);
            let to = Targets { file: false, stream: true };
            self.parts.push(Part { db, end: self.bytes.len(), to, is_change: false });
        }
    }

    /// The end of what has been noted so far.
    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint { bytes: self.bytes.len(), parts: self.parts.len() }
    }

    /// Forgets what was noted since.
    pub(crate) fn roll_back(&mut self, to: Savepoint) {
        self.bytes.truncate(to.bytes);
        self.parts.truncate(to.parts);
        self.trailing.clear();
    }

    /// Forgets them all: they are in the log.
    pub(crate) fn clear(&mut self) {
        debug_assert!(self.trailing.is_empty(), "what trails a command follows it");
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
        let all: Vec<(usize, &[u8])> = effects.for_file().collect();
        assert_eq!(all, [(3, b"*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n".as_slice()), (0, b"*1\r\n$4\r\nPING\r\n")]);
        assert_eq!(effects.for_stream().count(), 0);
        effects.clear();
        effects.begin(true, true);
        assert!(effects.is_empty() && effects.as_given());
        effects.push_for_stream(0, [b"PUBLISH".as_slice()].into_iter());
        assert_eq!((effects.for_stream().count(), effects.for_file().count()), (1, 0));
    }

    #[test]
    fn effects_go_where_they_are_wanted() {
        for (wanted, set, commands, expiries) in [
            ((true, true), (true, false), (1, 0), (1, 1)),
            ((true, true), (false, true), (0, 1), (1, 1)),
            ((true, true), (false, false), (0, 0), (1, 1)),
            ((false, true), (true, false), (0, 0), (0, 1)),
            ((false, false), (true, true), (0, 0), (0, 0)),
        ] {
            let count = |effects: &Effects| (effects.for_file().count(), effects.for_stream().count());
            let mut effects = Effects::default();
            effects.begin(wanted.0, wanted.1);
            effects.set_targets(Targets { file: set.0, stream: set.1 });
            let begun = effects.savepoint();
            effects.push(0, [b"SET".as_slice()].into_iter());
            assert_eq!(count(&effects), commands, "{wanted:?} {set:?}");
            effects.roll_back(begun);
            effects.push_expiry(0, [b"DEL".as_slice()].into_iter());
            assert_eq!(count(&effects), expiries, "{wanted:?} {set:?}");
        }
    }

    #[test]
    fn what_trails_a_command_follows_it() {
        let mut effects = Effects::default();
        effects.begin(true, false);
        effects.push_expiry(0, [b"HDEL".as_slice()].into_iter());
        effects.push_trailing(0, [b"PEXPIREAT".as_slice()].into_iter());
        effects.push(0, [b"HSET".as_slice()].into_iter());
        effects.end_command();
        let all: Vec<&[u8]> = effects.for_file().map(|(_, command)| command).collect();
        assert_eq!(
            all,
            [&b"*1\r\n$4\r\nHDEL\r\n"[..], b"*1\r\n$4\r\nHSET\r\n", b"*1\r\n$9\r\nPEXPIREAT\r\n"]
        );
    }
}
