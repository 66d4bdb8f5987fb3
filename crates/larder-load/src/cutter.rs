//! Cuts what was read into batches, and hands them on unless they are loaded already.

use crate::error::{Error, Result};
use crate::group::{Group, Grouper};
use crate::options::Options;
use crate::shared::{Batch, Content, Records, Shared, lock};
use crate::spill::Spill;
use crate::state::Past;
use std::sync::mpsc::SyncSender;

/// Keys of a batch at most: with many small ones a server does more for each time that it is waited for.
pub const BATCH_KEYS: usize = 4096;
/// Bytes of elements at which a batch ends.
pub const BATCH_BYTES: usize = 1 << 20;

/// The way from the reader to the workers.
pub struct Cutter<'a> {
    shared: &'a Shared<'a>,
    sender: SyncSender<Batch>,
    pending: Vec<Group>,
    bytes: usize,
    number: u64,
    skipped: u64,
}

impl<'a> Cutter<'a> {
    /// Hands batches to this channel.
    pub fn new(shared: &'a Shared<'a>, sender: SyncSender<Batch>) -> Self {
        Cutter { shared, sender, pending: Vec::new(), bytes: 0, number: 0, skipped: 0 }
    }

    /// Batches that an earlier load had done.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Adds groups.
    pub fn add(&mut self, groups: impl IntoIterator<Item = Group>) -> Result<()> {
        for group in groups {
            self.bytes += group.elements().len();
            self.pending.push(group);
            if self.pending.len() >= BATCH_KEYS || self.bytes >= BATCH_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Hands on the groups that are no full batch.
    pub fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        let groups = std::mem::take(&mut self.pending);
        if groups.is_empty() { Ok(()) } else { self.send(Content::Groups(groups)) }
    }

    /// Hands on records of a file as a batch.
    pub fn records(&mut self, records: Records) -> Result<()> {
        self.send(Content::Records(records))
    }

    fn send(&mut self, content: Content) -> Result<()> {
        let number = self.number;
        self.number += 1;
        let past = lock(&self.shared.state).past(number);
        if past == Past::Done {
            self.skipped += 1;
            return Ok(());
        }
        let sent = self.sender.send(Batch { number, content, past });
        sent.map_err(|_| Error::Target("all connections failed".to_owned()))
    }
}

/// Gathers the elements of keys, on disk if there is no room, until their keys are complete.
pub struct Gatherer<'a> {
    options: &'a Options,
    grouper: Grouper,
    /// What did not fit.
    spill: Option<Spill>,
}

impl<'a> Gatherer<'a> {
    /// Nothing is gathered yet.
    pub fn new(options: &'a Options) -> Self {
        let grouper = Grouper::new(options.source.replaces());
        Gatherer { options, grouper, spill: None }
    }

    /// Adds elements to a key of a database, as [`Grouper::add`] does.
    pub fn add(
        &mut self,
        (db, key): (u32, &[u8]),
        element: &[u8],
        expire_at_ms: Option<u64>,
        place: u64,
        cutter: &mut Cutter<'_>,
    ) -> Result<()> {
        if self.options.adjacent && !self.grouper.contains(db, key) {
            cutter.add(self.grouper.take())?;
        }
        self.grouper.add(db, key, element, expire_at_ms, place);
        let is_full = self.grouper.bytes() > self.options.budget_bytes || self.grouper.is_full();
        if is_full && !self.options.adjacent {
            let spill = match &mut self.spill {
                Some(spill) => spill,
                none => none.insert(Spill::new(&self.options.spill)?),
            };
            spill.write(&self.grouper.take())?;
        }
        Ok(())
    }

    /// Hands on what was gathered of a key that is complete, unless some of it may be on disk.
    pub fn complete(&mut self, db: u32, key: &[u8], cutter: &mut Cutter<'_>) -> Result<()> {
        if self.spill.is_some() { Ok(()) } else { cutter.add(self.grouper.remove(db, key)) }
    }

    /// Hands on all that was gathered; returns whether some of it was on disk.
    pub fn finish(mut self, cutter: &mut Cutter<'_>) -> Result<bool> {
        let spilled = self.spill.is_some();
        match self.spill {
            None => cutter.add(self.grouper.take())?,
            Some(mut spill) => {
                spill.write(&self.grouper.take())?;
                spill.read(self.options.source.replaces(), &mut |groups| cutter.add(groups))?;
            }
        }
        cutter.flush()?;
        Ok(spilled)
    }
}
