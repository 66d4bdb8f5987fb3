//! What happened in consumer groups, as commands that do the same at any time: for the append-only file and
//! replicas. And whether a consumer came to be, for those who listen to events.

use crate::context::Context;
use crate::engine::notify::class;
use crate::keyspace::key::Key;
use crate::text::stream_id::IdText;
use larder_collections::stream::{ConsumerId, Group, Pending, StreamId};

/// Gathers what happens while a group of a stream is worked on.
pub(crate) struct Effects {
    wanted: bool,
    created: bool,
    /// The name of the group, when something has happened.
    group: Vec<u8>,
    /// Consumers that have entries.
    consumers: Vec<(ConsumerId, Vec<u8>)>,
    done: Vec<Effect>,
}

/// Something that happened: 64 bytes, since there may be one for each of a million entries.
enum Effect {
    /// An entry is pending no more.
    Acknowledged(StreamId),
    /// A consumer exists, or came to be.
    Consumer(Vec<u8>),
    /// An entry is pending so, while the group has read up to `last`.
    Pending { pending: Pending, last: StreamId },
    /// The group has read up to `last`, and this many entries.
    Progress { last: StreamId, read: Option<u64> },
}

const _: () = assert!(size_of::<Effect>() <= 64);

impl Effects {
    /// Nothing has happened yet.
    pub(crate) fn new(context: &Context<'_>) -> Self {
        let (group, consumers, done) = (Vec::new(), Vec::new(), Vec::new());
        Effects { wanted: context.logs(), created: false, group, consumers, done }
    }

    /// An entry is pending as it is now.
    pub(crate) fn pending(&mut self, group: &Group, id: StreamId) {
        let Some(pending) = group.pending(id).filter(|_| self.wanted) else { return };
        let consumer = pending.consumer;
        if self.name_of(consumer).is_none() {
            self.consumers.push((consumer, group.consumer(consumer).name().to_vec()));
        }
        self.note(group, || Effect::Pending { pending, last: group.last_id });
    }

    /// An entry is pending no more.
    pub(crate) fn acknowledged(&mut self, group: &Group, id: StreamId) {
        self.note(group, || Effect::Acknowledged(id));
    }

    /// The group has read up to where it is now.
    pub(crate) fn progress(&mut self, group: &Group) {
        self.note(group, || Effect::Progress { last: group.last_id, read: group.entries_read });
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
        self.note(group, || Effect::Consumer(name.to_vec()));
    }

    fn note(&mut self, group: &Group, effect: impl FnOnce() -> Effect) {
        if self.wanted {
            if self.group.is_empty() {
                self.group.extend_from_slice(group.name());
            }
            self.done.push(effect());
        }
    }

    fn name_of(&self, consumer: ConsumerId) -> Option<&[u8]> {
        self.consumers.iter().find(|(id, _)| *id == consumer).map(|(_, name)| &name[..])
    }

    /// Notes what happened to the stream of a key in place of the command, and tells those who listen.
    pub(crate) fn tell(self, context: &mut Context<'_>, key: &Key<'_>) {
        if self.created {
            context.notify(class::STREAM, "xgroup-createconsumer", key);
        }
        if self.wanted && self.done.is_empty() {
            context.propagate_nothing();
        }
        for effect in &self.done {
            self.with_words(key.bytes, effect, |words| context.propagate_instead(words));
        }
    }

    /// The command that has an effect.
    fn with_words(&self, key: &[u8], effect: &Effect, f: impl FnOnce(&[&[u8]])) {
        let group = &self.group[..];
        match effect {
            Effect::Acknowledged(id) => f(&[b"XACK", key, group, IdText::of(*id).as_bytes()]),
            Effect::Consumer(name) => f(&[b"XGROUP", b"CREATECONSUMER", key, group, name]),
            Effect::Pending { pending, last } => {
                let name = self.name_of(pending.consumer).expect("it was named when the entry became its");
                with_claim(key, (group, name), pending, *last, f);
            }
            Effect::Progress { last, read } => {
                let (id, mut number) = (IdText::of(*last), itoa::Buffer::new());
                let read = read.map_or("-1", |read| number.format(read));
                f(&[b"XGROUP", b"SETID", key, group, id.as_bytes(), b"ENTRIESREAD", read.as_bytes()]);
            }
        }
    }
}

/// The command that makes an entry of a group pending as it is, for a consumer, while the group has read up to `last`.
pub(crate) fn with_claim<R>(
    key: &[u8],
    (group, consumer): (&[u8], &[u8]),
    pending: &Pending,
    last: StreamId,
    f: impl FnOnce(&[&[u8]]) -> R,
) -> R {
    let (id, last) = (IdText::of(pending.id), IdText::of(last));
    let (mut time, mut count) = (itoa::Buffer::new(), itoa::Buffer::new());
    f(&[
        b"XCLAIM",
        key,
        group,
        consumer,
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
    ])
}
