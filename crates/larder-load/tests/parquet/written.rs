//! Every type in every codec, encoding and form of pages, by the crate's own writer.

use crate::support::{ALL, rows_of};
use fastrand::Rng;
use larder_testkit::{seed, temp_dir};
use parquet::basic::{Compression, Encoding, GzipLevel, Type, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// The columns: the type as the schema has it, and what row `n` has, stored and as a text.
type Column = (&'static str, fn(i64) -> (Stored, String));

enum Stored {
    Bool(bool),
    Bytes(Vec<u8>),
    Double(f64),
    Float(f32),
    Int(i64),
    Int96([u32; 3]),
}

use Stored::{Bool, Bytes, Double, Float, Int};

fn text(n: i64) -> String {
    ["", "a", "caf\u{e9}", "\"quoted\",\n", "a longer text that begins as another"][(n % 5) as usize]
        .repeat(1 + (n % 3) as usize)
}

const COLUMNS: &[Column] = &[
    ("int64 id", |n| (Int(n - 100), (n - 100).to_string())),
    ("boolean flag", |n| (Bool(n % 3 == 0), (n % 3 == 0).to_string())),
    ("int32 number", |n| (Int(-7 * n), (-7 * n).to_string())),
    ("float float", |n| (Float(n as f32 / 4.0), (n as f64 / 4.0).to_string())),
    ("double double", |n| (Double(n as f64 / 10.0), (n as f64 / 10.0).to_string())),
    ("int96 old", |n| {
        (Stored::Int96([0, 0, 2_440_588 + n as u32 % 28]), format!("1970-01-{:02}T00:00:00Z", 1 + n % 28))
    }),
    ("binary bytes", |n| (Bytes(format!("{:x}", n * n).into()), format!("{:x}", n * n))),
    ("binary text (UTF8)", |n| (Bytes(text(n).into()), text(n))),
    ("binary json (JSON)", |n| (Bytes(format!("{{\"n\":{n}}}").into()), format!("{{\"n\":{n}}}"))),
    ("binary enum (ENUM)", |n| {
        (Bytes(vec![b'A' + (n % 3) as u8]), ["A", "B", "C"][(n % 3) as usize].to_owned())
    }),
    ("fixed_len_byte_array(5) fixed", |n| (Bytes(format!("{n:05}").into()), format!("{n:05}"))),
    ("int32 small (INTEGER(8,false))", |n| (Int(n % 256), (n % 256).to_string())),
    ("int32 unsigned (INTEGER(32,false))", |n| {
        (Int(i64::from((u32::MAX - n as u32).cast_signed())), (u32::MAX - n as u32).to_string())
    }),
    ("int64 huge (INTEGER(64,false))", |n| {
        (Int((u64::MAX - n as u64).cast_signed()), (u64::MAX - n as u64).to_string())
    }),
    ("int32 day (DATE)", |n| (Int(n % 28), format!("1970-01-{:02}", 1 + n % 28))),
    ("int32 noon (TIME(MILLIS,true))", |n| {
        (Int(43_200_000 + n % 1000), format!("12:00:00{}", fraction(n % 1000)))
    }),
    ("int64 later (TIME(MICROS,false))", |n| (Int(1_000_000 * (n % 60)), format!("00:00:{:02}", n % 60))),
    ("int64 ms (TIMESTAMP(MILLIS,true))", |n| {
        (Int(n % 1000), format!("1970-01-01T00:00:00{}Z", fraction(n % 1000)))
    }),
    ("int64 local (TIMESTAMP(MICROS,false))", |n| {
        (Int(n % 60 * 1_000_000), format!("1970-01-01T00:00:{:02}", n % 60))
    }),
    ("int64 ns (TIMESTAMP(NANOS,true))", |n| {
        (Int(n % 60 * 1_000_000_000), format!("1970-01-01T00:00:{:02}Z", n % 60))
    }),
    ("int32 cents (DECIMAL(9,2))", |n| (Int(n), format!("{}.{:02}", n / 100, n % 100))),
    ("int64 debts (DECIMAL(18,3))", |n| (Int(-n), decimal(-n))),
    ("fixed_len_byte_array(16) wide (DECIMAL(38,3))", |n| {
        (Bytes(i128::from(-n).to_be_bytes().into()), decimal(-n))
    }),
    ("binary varied (DECIMAL(30,3))", |n| (Bytes(n.to_be_bytes()[5..].into()), decimal(n))),
    ("fixed_len_byte_array(16) uuid (UUID)", |n| (Bytes(vec![n as u8; 16]), uuid(n as u8))),
    ("fixed_len_byte_array(2) half (FLOAT16)", |n| (Bytes(vec![0, 0x3C + (n % 4) as u8]), half(n))),
    ("fixed_len_byte_array(12) span (INTERVAL)", |n| {
        (Bytes([n as u32, 2, 3000].map(u32::to_le_bytes).concat()), format!("P{n}M2DT3S"))
    }),
];

/// Floats of 16 bits that differ in the upper byte of their bits.
fn half(n: i64) -> String {
    ["1", "1.25", "1.5", "1.75"][(n % 4) as usize].to_owned()
}

fn fraction(ms: i64) -> String {
    if ms == 0 { String::new() } else { format!(".{ms:03}") }
}

fn decimal(n: i64) -> String {
    format!("{}{}.{:03}", if n < 0 { "-" } else { "" }, n.abs() / 1000, n.abs() % 1000)
}

fn uuid(byte: u8) -> String {
    let word = |count: usize| format!("{byte:02x}").repeat(count);
    [word(4), word(2), word(2), word(2), word(6)].join("-")
}

/// Whether a column has no value in a row: some are optional.
fn is_null(column: usize, n: i64) -> bool {
    column % 2 == 1 && (n / 3 + column as i64) % 4 == 0
}

fn schema() -> String {
    let field = |(at, (of, _)): (usize, &Column)| {
        format!("{} {of};", if at % 2 == 1 { "optional" } else { "required" })
    };
    format!("message m {{ {} }}", COLUMNS.iter().enumerate().map(field).collect::<String>())
}

fn expected(n: i64) -> String {
    let cell = |(at, (of, value)): (usize, &Column)| {
        let name = of.split([' ']).nth(1).unwrap();
        (!is_null(at, n)).then(|| format!("{name}={}", value(n).1))
    };
    COLUMNS.iter().enumerate().filter_map(cell).collect::<Vec<_>>().join("\t")
}

fn write_column(
    writer: &mut SerializedColumnWriter<'_>,
    physical: Type,
    values: Vec<Stored>,
    levels: Option<&[i16]>,
) {
    macro_rules! write {
        ($of:ty, $pattern:pat => $value:expr) => {{
            let pick = |stored| match stored {
                $pattern => $value,
                _ => unreachable!("values are of the column's type"),
            };
            let values: Vec<_> = values.into_iter().map(pick).collect();
            writer.typed::<$of>().write_batch(&values, levels, None).unwrap();
        }};
    }
    let int96 = |[a, b, c]: [u32; 3]| {
        let mut value = Int96::new();
        value.set_data(a, b, c);
        value
    };
    match physical {
        Type::BOOLEAN => write!(BoolType, Bool(value) => value),
        Type::INT32 => write!(Int32Type, Int(value) => value as i32),
        Type::INT64 => write!(Int64Type, Int(value) => value),
        Type::INT96 => write!(Int96Type, Stored::Int96(value) => int96(value)),
        Type::FLOAT => write!(FloatType, Float(value) => value),
        Type::DOUBLE => write!(DoubleType, Double(value) => value),
        Type::BYTE_ARRAY => write!(ByteArrayType, Bytes(value) => ByteArray::from(value)),
        Type::FIXED_LEN_BYTE_ARRAY => {
            write!(FixedLenByteArrayType, Bytes(value) => FixedLenByteArray::from(value));
        }
    }
}

/// Writes groups of rows of these sizes.
pub fn write(path: &Path, groups: &[i64], properties: WriterProperties) {
    let schema = Arc::new(parse_message_type(&schema()).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::clone(&schema), Arc::new(properties)).unwrap();
    let mut first = 0;
    for rows in groups {
        let mut group = writer.next_row_group().unwrap();
        for (at, (_, value)) in COLUMNS.iter().enumerate() {
            let there = |n: &i64| !is_null(at, *n);
            let values = (first..first + rows).filter(there).map(|n| value(n).0).collect();
            let levels: Vec<i16> = (first..first + rows).map(|n| i16::from(there(&n))).collect();
            let mut column = group.next_column().unwrap().unwrap();
            let levels = (at % 2 == 1).then_some(&levels[..]);
            write_column(&mut column, schema.get_fields()[at].get_physical_type(), values, levels);
            column.close().unwrap();
        }
        group.close().unwrap();
        first += rows;
    }
    writer.close().unwrap();
}

/// Encodings of their own for the columns of a kind of values.
pub fn encoded(mut properties: WriterPropertiesBuilder, strings: Encoding) -> WriterPropertiesBuilder {
    properties = properties.set_dictionary_enabled(false);
    let schema = parse_message_type(&schema()).unwrap();
    for field in schema.get_fields() {
        let encoding = match field.get_physical_type() {
            Type::BYTE_ARRAY => strings,
            Type::INT32 | Type::INT64 => Encoding::DELTA_BINARY_PACKED,
            Type::FLOAT | Type::DOUBLE | Type::FIXED_LEN_BYTE_ARRAY => Encoding::BYTE_STREAM_SPLIT,
            Type::BOOLEAN => Encoding::RLE,
            Type::INT96 => Encoding::PLAIN,
        };
        properties = properties.set_column_encoding(ColumnPath::from(field.name()), encoding);
    }
    properties
}

/// Pages of few rows.
pub fn small_pages(codec: Compression, version: WriterVersion) -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(codec)
        .set_writer_version(version)
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(50)
}

#[test]
fn every_type_in_every_codec_and_encoding() {
    let folder = temp_dir();
    let path = folder.join("rows.parquet");
    let mut rng = Rng::with_seed(seed(1));
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ];
    for codec in codecs {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let of = |kind: usize| match kind {
                0 => small_pages(codec, version),
                1 => small_pages(codec, version).set_dictionary_enabled(false),
                2 => encoded(small_pages(codec, version), Encoding::DELTA_BYTE_ARRAY),
                _ => encoded(small_pages(codec, version), Encoding::DELTA_LENGTH_BYTE_ARRAY),
            };
            for kind in 0..4 {
                let groups: Vec<i64> = (0..3).map(|_| rng.i64(0..700)).collect();
                write(&path, &groups, of(kind).build());
                let found = rows_of(&path, ALL).unwrap();
                let what = format!("{codec} {version:?} {kind} {groups:?}");
                assert_eq!(found.len() as i64, groups.iter().sum::<i64>(), "{what}");
                found.iter().zip(0..).for_each(|(row, n)| assert_eq!(*row, expected(n), "{what} row {n}"));
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
