//! The values of a column with their levels, some rows at a time.

use crate::parquet::guard::guarded;
use crate::parquet::kind::Value;
use crate::parquet::pages::{LEVELS_FLOOR, Pages};
use crate::parquet::source::Source;
use ::parquet::basic::Type;
use ::parquet::column::reader::ColumnReaderImpl;
use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use ::parquet::file::metadata::ColumnChunkMetaData;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Rows that are decoded at once; of a repeated column fewer, so that they have about so many values.
const ROWS: usize = 1024;
const LEVELS: usize = 1 << 16;
/// The first rows of a repeated column, of which nothing is known.
const FIRST_ROWS: usize = 16;

/// Where a value is in its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The list that it goes on with: 0 begins a row.
    pub repetition: i16,
    /// How many of the optional and repeated groups around it, and it, are there.
    pub definition: i16,
}

/// A column of a group of rows. What is there is looked at, used, and passed.
pub trait Leaf {
    /// Where the current value is; None at the end.
    ///
    /// # Errors
    /// The data is damaged.
    fn levels(&mut self) -> Result<Option<Levels>, String>;
    /// The current value, unless it is null.
    fn value(&self) -> Option<Value<'_>>;
    /// Goes on to the next value.
    fn advance(&mut self);
}

/// Opens a column of a group of rows, whose pages end before `data_end`.
pub fn open(
    source: &Arc<Source>,
    chunk: &ColumnChunkMetaData,
    data_end: u64,
) -> Result<Box<dyn Leaf>, String> {
    match chunk.column_descr().physical_type() {
        Type::BOOLEAN => Batch::<BoolType>::open(source, chunk, data_end),
        Type::INT32 => Batch::<Int32Type>::open(source, chunk, data_end),
        Type::INT64 => Batch::<Int64Type>::open(source, chunk, data_end),
        Type::INT96 => Batch::<Int96Type>::open(source, chunk, data_end),
        Type::FLOAT => Batch::<FloatType>::open(source, chunk, data_end),
        Type::DOUBLE => Batch::<DoubleType>::open(source, chunk, data_end),
        Type::BYTE_ARRAY => Batch::<ByteArrayType>::open(source, chunk, data_end),
        Type::FIXED_LEN_BYTE_ARRAY => Batch::<FixedLenByteArrayType>::open(source, chunk, data_end),
    }
}

/// What was decoded last.
struct Batch<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
    /// Empty if no group around the column, nor itself, is optional.
    definitions: Vec<i16>,
    /// Empty if the column is not repeated.
    repetitions: Vec<i16>,
    definition_max: i16,
    repetition_max: i16,
    /// Levels in all, which of them is the current one, and which value.
    count: usize,
    at: usize,
    value_at: usize,
    rows: usize,
    allowance: Arc<AtomicI64>,
    is_over: bool,
}

impl<T: DataType> Batch<T>
where
    T::T: AsValue,
{
    fn open(
        source: &Arc<Source>,
        chunk: &ColumnChunkMetaData,
        data_end: u64,
    ) -> Result<Box<dyn Leaf>, String> {
        let column = chunk.column_descr_ptr();
        let (definition_max, repetition_max) = (column.max_def_level(), column.max_rep_level());
        let allowance = Arc::new(AtomicI64::new(LEVELS_FLOOR));
        let pages = Pages::new(Arc::clone(source), chunk, data_end, Arc::clone(&allowance))?;
        let reader = guarded(|| Ok(ColumnReaderImpl::new(column, Box::new(pages))))?;
        Ok(Box::new(Batch::<T> {
            reader,
            values: Vec::new(),
            definitions: Vec::new(),
            repetitions: Vec::new(),
            definition_max,
            repetition_max,
            count: 0,
            at: 0,
            value_at: 0,
            rows: if repetition_max > 0 { FIRST_ROWS } else { ROWS },
            allowance,
            is_over: false,
        }))
    }

    fn fill(&mut self) -> Result<(), String> {
        let Batch { reader, values, definitions, repetitions, .. } = self;
        values.clear();
        definitions.clear();
        repetitions.clear();
        (self.at, self.value_at) = (0, 0);
        self.allowance.store(LEVELS_FLOOR, Relaxed);
        let rows = self.rows;
        let (read, _, count) = guarded(|| {
            let read = reader.read_records(rows, Some(definitions), Some(repetitions), values)?;
            // A string that was never set may be asked for nothing, which is found out here.
            values.iter().for_each(|value| {
                let _ = value.as_value();
            });
            Ok(read)
        })?;
        (self.count, self.is_over) = (count, count == 0);
        if self.repetition_max > 0 && read > 0 {
            self.rows = (LEVELS / (count / read).max(1)).clamp(1, ROWS);
        }
        Ok(())
    }

    fn definition(&self) -> i16 {
        if self.definition_max == 0 { 0 } else { self.definitions.get(self.at).copied().unwrap_or(0) }
    }
}

impl<T: DataType> Leaf for Batch<T>
where
    T::T: AsValue,
{
    fn levels(&mut self) -> Result<Option<Levels>, String> {
        if self.at == self.count && !self.is_over {
            self.fill()?;
        }
        if self.is_over {
            return Ok(None);
        }
        let repetition =
            if self.repetition_max == 0 { 0 } else { self.repetitions.get(self.at).copied().unwrap_or(0) };
        Ok(Some(Levels { repetition, definition: self.definition() }))
    }

    fn value(&self) -> Option<Value<'_>> {
        let is_there = self.definition() == self.definition_max;
        self.values.get(self.value_at).filter(|_| is_there).map(AsValue::as_value)
    }

    fn advance(&mut self) {
        if self.at < self.count {
            self.value_at += usize::from(self.definition() == self.definition_max);
            self.at += 1;
        }
    }
}

/// What the crate has as values.
trait AsValue {
    fn as_value(&self) -> Value<'_>;
}

macro_rules! as_value {
    ($($of:ty => $variant:ident($value:ident) $shown:expr),* $(,)?) => {$(
        impl AsValue for $of {
            fn as_value(&self) -> Value<'_> {
                let $value = self;
                Value::$variant($shown)
            }
        }
    )*};
}

as_value! {
    bool => Bool(value) *value,
    i32 => Int(value) i64::from(*value),
    i64 => Int(value) *value,
    f32 => Float(value) *value,
    f64 => Double(value) *value,
    ByteArray => Bytes(value) value.data(),
    FixedLenByteArray => Bytes(value) value.data(),
    Int96 => Int96(value) value.data().try_into().unwrap_or_default(),
}
