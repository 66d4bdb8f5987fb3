//! Files of other writers: `data/make.py` says how they were made.

use crate::support::{ALL, rows_of};
use std::fs;
use std::path::Path;

#[test]
fn files_of_other_writers_have_their_rows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet/data");
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "parquet") {
            let expected = fs::read_to_string(path.with_extension("txt")).unwrap();
            let found = rows_of(&path, ALL).unwrap();
            for (found, expected) in found.iter().zip(expected.lines()) {
                assert_eq!(found, expected, "{}", path.display());
            }
            assert_eq!(found.len(), expected.lines().count(), "{}", path.display());
            count += 1;
        }
    }
    assert_eq!(count, 7);
}

#[test]
fn only_the_columns_of_the_mapping_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet/data/arrow-snappy.parquet");
    let few = "key = '{id}'\ntype = 'set'\nvalue = '{list}{day}'";
    let rows = rows_of(&path, few).unwrap();
    assert_eq!(rows[..2], ["id=0\tday=1969-12-20\tlist=[null]", "id=1\tday=1969-12-21\tlist=[null,0]"]);
    // A mapping that names no column reads one.
    let rows = rows_of(&path, "key = 'k'\ntype = 'list'\nvalue = 'x'").unwrap();
    assert_eq!((rows.len(), rows[39].as_str()), (40, "id=39"));
    let error = rows_of(&path, "key = '{id}{ID}'\ntype = 'hash'").unwrap_err().to_string();
    assert!(error.contains("arrow-snappy.parquet: no column 'ID' (the columns are: id, small, "), "{error}");
}
