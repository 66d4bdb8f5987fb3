//! Rows out of the groups of rows of a file.

use crate::error::{Error, Result};
use crate::mapping::{Mapping, VALUE_BYTES_MAX};
use crate::parquet::column::{self, Leaf};
use crate::parquet::footer;
use crate::parquet::nested::{self, Cell};
use crate::parquet::pages::range;
use crate::parquet::shape::{self, Node};
use crate::parquet::source::Source;
use crate::reader::Line;
use crate::row::Row;
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use indicatif::ProgressBar;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Rows that any file may have, and how many more for each of its bytes: a run of the same value takes few bytes, and so does a group of
/// rows that has the pages of another.
const ROWS_FLOOR: u64 = 1 << 24;
const ROWS_PER_BYTE: u64 = 4096;

/// A file whose footer was read.
pub struct Table {
    name: String,
    source: Arc<Source>,
    facts: ParquetMetaData,
    /// Where the last chunk ends.
    data_end: u64,
    columns: Columns,
}

/// The columns that are read.
struct Columns {
    nodes: Vec<Node>,
    index: HashMap<String, usize>,
    /// Which columns of values of the file are read.
    chosen: Vec<usize>,
}

impl Table {
    /// Opens a file of which the columns of a mapping are read, or all if it takes all. What is read moves the bar.
    ///
    /// # Errors
    /// The file is none, its footer is damaged, or it lacks a column.
    pub fn open(path: &Path, mapping: &Mapping, bar: &ProgressBar) -> Result<Table> {
        let name = path.display().to_string();
        let about = |reason: String| Error::File(format!("{name}: {reason}"));
        let source = Source::open(path, bar).map_err(about)?;
        let (facts, data_end) = footer::read(&source).map_err(about)?;
        let columns = Columns::of(&facts, mapping).map_err(about)?;
        columns.check_groups(&facts, source.len(), data_end).map_err(about)?;
        Ok(Table { source: Arc::new(source), facts, data_end, columns, name })
    }

    /// Reads all rows; `each` gets the number of a row, from 1, and what it is.
    ///
    /// # Errors
    /// The file cannot be read or is damaged: with the group of rows and the row; or `each` fails.
    pub fn rows(&self, each: &mut dyn FnMut(u64, Line<'_>) -> Result<()>) -> Result<()> {
        let (mut number, mut cells) = (0, Vec::new());
        cells.resize_with(self.columns.nodes.len(), Cell::default);
        let groups = self.facts.row_groups().iter().enumerate();
        for (at, group) in groups.filter(|(_, group)| group.num_rows() > 0) {
            let about = |row: u64, what: String| {
                Error::File(format!("{}: row group {}, row {row}: {what}", self.name, at + 1))
            };
            let mut leaves = self.leaves(group).map_err(|what| about(number + 1, what))?;
            for _ in 0..group.num_rows() {
                number += 1;
                let fault = self.columns.read(&mut leaves, &mut cells).map_err(|what| about(number, what))?;
                let row = Record { columns: &self.columns, cells: &cells };
                match fault {
                    None => each(number, Line::Row(&row))?,
                    Some(reason) => each(number, Line::Bad(reason, row.as_text()))?,
                }
            }
            self.columns.finish(&mut leaves).map_err(|what| about(number, what))?;
        }
        Ok(())
    }

    /// The columns of a group of rows.
    fn leaves(&self, group: &RowGroupMetaData) -> std::result::Result<Vec<Box<dyn Leaf>>, String> {
        let open = |&leaf: &usize| {
            let chunk = group.columns().get(leaf).ok_or("a column is missing")?;
            column::open(&self.source, chunk, self.data_end)
                .map_err(|what| format!("column '{}': {what}", chunk.column_path().string()))
        };
        self.columns.chosen.iter().map(open).collect()
    }
}

impl Columns {
    fn of(facts: &ParquetMetaData, mapping: &Mapping) -> std::result::Result<Columns, String> {
        let fields = facts.file_metadata().schema().get_fields();
        let mut wanted = mapping.columns();
        let has = |name: &str| fields.iter().any(|field| field.name() == name);
        if let Some(missing) = wanted.iter().find(|name| !has(name)) {
            let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
            return Err(format!("no column '{missing}' (the columns are: {})", names.join(", ")));
        }
        if wanted.is_empty() {
            // How many rows there are is believed only as far as one column has values.
            wanted.extend(fields.iter().find(|field| shape::leaves(field) > 0).map(|field| field.name()));
        }
        let mut columns = Columns { nodes: Vec::new(), index: HashMap::new(), chosen: Vec::new() };
        let mut leaf = 0;
        for field in fields {
            let count = shape::leaves(field);
            let is_read = mapping.takes_all_columns() || wanted.contains(&field.name());
            if is_read && count > 0 {
                let mut next = columns.chosen.len();
                columns.nodes.push(shape::node(field, &mut next).map_err(|what| format!("column {what}"))?);
                columns.chosen.extend(leaf..leaf + count);
                if columns.index.insert(field.name().to_owned(), columns.nodes.len() - 1).is_some() {
                    return Err(format!("duplicate column '{}'", field.name()));
                }
            }
            leaf += count;
        }
        Ok(columns)
    }

