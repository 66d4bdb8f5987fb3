//! The snapshot of the primary: into a file that is then loaded, or straight into the keyspace (`repl-diskless-load`).
//!
//! A server that has no keys has nothing to keep until the snapshot has come whole. So where a file is wanted it is written beside loading, which
//! takes as long as the longer of both and not as the sum.

use super::attempt::{Link, LinkError, with_signs_of_life};
use super::handshake::Peer;
use crate::persist::{Placing, Received, SyncedFile};
use larder_engine::config::DisklessLoad;
use larder_engine::{MayWait, wall_ms, wall_s};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
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

/// Takes the snapshot. Returns the database that is selected where the stream goes on.
pub fn receive(
    link: &Link,
    peer: &mut Peer,
    id: &str,
    offset: u64,
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
    let serves = engine.history().0 == id;
    // What this server knows of histories ends here: if loading fails, it has nothing to go on from.
    engine.replication().state().can_resume = false;
    let is_empty = engine.is_empty(may_wait);
    let mut db = 0;
    let on_loaded = |received: Received| {
        db = received.db;
        if link.check().is_ok() {
            engine.begin_history(id, offset, db);
            engine.replication().state().can_resume = true;
        }
    };
    let mut transfer = Transfer { link, peer, size: &size, may_wait };
    let outcome = match link.shared.config.choice("repl-diskless-load") {
        DisklessLoad::Disabled if is_empty => transfer.beside_file(on_loaded),
        DisklessLoad::Disabled => transfer.by_file(on_loaded),
        DisklessLoad::OnEmptyDb if !is_empty => transfer.by_file(on_loaded),
        DisklessLoad::OnEmptyDb | DisklessLoad::FlushBeforeLoad => {
            transfer.directly(Placing::Instead, None, on_loaded).map(drop)
        }
        DisklessLoad::SwapDb => transfer.directly(Placing::Beside { serves }, None, on_loaded).map(drop),
    };
    if outcome.is_err() {
        engine.replication().state().can_resume = false;
    }
    outcome?;
    link.check()?;
    link.shared.log.notice("PRIMARY <-> REPLICA sync: Finished with success");
    Ok(db)
}

fn size_of(text: &str) -> Option<Size> {
    match text.strip_prefix("EOF:") {
        Some(mark) => mark.as_bytes().try_into().ok().map(Size::Mark),
        None => text.parse().ok().map(Size::Bytes),
    }
}

/// A snapshot that is on its way.
struct Transfer<'t> {
    link: &'t Link,
    peer: &'t mut Peer,
    size: &'t Size,
    may_wait: &'t MayWait,
}

