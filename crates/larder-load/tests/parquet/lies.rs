//! Files made by hand that say more than they have: pages that unpack to too much, dictionaries and lists that are too long, schemas without
//! an end. Each is an error that names it, and takes little memory.

use crate::support::{ALL, measured, rows_of};
use larder_testkit::temp_dir;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;
use std::fs;
use std::sync::Arc;

const GZIP: fn() -> Compression = || Compression::GZIP(GzipLevel::default());
const ZSTD: fn() -> Compression = || Compression::ZSTD(ZstdLevel::default());
const MANY: i32 = i32::MAX;
/// Bytes that a file of some dozen may take.
const BYTES_MAX: u64 = 2 << 20;

/// A field of 32 bits of a head, which follows the one before.
fn int(value: i32) -> Vec<u8> {
    let (mut bytes, mut rest) = (vec![0x15], (value << 1 ^ value >> 31) as u32);
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

/// A page of a kind: what it unpacks to, its bytes, and the numbers of the part of its head.
fn page(kind: i32, plain: i32, bytes: &[u8], part: &[i32]) -> Vec<u8> {
    let field = match kind {
        0 => 0x2C,
        2 => 0x4C,
        _ => 0x5C,
    };
    let part: Vec<u8> = part.iter().flat_map(|&number| int(number)).collect();
    let len = bytes.len() as i32;
    [&int(kind)[..], &int(plain), &int(len), &[field], &part, &[0, 0], bytes].concat()
}

/// Values, their encoding, and levels in runs.
fn data(bytes: &[u8], values: i32, encoding: i32) -> Vec<u8> {
    page(0, bytes.len() as i32, bytes, &[values, encoding, 3, 3])
}

/// A file of one column whose pages are these.
fn file(column: &str, codec: Compression, rows: i64, pages: &[Vec<u8>]) -> Vec<u8> {
    let schema = parse_message_type(&format!("message m {{ {column} }}")).unwrap();
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(schema)));
    let pages = pages.concat();
    let chunk = ColumnChunkMetaData::builder(schema.column(0))
        .set_compression(codec)
        .set_num_values(rows)
        .set_data_page_offset(4)
        .set_total_compressed_size(pages.len() as i64)
        .build()
        .unwrap();
    let group =
        RowGroupMetaData::builder(Arc::clone(&schema)).set_num_rows(rows).add_column_metadata(chunk).build();
    let facts = FileMetaData::new(1, rows, None, None, schema, None);
    let facts = ParquetMetaData::new(facts, vec![group.unwrap()]);
    let mut bytes = [b"PAR1", &pages[..]].concat();
    // What the writer counts from is its own beginning; nothing here depends on it.
    ParquetMetaDataWriter::new(&mut bytes, &facts).finish().unwrap();
    bytes
}

/// The error of a file, which takes little memory.
fn error(bytes: &[u8]) -> String {
    let folder = temp_dir();
    let path = folder.join("file");
    fs::write(&path, bytes).unwrap();
    let (read, taken) = measured(|| rows_of(&path, ALL));
    fs::remove_dir_all(&folder).unwrap();
    let text = read.map_or_else(|error| error.to_string(), |rows| format!("{} rows", rows.len()));
    assert!(taken < BYTES_MAX, "{taken} bytes were taken: {text}");
    let about = format!("{}: ", path.display());
    text.strip_prefix(&about).map_or(text.clone(), str::to_owned)
}

