//! The snapshot of the primary, as it comes: where it ends is said before by its length, or after by a mark.

use crate::attempt::{Link, LinkError, with_signs_of_life};
use crate::peer::Peer;
use larder_engine::MayWait;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes read at once.
const PIECE_BYTES: usize = 64 << 10;
/// Bytes of the mark after a snapshot whose length is not known before.
const MARK_BYTES: usize = 40;

/// How the end of a snapshot is found.
enum Size {
    Bytes(u64),
    Mark([u8; MARK_BYTES]),
}

/// Where a snapshot goes.
pub trait TakeSnapshot: Send + Sync {
    /// Has a snapshot that begins to come take the place of the data. `on_loaded` is called before anybody else sees the data, with the
    /// database that is selected where the stream goes on.
    ///
    /// # Errors
    /// The link fails, or the snapshot could not be loaded.
    fn take_snapshot(
        &self,
        transfer: &mut Transfer<'_>,
        may_wait: &MayWait,
        on_loaded: &mut dyn FnMut(usize),
    ) -> Result<(), LinkError>;
}

/// Takes the snapshot. Returns the database that is selected where the stream goes on.
pub(crate) fn receive(
    link: &Link,
    peer: &mut Peer,
    (id, offset): (&str, u64),
    taker: &dyn TakeSnapshot,
    may_wait: &MayWait,
) -> Result<usize, LinkError> {
    let line = peer.line(link)?;
    let size = match line.strip_prefix('$') {
        Some(text) => {
            size_of(text).ok_or_else(|| LinkError::Refused(format!("Bad protocol from PRIMARY: {line}")))?
        }
        None => return Err(LinkError::Refused(format!("PRIMARY aborted replication with an error: {line}"))),
    };
    let engine = link.engine();
    // Older data of the same history is better than none.
    let is_of_history = engine.history().0 == id;
    // What this server knows of histories ends here: if loading fails, it has nothing to go on from.
    engine.replication().state().can_resume = false;
    let mut selected = 0;
    let mut on_loaded = |db| {
        selected = db;
        if link.check().is_ok() {
            engine.begin_history(id, offset, db);
            engine.replication().state().can_resume = true;
        }
    };
    let mut transfer = Transfer { link, peer, size: &size, is_of_history };
    let outcome = taker.take_snapshot(&mut transfer, may_wait, &mut on_loaded);
    if outcome.is_err() {
        engine.replication().state().can_resume = false;
    }
    outcome?;
    link.check()?;
    link.notice("PRIMARY <-> REPLICA sync: Finished with success");
    Ok(selected)
}

fn size_of(text: &str) -> Option<Size> {
    match text.strip_prefix("EOF:") {
        Some(mark) => mark.as_bytes().try_into().ok().map(Size::Mark),
        None => text.parse().ok().map(Size::Bytes),
    }
}

/// A snapshot that is on its way.
pub struct Transfer<'t> {
    link: &'t Link,
    peer: &'t mut Peer,
    size: &'t Size,
    is_of_history: bool,
}