impl Transfer<'_> {
    /// Writes the snapshot to a file, which takes the place of the server's own, and loads that.
    fn by_file(&mut self, on_loaded: impl FnOnce(Received)) -> Result<(), LinkError> {
        let link = self.link;
        link.shared.log.notice("PRIMARY <-> REPLICA sync: receiving RDB from primary to disk");
        let path = Unfinished::new()?;
        write_file(link, self.peer, self.size, path.create()?)?;
        let target = path.put_in_place(link)?;
        let socket = self.peer.socket().try_clone()?;
        let loaded = with_signs_of_life(&socket, || {
            let source = File::open(&target)?;
            Ok::<_, io::Error>(link.persist.replace_by(source, Placing::Instead, self.may_wait, on_loaded))
        })?;
        loaded.map_err(|error| LinkError::Load(error.to_string()))?;
        delete_unless_wanted(link, &target)
    }

    /// Loads the snapshot as it comes, and writes it to a file meanwhile, which then takes the place of the server's own.
    fn beside_file(&mut self, on_loaded: impl FnOnce(Received)) -> Result<(), LinkError> {
        let link = self.link;
        link.shared.log.notice("PRIMARY <-> REPLICA sync: receiving RDB from primary to disk");
        let path = Unfinished::new()?;
        let file = self.directly(Placing::Instead, Some(path.create()?), on_loaded)?;
        file.map(SyncedFile::finish).transpose()?;
        let target = path.put_in_place(link)?;
        delete_unless_wanted(link, &target)
    }

    /// Loads the snapshot as it comes. What has come is in `copy` as well, which is given back.
    fn directly(
        &mut self,
        placing: Placing,
        copy: Option<SyncedFile>,
        on_loaded: impl FnOnce(Received),
    ) -> Result<Option<SyncedFile>, LinkError> {
        let (link, may_wait) = (self.link, self.may_wait);
        link.shared.log.notice("PRIMARY <-> REPLICA sync: Loading DB in memory");
        let socket = self.peer.socket().try_clone()?;
        let mut source = Source { link, peer: self.peer, read: 0, copy, failure: None };
        let loaded = with_signs_of_life(&socket, || match self.size {
            Size::Bytes(bytes) => {
                let limited = Read::take(&mut source, *bytes);
                link.persist
                    .replace_by(limited, placing, may_wait, on_loaded)
                    .map(|(rest, left)| (rest.limit() == 0 && left.is_empty(), left))
            }
            Size::Mark(_) => link
                .persist
                .replace_by(&mut source, placing, may_wait, on_loaded)
                .map(|(_, left)| (true, left)),
        });
        if let Some(failure) = source.failure.take() {
            return Err(failure);
        }
        let (is_whole, mut rest) = loaded.map_err(|error| LinkError::Load(error.to_string()))?;
        if !is_whole {
            return Err(LinkError::Load("the snapshot is shorter than the primary has said".to_owned()));
        }
        let mut copy = source.copy.take();
        if let Some(copy) = &mut copy {
            copy.truncate(source.read - rest.len() as u64)?;
        }
        if let Size::Mark(mark) = self.size {
            while rest.len() < MARK_BYTES {
                let mut piece = [0; MARK_BYTES];
                let n = source.next(&mut piece)?;
                rest.extend_from_slice(&piece[..n]);
            }
            let stream = rest.split_off(MARK_BYTES);
            if rest != mark {
                return Err(LinkError::Load("the snapshot does not end where it should".to_owned()));
            }
            self.peer.unread(stream);
        }
        Ok(copy)
    }
}

/// Deletes the file of a snapshot that has been loaded, where nobody wants it (`rdb-del-sync-files`).
fn delete_unless_wanted(link: &Link, target: &Path) -> Result<(), LinkError> {
    let config = &link.shared.config;
    if config.is_yes("rdb-del-sync-files") && !config.is_yes("appendonly") && config.value("save").is_empty()
    {
        fs::remove_file(target)?;
    }
    Ok(())
}

/// A file that goes unless it is moved.
struct Unfinished(PathBuf);

impl Unfinished {
    /// One of this moment, which is not there yet.
    fn new() -> io::Result<Unfinished> {
        let name = format!("temp-{}.{}.rdb", wall_s(), std::process::id());
        Ok(Unfinished(std::path::absolute(name)?))
    }

    fn create(&self) -> io::Result<SyncedFile> {
        let file = File::options().write(true).create_new(true).open(&self.0)?;
        Ok(SyncedFile::new(file, true))
    }

    /// Gives it the name of the server's own snapshot; returns that.
    fn put_in_place(self, link: &Link) -> io::Result<PathBuf> {
        let target = std::path::absolute(link.persist.rdb_path())?;
        fs::rename(&self.0, &target)?;
        Ok(target)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn write_file(link: &Link, peer: &mut Peer, size: &Size, mut file: SyncedFile) -> Result<(), LinkError> {
    let mut source = Source { link, peer, read: 0, copy: None, failure: None };
    let mut piece = vec![0; PIECE_BYTES];
    match size {
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
    file.finish()?;
    Ok(())
}

/// The bytes of the snapshot.
struct Source<'l> {
    link: &'l Link,
    peer: &'l mut Peer,
    read: u64,
    /// Gets a copy of what is read to be loaded.
    copy: Option<SyncedFile>,
    failure: Option<LinkError>,
}

impl Source<'_> {
    fn next(&mut self, into: &mut [u8]) -> Result<usize, LinkError> {
        let n = self.peer.read(self.link, into)?;
        self.read += n as u64;
        let replication = self.link.engine().replication();
        replication.bytes_in.fetch_add(n as u64, Relaxed);
        replication.update_upstream(self.link.epoch, |upstream| {
            upstream.transfer.1 = self.read;
            upstream.last_io_ms = wall_ms();
        });
        Ok(n)
    }
}

impl Read for Source<'_> {
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
