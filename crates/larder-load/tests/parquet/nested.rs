//! Lists, structs and maps: rows at random, taken apart into columns and levels here, and read as JSON.

use crate::support::{ALL, rows_of};
use fastrand::Rng;
use larder_testkit::{seeds, temp_dir};
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::Type;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

const SCHEMA: &str = "message m {
    required int32 id;
    optional group list (LIST) { repeated group list { optional int32 element; } }
    required group lists (LIST) { repeated group list {
        optional group element (LIST) { repeated group list { required binary element (UTF8); } } } }
    optional group struct {
        optional int32 a;
        required group inner { required binary b (UTF8); optional int32 c; }
        optional group deep (LIST) { repeated group list { required group element {
            required int32 x; optional group names (LIST) { repeated group list { optional binary element (UTF8); } } } } }
    }
    optional group map (MAP) { repeated group key_value { required binary key (UTF8); optional int32 value; } }
    required group numbers (MAP) { repeated group key_value {
        required int32 key; optional group value (LIST) { repeated group list { optional int32 element; } } } }
    repeated int32 bare;
    repeated group pairs { required int32 l; optional int32 r; }
    optional group old (LIST) { repeated int32 array; }
}";

/// A value in the form of the schema: what is repeated is a list.
enum Tree {
    Null,
    Int(i32),
    Text(String),
    Group(Vec<Tree>),
    Many(Vec<Tree>),
}

fn random(field: &Type, rng: &mut Rng) -> Tree {
    match field.get_basic_info().repetition() {
        Repetition::OPTIONAL if rng.u8(..4) == 0 => Tree::Null,
        Repetition::REPEATED => {
            let count = if rng.u8(..40) == 0 { rng.usize(..40) } else { rng.usize(..4) };
            Tree::Many((0..count).map(|_| content(field, rng)).collect())
        }
        _ => content(field, rng),
    }
}

fn content(field: &Type, rng: &mut Rng) -> Tree {
    if field.is_group() {
        Tree::Group(field.get_fields().iter().map(|field| random(field, rng)).collect())
    } else if field.get_physical_type() == Physical::INT32 {
        Tree::Int(rng.i32(-50..50))
    } else {
        Tree::Text(["", "a", "\u{e9}\t\"", "text"][rng.usize(..4)].to_owned())
    }
}

/// A value as JSON, by the groups' annotations.
fn json(field: &Type, tree: &Tree) -> String {
    let joined = |all: Vec<String>| all.join(",");
    match tree {
        Tree::Null => "null".to_owned(),
        Tree::Int(number) => number.to_string(),
        Tree::Text(text) => serde_json::to_string(text).unwrap(),
        Tree::Many(all) => format!("[{}]", joined(all.iter().map(|tree| json(field, tree)).collect())),
        Tree::Group(parts) => {
            let fields = field.get_fields();
            let (of, Some(Tree::Many(all))) = (field.get_basic_info().converted_type(), parts.first()) else {
                return object(fields, parts);
            };
            let repeated = &fields[0];
            match of {
                ConvertedType::LIST if repeated.is_primitive() => json(repeated, &parts[0]),
                ConvertedType::LIST => {
                    let element = |tree: &Tree| match tree {
                        Tree::Group(inner) => json(&repeated.get_fields()[0], &inner[0]),
                        _ => unreachable!("a group is repeated"),
                    };
                    format!("[{}]", joined(all.iter().map(element).collect()))
                }
                ConvertedType::MAP => {
                    let entry = |tree: &Tree| match (tree, repeated.get_fields()) {
                        (Tree::Group(inner), [key, value]) => {
                            let name = json(key, &inner[0]);
                            let name = if name.starts_with('"') { name } else { format!("\"{name}\"") };
                            format!("{name}:{}", json(value, &inner[1]))
                        }
                        _ => unreachable!("a group of two is repeated"),
                    };
                    format!("{{{}}}", joined(all.iter().map(entry).collect()))
                }
                _ => object(fields, parts),
            }
        }
    }
}

fn object(fields: &[Arc<Type>], parts: &[Tree]) -> String {
    let field = |(field, tree): (&Arc<Type>, &Tree)| format!("\"{}\":{}", field.name(), json(field, tree));
    format!("{{{}}}", fields.iter().zip(parts).map(field).collect::<Vec<_>>().join(","))
}

