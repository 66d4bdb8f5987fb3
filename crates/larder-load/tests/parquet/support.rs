//! What the tests of this folder have in common.

use indicatif::ProgressBar;
use larder_load::mapping::{Draft, Mapping};
use larder_load::reader::Line;
use larder_load::{Error, Result, parquet};
use std::path::Path;
use tikv_jemalloc_ctl::thread;

/// A mapping that takes all columns.
pub const ALL: &str = "key = 'k'\ntype = 'hash'";

/// A mapping from its text.
pub fn mapping(text: &str) -> Mapping {
    Draft::parse(text).unwrap().finish().unwrap()
}

/// The rows of a file: their columns as `name=value` with tabs between, or `! reason`. More than a million rows are an error.
pub fn rows_of(path: &Path, of: &str) -> Result<Vec<String>> {
    let (mut rows, mut count) = (Vec::new(), 0);
    parquet::read(path, &mapping(of), &ProgressBar::hidden(), &mut |number, line| {
        count += 1;
        assert_eq!(number, count);
        if count > 1_000_000 {
            return Err(Error::File(format!("{}: row group 1, row {count}: many rows", path.display())));
        }
        rows.push(match line {
            Line::Bad(reason, _) => format!("! {reason}"),
            Line::Row(row) => {
                let mut all = Vec::new();
                row.each(&mut |name, value| all.push(format!("{name}={}", String::from_utf8_lossy(value))));
                all.join("\t")
            }
        });
        Ok(())
    })?;
    Ok(rows)
}

/// What a call returns, and how many bytes of memory this thread has taken in it, given back or not.
pub fn measured<T>(call: impl FnOnce() -> T) -> (T, u64) {
    let taken = thread::allocatedp::read().unwrap();
    let before = taken.get();
    let result = call();
    (result, taken.get() - before)
}
