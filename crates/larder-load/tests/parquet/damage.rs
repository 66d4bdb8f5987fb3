//! Files that break off, or of which bytes were changed: an error that says where, or rows; never a panic, and never more memory than the
//! file should take.

use crate::support::{ALL, measured, rows_of};
use crate::{nested, written};
use fastrand::Rng;
use larder_load::{Error, Result};
use larder_testkit::{full_run, seed, temp_dir};
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterVersion;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes that reading a damaged file of some kilobytes may take in all.
const BYTES_MAX: u64 = 32 << 20;

/// Files of all kinds of pages.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut rng = Rng::with_seed(seed(7));
    let path = |name: &str| folder.join(format!("{name}.parquet"));
    let small = |codec, version| written::small_pages(codec, version).set_data_page_row_count_limit(12);
    let (v1, v2) = (WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0);
    written::write(
        &path("plain"),
        &[20, 15],
        small(Compression::UNCOMPRESSED, v1).set_dictionary_enabled(false).build(),
    );
    written::write(&path("snappy"), &[20, 15], small(Compression::SNAPPY, v2).build());
    written::write(&path("gzip"), &[20, 15], small(Compression::GZIP(GzipLevel::default()), v1).build());
    let delta = written::encoded(small(Compression::UNCOMPRESSED, v2), Encoding::DELTA_BYTE_ARRAY);
    written::write(&path("delta"), &[20, 15], delta.build());
    let lengths = written::encoded(small(Compression::LZ4_RAW, v1), Encoding::DELTA_LENGTH_BYTE_ARRAY);
    written::write(&path("lengths"), &[20, 15], lengths.build());
    nested::write(&path("nested"), &[20, 15], small(Compression::UNCOMPRESSED, v1).build(), &mut rng);
    nested::write(
        &path("zstd"),
        &[20, 15],
        small(Compression::ZSTD(ZstdLevel::default()), v2).build(),
        &mut rng,
    );
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet/data");
    let others =
        ["arrow-brotli", "arrow-lz4", "duckdb-gzip"].map(|name| data.join(format!("{name}.parquet")));
    ["plain", "snappy", "gzip", "delta", "lengths", "nested", "zstd"]
        .map(path)
        .into_iter()
        .chain(others)
        .collect()
}

/// Reads bytes as a file; an error names the file, and where in it.
fn read(path: &Path, bytes: &[u8], what: &str) -> Result<Vec<String>> {
    fs::write(path, bytes).unwrap();
    let (read, taken) = measured(|| rows_of(path, ALL));
    assert!(taken < BYTES_MAX, "{what}: {taken} bytes were taken");
    if let Err(error) = &read {
        let text = error.to_string();
        let rest = text.strip_prefix(&format!("{}: ", path.display()));
        assert!(matches!(error, Error::File(_)) && rest.is_some(), "{what}: {text}");
        let place = [
            "row group ",
            "offset ",
            "not a Parquet file",
            "column ",
            "no column",
            "the column ",
            "encrypted files",
        ];
        assert!(place.iter().any(|place| rest.unwrap().starts_with(place)), "{what}: {text}");
    }
    read
}

#[test]
fn files_that_break_off_are_none() {
    let folder = temp_dir();
    let broken = folder.join("broken");
    let mut rng = Rng::with_seed(seed(8));
    for path in files(&folder) {
        let bytes = fs::read(&path).unwrap();
        assert!(!rows_of(&path, ALL).unwrap().is_empty());
        let mut ends: Vec<usize> = (0..100).map(|_| rng.usize(..bytes.len())).collect();
        ends.extend(bytes.len() - 12..bytes.len());
        for end in ends {
            let what = format!("{} up to {end}", path.display());
            let error = read(&broken, &bytes[..end], &what).unwrap_err().to_string();
            assert!(error.contains("Parquet file") || error.contains("footer"), "{what}: {error}");
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn bytes_that_changed_are_errors_or_rows() {
    let folder = temp_dir();
    let broken = folder.join("broken");
    let mut rng = Rng::with_seed(seed(9));
    let count = if full_run() { 20_000 } else { 400 };
    let (mut errors, mut most) = (0, 0);
    for path in files(&folder) {
        let bytes = fs::read(&path).unwrap();
        let footer = u32::from_le_bytes(*bytes[..bytes.len() - 4].last_chunk().unwrap()) as usize + 8;
        for round in 0..count {
            let mut bytes = bytes.clone();
            // Half of them in the footer, whose bytes are few.
            let from = if rng.bool() { bytes.len() - footer } else { 0 };
            let at = rng.usize(from..bytes.len());
            let len = rng.usize(1..9).min(bytes.len() - at);
            match rng.u8(..5) {
                0 => bytes[at] ^= 1 << rng.u8(..8),
                1 => bytes[at] = rng.u8(..),
                2 => bytes[at..at + len].fill(0xFF),
                3 => bytes[at..at + len].iter_mut().for_each(|byte| *byte = rng.u8(..)),
                _ => {
                    let other = rng.usize(..bytes.len() - len);
                    bytes.copy_within(other..other + len, at);
                }
            }
            let what = format!("{} round {round}, {len} bytes at {at}", path.display());
            let (read, taken) = measured(|| read(&broken, &bytes, &what));
            errors += u64::from(read.is_err());
            most = most.max(taken);
        }
    }
    println!("{errors} errors, {most} bytes at most");
    assert!(errors > count);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn sums_of_pages_find_every_changed_byte() {
    let folder = temp_dir();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet/data/arrow-brotli.parquet");
    let (bytes, broken) = (fs::read(path).unwrap(), folder.join("broken"));
    let intact = read(&broken, &bytes, "intact").unwrap();
    let footer = u32::from_le_bytes(*bytes[..bytes.len() - 4].last_chunk().unwrap()) as usize + 8;
    let mut sums = 0;
    for at in 4..bytes.len() - footer {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x10;
        match read(&broken, &bytes, &format!("byte {at}")) {
            // What a head says besides, and nobody needs.
            Ok(rows) => assert_eq!(rows, intact, "byte {at}"),
            Err(error) => sums += u64::from(error.to_string().contains("wrong checksum")),
        }
    }
    assert!(sums > 500, "{sums}");
    fs::remove_dir_all(&folder).unwrap();
}