impl<'t> Transfer<'t> {
    /// The link on which it comes.
    pub fn link(&self) -> &'t Link {
        self.link
    }

    /// Whether it is of the same history as the data that is there: that is older, and not of somebody else.
    pub fn is_of_history(&self) -> bool {
        self.is_of_history
    }

    /// Tells the primary that this server lives, while something else takes long.
    pub fn while_alive<R>(&self, work: impl FnOnce() -> R) -> R {
        let socket = Arc::clone(self.peer.socket());
        with_signs_of_life(&*socket, work)
    }

    /// Writes the snapshot to a file.
    ///
    /// # Errors
    /// The link, or the file, fails.
    pub fn write_to(&mut self, file: &mut dyn Write) -> Result<(), LinkError> {
        let mut source = Source { link: self.link, peer: self.peer, read: 0, copy: None, failure: None };
        let mut piece = vec![0; PIECE_BYTES];
        match self.size {
            Size::Bytes(bytes) => {
                let mut left = *bytes;
                while left > 0 {
                    let room = left.min(PIECE_BYTES as u64) as usize;
                    let n = source.next(&mut piece[..room])?;
                    file.write_all(&piece[..n])?;
                    left -= n as u64;
                }
            }
            Size::Mark(mark) => {
                // The last bytes may be the mark, so they are kept back.
                let mut kept = Vec::new();
                loop {
                    let n = source.next(&mut piece)?;
                    kept.extend_from_slice(&piece[..n]);
                    if kept.ends_with(mark) {
                        kept.truncate(kept.len() - MARK_BYTES);
                        file.write_all(&kept)?;
                        break;
                    }
                    let done = kept.len().saturating_sub(MARK_BYTES);
                    file.write_all(&kept[..done])?;
                    kept.drain(..done);
                }
            }
        }
        Ok(())
    }

    /// Has `load` read the snapshot as it comes; it returns what it has read beyond the end, or why it could not be loaded. What is
    /// read goes to `copy` as well. Returns the length of the snapshot, which may be less than `copy` has got.
    ///
    /// # Errors
    /// The link fails, or loading.
    pub fn load(
        &mut self,
        copy: Option<&mut dyn Write>,
        load: impl FnOnce(&mut dyn Read) -> Result<Vec<u8>, String>,
    ) -> Result<u64, LinkError> {
        let socket = Arc::clone(self.peer.socket());
        let mut source = Source { link: self.link, peer: self.peer, read: 0, copy, failure: None };
        let limit = match self.size {
            Size::Bytes(bytes) => *bytes,
            Size::Mark(_) => u64::MAX,
        };
        let mut limited = Read::take(&mut source, limit);
        let loaded = with_signs_of_life(&*socket, || load(&mut limited));
        let left = limited.limit();
        if let Some(failure) = source.failure.take() {
            return Err(failure);
        }
        let mut rest = loaded.map_err(LinkError::Load)?;
        let bytes = source.read - rest.len() as u64;
        match self.size {
            Size::Bytes(_) if left > 0 || !rest.is_empty() => {
                Err(LinkError::Load("the snapshot is shorter than the primary announced".to_owned()))
            }
            Size::Bytes(_) => Ok(bytes),
            Size::Mark(mark) => {
                source.copy = None;
                while rest.len() < MARK_BYTES {
                    let mut piece = [0; MARK_BYTES];
                    let n = source.next(&mut piece)?;
                    rest.extend_from_slice(&piece[..n]);
                }
                let stream = rest.split_off(MARK_BYTES);
                if rest != mark {
                    return Err(LinkError::Load(
                        "the snapshot does not end with the mark that the primary announced".to_owned(),
                    ));
                }
                self.peer.unread(stream);
                Ok(bytes)
            }
        }
    }
}

/// The bytes of the snapshot.
struct Source<'l, 'c> {
    link: &'l Link,
    peer: &'l mut Peer,
    read: u64,
    /// Gets a copy of what is read to be loaded.
    copy: Option<&'c mut dyn Write>,
    failure: Option<LinkError>,
}

impl Source<'_, '_> {
    fn next(&mut self, into: &mut [u8]) -> Result<usize, LinkError> {
        let n = self.peer.read(self.link, into)?;
        self.read += n as u64;
        let replication = self.link.engine().replication();
        replication.bytes_in.fetch_add(n as u64, Relaxed);
        replication.update_upstream(self.link.epoch, |upstream| {
            upstream.transfer.1 = self.read;
            upstream.hear();
        });
        Ok(n)
    }
}

impl Read for Source<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.next(into).and_then(|n| {
            if let Some(copy) = &mut self.copy {
                copy.write_all(&into[..n])?;
            }
            Ok(n)
        });
        read.map_err(|failure| {
            let error = io::Error::other(failure.to_string());
            self.failure = Some(failure);
            error
        })
    }
}
