//! Tables: rows into groups.

use crate::cutter::{Cutter, Gatherer};
use crate::error::Result;
use crate::group::Group;
use crate::mapping::{Added, Mapping};
use crate::options::Options;
use crate::reader::{Each, Line};
use crate::reject::Reject;
use crate::shared::{Shared, lock};
use crate::survey::{Survey, Turn};
use indicatif::ProgressBar;
use std::sync::atomic::Ordering::Relaxed;

/// Has all rows read and hands on their groups, with a survey each as soon as it is complete; returns whether some of these were on disk.
pub fn load(
    read: impl FnOnce(Each<'_>) -> Result<()>,
    (mapping, mut survey): (&Mapping, Option<Survey>),
    options: &Options,
    shared: &Shared<'_>,
    cutter: &mut Cutter<'_>,
    bar: &ProgressBar,
) -> Result<bool> {
    let (mut gatherer, mut added, mut number) = (Gatherer::new(options), Added::default(), 0);
    let db = options.db.unwrap_or(0);
    read(&mut |line, what| {
        let (reason, text) = match what {
            Line::Bad(reason, text) => (reason, text),
            Line::Row(row) => {
                number += 1;
                match mapping.map(row, number, shared.now_ms, &mut added) {
                    Ok(()) => {
                        shared.counts.rows.fetch_add(1, Relaxed);
                        let Added { key, element, expire_at_ms } = &added;
                        let turn = survey.as_mut().map_or(Turn::Other, |survey| survey.turn(db, key));
                        if turn == Turn::Only {
                            return cutter.add([Group::new(db, key, element, *expire_at_ms, line)]);
                        }
                        gatherer.add((db, key), element, *expire_at_ms, line, cutter)?;
                        return if turn == Turn::Last { gatherer.complete(db, key, cutter) } else { Ok(()) };
                    }
                    Err(reason) => (reason, row.as_text()),
                }
            }
        };
        let mut rejects = lock(&shared.rejects);
        bar.set_message(format!("{} rejected", rejects.count() + 1));
        rejects.add(&Reject::new(line, &reason, &text))
    })?;
    gatherer.finish(cutter)
}