#[test]
fn pages_that_say_too_much_are_refused() {
    let text = "required binary a;";
    let four = 4_u32.to_le_bytes();
    let one = [&four[..], b"text"].concat();
    let plain = || Compression::UNCOMPRESSED;
    // What is right is read.
    assert_eq!(error(&file(text, plain(), 1, &[data(&one, 1, 0)])), "1 rows");
    assert_eq!(error(&file(text, plain(), 0, &[])), "0 rows");
    let huge = |codec: Compression| file(text, codec, 1, &[page(0, MANY, &[0x28; 40], &[1, 0, 3, 3])]);
    let runs = |level: u8| [&6_u32.to_le_bytes()[..], &[0xFE, 0xFF, 0xFF, 0xFF, 0x0F, level]].concat();
    let list = [runs(1), runs(1), one.clone()].concat();
    let delta = |count: &[u8]| [&[0x80, 1, 4][..], count, &[0, 0, 0, 0, 0, 0]].concat();
    let many: &[u8] = &[0xFF, 0xFF, 0xFF, 0xFF, 0x07];
    let far: &[u8] = &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F];
    let wide = "required fixed_len_byte_array(2000000000) a;";
    let cases = [
        (huge(Compression::SNAPPY), "claims to decompress to 2147483647"),
        (huge(Compression::LZ4_RAW), "claims to decompress to 2147483647"),
        (huge(GZIP()), "claims to decompress to 2147483647"),
        (huge(ZSTD()), "claims to decompress to 2147483647"),
        (
            file(text, Compression::SNAPPY, 1, &[page(0, 60 << 20, &[0x28; 40], &[1, 0, 3, 3])]),
            "cannot decompress",
        ),
        (file(text, GZIP(), 1, &[page(0, 60 << 20, &[0x28; 40], &[1, 0, 3, 3])]), "cannot be decompressed"),
        (
            file(text, plain(), 1, &[page(2, 8, &one, &[MANY, 0]), data(&[0, 1], 1, 8)]),
            "a dictionary of 8 bytes",
        ),
        (file(text, plain(), 1, &[data(&[1, 3, 0], 1, 8)]), "the dictionary of its values is missing"),
        (file(text, plain(), 1, &[data(&delta(many), MANY, 6)]), "claims to have"),
        (file(text, plain(), 1, &[data(&delta(far), MANY, 6)]), "claims to have"),
        (file(text, plain(), 1, &[data(&delta(many), MANY, 7)]), "claims to have"),
        (
            file("repeated binary a;", plain(), 1, &[data(&list, MANY, 0)]),
            "more values than its bytes justify",
        ),
        (
            file(wide, plain(), 1000, &[data(&one, 1000, 9)]),
            "1000 values of 2000000000 bytes do not fit into 8 bytes",
        ),
        (file(wide, plain(), 1000, &[data(&one, 1000, 0)]), "payload length"),
        (file(text, plain(), 1, &[data(&one, 1, 4)]), "BIT_PACKED"),
        (file(text, plain(), 1, &[data(&one, 1, 33)]), "unknown page encoding"),
        (file(text, plain(), 1, &[data(&one, -1, 0)]), "lacks a number"),
        (file(text, plain(), 1, &[data(&one, 2, 0)]), "row group 1, row 1: column 'a': "),
        (file(text, plain(), 2, &[data(&one, 1, 0)]), "row group 1, row 2: column 'a': it has fewer values"),
        (
            file(text, plain(), 1, &[data(&one, 1, 0), data(&one, 1, 0)]),
            "it has more values than the row group has rows",
        ),
        (file(text, plain(), 1, &[data(&one[..7], 1, 0)]), "row group 1, row 1: column 'a': "),
        (file(text, plain(), -1, &[data(&one, 1, 0)]), "invalid number of rows: -1"),
        (file(text, plain(), 1 << 40, &[data(&one, 1, 0)]), "row group 1: 1099511627776 rows are more than "),
        (file(text, plain(), 1, &[vec![0x15; 600]]), "row group 1, row 1: column 'a': offset 4: "),
        (file(text, plain(), 1, &[vec![0x28, 0xFF, 0xFF, 0xFF, 0x0F, 0]]), "a page header is truncated"),
        (file(text, plain(), 1, &[]), "it has fewer values"),
        (file(text, Compression::LZO, 1, &[data(&one, 1, 0)]), "LZO compression is not supported"),
        (
            file("required boolean a;", plain(), 1, &[page(2, 8, &one, &[1, 0]), data(&[0], 1, 0)]),
            "the column cannot have this dictionary",
        ),
        (file("optional binary a;", plain(), 1, &[data(&[255, 0, 0, 0, 2, 1], 1, 0)]), "levels are longer"),
        (file("required int32 a (DECIMAL(9,2));", plain(), 1, &[data(&[1, 2], 1, 0)]), "row group 1, row 1"),
    ];
    for (number, (bytes, reason)) in cases.iter().enumerate() {
        let error = error(bytes);
        assert!(error.contains(reason), "case {number}: {error}");
    }
}

