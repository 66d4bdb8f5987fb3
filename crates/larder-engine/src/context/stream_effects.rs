//! What happened in consumer groups, as commands that do the same at any time: for the append-only file and
//! replicas. And whether a consumer came to be, for those who listen to events.

use crate::context::Context;
use crate::engine::notify::class;
use crate::text::stream_id::IdText;
use larder_collections::stream::{Group, Pending, StreamId};

/// Gathers the commands while a stream is worked on.
pub(crate) struct Effects<'k> {
    wanted: bool,
    key: &'k [u8],
    created: bool,
    commands: Vec<Vec<Vec<u8>>>,
}

impl<'k> Effects<'k> {
    /// For the stream of a key.
    pub(crate) fn new(context: &Context<'_>, key: &'k [u8]) -> Self {
        Effects { wanted: context.logs(), key, created: false, commands: Vec::new() }
    }

    /// An entry is pending as it is now.
    pub(crate) fn pending(&mut self, group: &Group, id: StreamId) {
        if let Some(pending) = group.pending(id).filter(|_| self.wanted) {
            self.commands.push(claim(self.key, group, &pending));
        }
    }

    /// An entry is pending no more.
    pub(crate) fn acknowledged(&mut self, group: &Group, id: StreamId) {
        let id = IdText::of(id);
        self.note(&[b"XACK", self.key, group.name(), id.as_bytes()]);
    }

    /// The group has read up to where it is now.
    pub(crate) fn progress(&mut self, group: &Group) {
        let (id, mut number) = (IdText::of(group.last_id), itoa::Buffer::new());
        let read = group.entries_read.map_or("-1", |read| number.format(read));
        self.note(&[
            b"XGROUP",
            b"SETID",
            self.key,
            group.name(),
            id.as_bytes(),
            b"ENTRIESREAD",
            read.as_bytes(),
        ]);
    }

    /// A consumer came to be without anybody having asked for just that.
    pub(crate) fn created(&mut self) {
        self.created = true;
    }

    /// Whether a consumer came to be.
    pub(crate) fn has_created(&self) -> bool {
        self.created
    }

    /// A consumer exists, or came to be.
    pub(crate) fn consumer(&mut self, group: &Group, name: &[u8]) {
        self.note(&[b"XGROUP", b"CREATECONSUMER", self.key, group.name(), name]);
    }

    fn note(&mut self, words: &[&[u8]]) {
        if self.wanted {
            self.commands.push(words.iter().map(|word| word.to_vec()).collect());
        }
    }

    /// Notes them in place of the command, and tells those who listen.
    pub(crate) fn tell(self, context: &mut Context<'_>) {
        if self.created {
            let key = context.key(self.key);
            context.notify(class::STREAM, "xgroup-createconsumer", &key);
        }
        if self.wanted && self.commands.is_empty() {
            context.propagate_nothing();
        }
        for command in &self.commands {
            let words: Vec<&[u8]> = command.iter().map(Vec::as_slice).collect();
            context.propagate_instead(&words);
        }
    }
}

/// The command that makes an entry pending as it is.
pub(crate) fn claim(key: &[u8], group: &Group, pending: &Pending) -> Vec<Vec<u8>> {
    let (id, last) = (IdText::of(pending.id), IdText::of(group.last_id));
    let (mut time, mut count) = (itoa::Buffer::new(), itoa::Buffer::new());
    let words: [&[u8]; 14] = [
        b"XCLAIM",
        key,
        group.name(),
        group.consumer(pending.consumer).name(),
        b"0",
        id.as_bytes(),
        b"TIME",
        time.format(pending.time_ms).as_bytes(),
        b"RETRYCOUNT",
        count.format(pending.count).as_bytes(),
        b"FORCE",
        b"JUSTID",
        b"LASTID",
        last.as_bytes(),
    ];
    words.map(<[u8]>::to_vec).to_vec()
}
