//! Tables: rows into groups.

use crate::cutter::{Cutter, Gatherer};
use crate::error::Result;
use crate::mapping::{Added, Mapping};
use crate::options::Options;
use crate::reader::{Format, Line, read};
use crate::reject::Reject;
use crate::row::Row;
use crate::shared::{Shared, lock};
use indicatif::ProgressBar;
use std::io::Read;
use std::sync::atomic::Ordering::Relaxed;

/// Reads all rows and hands on their groups; returns whether some of these were on disk.
pub fn load(
    source: impl Read,
    (format, mapping): (Format, &Mapping),
    options: &Options,
    shared: &Shared<'_>,
    cutter: &mut Cutter<'_>,
    bar: &ProgressBar,
) -> Result<bool> {
    let (mut gatherer, mut added, mut number) = (Gatherer::new(options), Added::default(), 0);
    let db = options.db.unwrap_or(0);
    read(source, format, mapping, &mut |line, what| {
        let (reason, text) = match what {
            Line::Bad(reason, text) => (reason, text),
            Line::Row(row) => {
                number += 1;
                match mapping.map(row, number, shared.now_ms, &mut added) {
                    Ok(()) => {
                        shared.counts.rows.fetch_add(1, Relaxed);
                        let Added { key, element, expire_at_ms } = &added;
                        return gatherer.add((db, key), element, *expire_at_ms, line, cutter);
                    }
                    Err(reason) => (reason, text_of(row)),
                }
            }
        };
        let mut rejects = lock(&shared.rejects);
        bar.set_message(format!("{} rejected", rejects.count() + 1));
        rejects.add(&Reject::new(line, &reason, &text))
    })?;
    gatherer.finish(cutter)
}

/// A row for the file of rejects.
fn text_of(row: &dyn Row) -> Vec<u8> {
    let mut text = Vec::new();
    row.each(&mut |name, value| {
        if !text.is_empty() {
            text.push(b',');
        }
        text.extend_from_slice(name.as_bytes());
        text.push(b'=');
        text.extend_from_slice(value);
    });
    text
}