/// A file with a footer alone.
fn footer(bytes: &[u8]) -> Vec<u8> {
    [b"PAR1", bytes, &(bytes.len() as u32).to_le_bytes(), b"PAR1"].concat()
}

#[test]
fn footers_that_say_too_much_are_refused() {
    let element = |children: i32| [&[0x48, 1, b'n'][..], &int(children), &[0]].concat();
    let children = [&[0x15, 2, 0x19, 0x2C][..], &element(MANY), &element(0), &[0]].concat();
    let deep = [vec![0x15, 2, 0x19, 0xFC, 0xA0, 0x8D, 0x06], element(1).repeat(100_000), vec![0]].concat();
    let groups = [&[0x49, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07][..], &[0; 100]].concat();
    let nested = vec![0x1C; 100_000];
    for (bytes, reason) in [
        (footer(&children), "more children than there are"),
        (footer(&deep), "nested too deep"),
        (footer(&groups), "it is truncated"),
        (footer(&nested), "nested too deep"),
        (footer(&[]), "offset 4: the footer is damaged"),
        ([b"PAR1", &MANY.to_le_bytes()[..], b"PAR1"].concat(), "offset 4: a footer of 2147483647 bytes"),
        (b"PAR1PAR1".to_vec(), "not a Parquet file: it has 8 bytes"),
        (b"a,b\n1,2\n1,2\n1,2\n".to_vec(), "it does not begin with PAR1"),
        ([&footer(&[0])[..13], b"PARE"].concat(), "encrypted files are not supported"),
        ([&footer(&[0])[..13], b"oops"].concat(), "does not end with PAR1"),
    ] {
        let error = error(&bytes);
        assert!(error.contains(reason), "{reason}: {error}");
    }
}

#[test]
fn values_without_a_text_are_rejects_and_the_row_is_passed() {
    let lists = "optional group a (LIST) { repeated group list { required binary element; } }";
    // Two rows of one element each: bytes that are no text, and text.
    let levels = [&4_u32.to_le_bytes()[..], &[0x02, 0, 0x02, 0], &2_u32.to_le_bytes(), &[0x04, 2]].concat();
    let values = [&1_u32.to_le_bytes()[..], &[0xFF], &1_u32.to_le_bytes(), b"x"].concat();
    let folder = temp_dir();
    let path = folder.join("file");
    let pages = [data(&[levels, values].concat(), 2, 0)];
    fs::write(&path, file(lists, Compression::UNCOMPRESSED, 2, &pages)).unwrap();
    let reason = "! the column 'a' has bytes that are not UTF-8 in a list or a struct";
    assert_eq!(rows_of(&path, ALL).unwrap(), [reason, "a=[\"x\"]"]);
    let days = [i32::MAX, 1].map(i32::to_le_bytes).concat();
    fs::write(&path, file("required int32 a (DATE);", Compression::UNCOMPRESSED, 2, &[data(&days, 2, 0)]))
        .unwrap();
    assert_eq!(
        rows_of(&path, ALL).unwrap(),
        ["! the column 'a' has a time outside the calendar", "a=1970-01-02"]
    );
    // Outside of JSON bytes are what they are.
    let bytes = [&1_u32.to_le_bytes()[..], &[0xFF]].concat();
    fs::write(&path, file("required binary a (UTF8);", Compression::UNCOMPRESSED, 1, &[data(&bytes, 1, 0)]))
        .unwrap();
    assert_eq!(rows_of(&path, ALL).unwrap(), ["a=\u{FFFD}"]);
    fs::remove_dir_all(&folder).unwrap();
}