/// A column of values and its levels.
#[derive(Default)]
struct Column {
    ints: Vec<i32>,
    texts: Vec<ByteArray>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

/// Repetition level of what comes next, definition level, and the repetition level of further elements.
#[derive(Clone, Copy)]
struct At(i16, i16, i16);

/// Takes a value apart into the columns from `next` on.
fn shred(field: &Type, tree: &Tree, at: At, columns: &mut [Column], next: &mut usize) {
    let At(repetition, definition, deepest) = at;
    match (field.get_basic_info().repetition(), tree) {
        (Repetition::REPEATED, Tree::Many(all)) if !all.is_empty() => {
            let first = *next;
            for (number, one) in all.iter().enumerate() {
                *next = first;
                let repetition = if number == 0 { repetition } else { deepest + 1 };
                shred_content(field, one, At(repetition, definition + 1, deepest + 1), columns, next);
            }
        }
        (Repetition::REPEATED, _) | (_, Tree::Null) => nothing(field, at, columns, next),
        (Repetition::OPTIONAL, _) => {
            shred_content(field, tree, At(repetition, definition + 1, deepest), columns, next);
        }
        (Repetition::REQUIRED, _) => shred_content(field, tree, at, columns, next),
    }
}

fn shred_content(field: &Type, tree: &Tree, at: At, columns: &mut [Column], next: &mut usize) {
    let value = match tree {
        Tree::Group(parts) => {
            let fields = field.get_fields().iter().zip(parts);
            return fields.for_each(|(field, part)| shred(field, part, at, columns, next));
        }
        value => value,
    };
    let column = &mut columns[*next];
    match value {
        Tree::Int(number) => column.ints.push(*number),
        Tree::Text(text) => column.texts.push(text.as_str().into()),
        _ => unreachable!("a value of a primitive type"),
    }
    nothing(field, at, columns, next);
}

/// Adds levels without values to all columns of a field.
fn nothing(field: &Type, At(repetition, definition, deepest): At, columns: &mut [Column], next: &mut usize) {
    if field.is_group() {
        let at = At(repetition, definition, deepest);
        return field.get_fields().iter().for_each(|field| nothing(field, at, columns, next));
    }
    columns[*next].repetitions.push(repetition);
    columns[*next].definitions.push(definition);
    *next += 1;
}

/// Writes groups of rows at random; returns what the rows are.
pub fn write(path: &Path, groups: &[usize], properties: WriterProperties, rng: &mut Rng) -> Vec<String> {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::clone(&schema), Arc::new(properties)).unwrap();
    let mut expected = Vec::new();
    for &rows in groups {
        let mut columns: Vec<Column> = Vec::new();
        columns.resize_with(32, Column::default);
        for _ in 0..rows {
            let (mut next, mut cells) = (0, Vec::new());
            for field in schema.get_fields() {
                let tree = random(field, rng);
                shred(field, &tree, At(0, 0, 0), &mut columns, &mut next);
                if !matches!(tree, Tree::Null) {
                    cells.push(format!("{}={}", field.name(), json(field, &tree)));
                }
            }
            expected.push(cells.join("\t"));
        }
        let (mut group, mut columns) = (writer.next_row_group().unwrap(), columns.iter());
        while let Some(mut out) = group.next_column().unwrap() {
            let column = columns.next().unwrap();
            let levels = (Some(&column.definitions[..]), Some(&column.repetitions[..]));
            let written = if column.texts.is_empty() && !column.ints.is_empty()
                || matches!(out.untyped(), parquet::column::writer::ColumnWriter::Int32ColumnWriter(_))
            {
                out.typed::<Int32Type>().write_batch(&column.ints, levels.0, levels.1)
            } else {
                out.typed::<ByteArrayType>().write_batch(&column.texts, levels.0, levels.1)
            };
            written.unwrap();
            out.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    expected
}

#[test]
fn nested_rows_come_back_as_json() {
    let folder = temp_dir();
    let path = folder.join("rows.parquet");
    for seed in seeds(24, 400) {
        let mut rng = Rng::with_seed(seed);
        let codec = if rng.bool() { Compression::SNAPPY } else { Compression::ZSTD(ZstdLevel::default()) };
        let version = if rng.bool() { WriterVersion::PARQUET_1_0 } else { WriterVersion::PARQUET_2_0 };
        let properties = WriterProperties::builder()
            .set_compression(codec)
            .set_writer_version(version)
            .set_dictionary_enabled(rng.bool())
            .set_data_page_row_count_limit(rng.usize(1..200))
            .set_write_batch_size(rng.usize(1..100))
            .build();
        let groups: Vec<usize> = (0..3).map(|_| rng.usize(0..400)).collect();
        let expected = write(&path, &groups, properties, &mut rng);
        let found = rows_of(&path, ALL).unwrap();
        assert_eq!(found.len(), expected.len());
        for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "row {}", number + 1);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