    /// Checks that the groups of rows have what the footer says, and no more rows than the bytes of the file may hold.
    fn check_groups(
        &self,
        facts: &ParquetMetaData,
        bytes: u64,
        data_end: u64,
    ) -> std::result::Result<(), String> {
        let (most, mut rows) = (ROWS_FLOOR + ROWS_PER_BYTE.saturating_mul(bytes), 0_u64);
        for (at, group) in facts.row_groups().iter().enumerate() {
            let about = |what: String| format!("row group {}: {what}", at + 1);
            self.check(group, data_end).map_err(about)?;
            rows = rows.saturating_add(group.num_rows().unsigned_abs());
            if rows > most {
                return Err(about(format!("{rows} rows are more than {bytes} bytes can hold")));
            }
        }
        Ok(())
    }

    fn check(&self, group: &RowGroupMetaData, data_end: u64) -> std::result::Result<(), String> {
        match group.num_rows() {
            0 => return Ok(()),
            1.. if self.chosen.is_empty() => return Err("it has rows but no columns".to_owned()),
            1.. => {}
            rows => return Err(format!("invalid number of rows: {rows}")),
        }
        for &leaf in &self.chosen {
            let chunk = group.columns().get(leaf).ok_or("a column is missing")?;
            range(chunk, data_end)
                .map_err(|what| format!("column '{}': {what}", chunk.column_path().string()))?;
        }
        Ok(())
    }

    /// Reads a row; returns why it has no text, if it has none.
    fn read(
        &self,
        leaves: &mut [Box<dyn Leaf>],
        cells: &mut [Cell],
    ) -> std::result::Result<Option<String>, String> {
        let (mut fault, mut bytes) = (None, 0);
        for (node, cell) in self.nodes.iter().zip(cells) {
            let about = |what: String| format!("column '{}': {what}", node.name);
            let read = nested::read(node, leaves, cell).map_err(about)?;
            bytes += cell.text.len();
            if let Err(reason) = read {
                fault = fault.or(Some(format!("the column '{}' has {reason}", node.name)));
            }
            if bytes > VALUE_BYTES_MAX {
                cell.text = Vec::new();
                fault = fault.or(Some("the row is larger than 512 MB".to_owned()));
            }
        }
        Ok(fault)
    }

    /// Checks that no column goes on after the last row.
    fn finish(&self, leaves: &mut [Box<dyn Leaf>]) -> std::result::Result<(), String> {
        for node in &self.nodes {
            let of_node = leaves.get_mut(node.leaves.clone()).unwrap_or_default();
            for leaf in of_node {
                let about = |what: String| format!("column '{}': {what}", node.name);
                if leaf.levels().map_err(about)?.is_some() {
                    return Err(about("it has more values than the row group has rows".to_owned()));
                }
            }
        }
        Ok(())
    }
}

/// A row by the names of its columns.
struct Record<'a> {
    columns: &'a Columns,
    cells: &'a [Cell],
}

impl Record<'_> {
    fn cell(&self, name: &str) -> Option<&Cell> {
        self.columns.index.get(name).and_then(|&at| self.cells.get(at)).filter(|cell| cell.is_there)
    }
}

impl Row for Record<'_> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.cell(name).map(|cell| cell.text.as_slice())
    }

    fn each(&self, f: &mut dyn FnMut(&str, &[u8])) {
        for (node, cell) in self.columns.nodes.iter().zip(self.cells).filter(|(_, cell)| cell.is_there) {
            f(&node.name, &cell.text);
        }
    }

    fn micros(&self, name: &str) -> Option<i64> {
        self.cell(name).and_then(|cell| cell.micros)
    }
}
