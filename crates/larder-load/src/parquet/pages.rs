//! The pages of a chunk of a column. The crate has a reader of its own, which takes as much memory as heads of pages say, and tells a decoder
//! numbers that it takes memory for: here a page is believed only as far as its bytes go.

use crate::parquet::codec::Unpacker;
use crate::parquet::delta;
use crate::parquet::head::{self, Head, PageKind};
use crate::parquet::source::Source;
use crate::parquet::thrift::Fault;
use ::parquet::basic::{Encoding, Type};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result as PageResult};
use ::parquet::file::metadata::ColumnChunkMetaData;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Bytes that a page may always unpack to, and how many for each of its bytes: more than other codecs than Zstandard and Brotli can.
const PLAIN_FLOOR: u64 = 64 << 20;
const PLAIN_PER_BYTE: u64 = 1032;
/// Bytes of a head that are read first; those of statistics may be many more.
const HEAD_BYTES: u64 = 512;
/// Values of repeated columns that may always be read at once, and how many more for each byte of their pages: a run of the same level
/// takes few bytes.
pub const LEVELS_FLOOR: i64 = 1 << 22;
const LEVELS_PER_BYTE: i64 = 64;
/// Bytes of strings of a fixed length that are put together at once, and how many more for each byte of the page.
const SPREAD_FLOOR: u64 = 16 << 20;
const SPREAD_PER_BYTE: u64 = 64;
/// What an entry of a dictionary takes in memory, besides its bytes.
const ENTRY_BYTES: u64 = 40;

/// Reads the pages of a chunk.
pub struct Pages {
    source: Arc<Source>,
    /// Where the next head is, and where the chunk ends.
    at: u64,
    end: u64,
    /// The head that was looked at, and where its page begins.
    next: Option<(Head, u64)>,
    unpacker: Unpacker,
    physical: Type,
    /// The length of strings of a fixed length.
    width: u64,
    definition_max: i16,
    repetition_max: i16,
    /// How many more values of a repeated column may be read before somebody looks at them.
    allowance: Arc<AtomicI64>,
    has_dictionary: bool,
    page_held: u64,
    dictionary_held: u64,
}

impl Pages {
    /// The pages of a chunk, which must end before `data_end`.
    pub fn new(
        source: Arc<Source>,
        chunk: &ColumnChunkMetaData,
        data_end: u64,
        allowance: Arc<AtomicI64>,
    ) -> Result<Self, String> {
        let (at, end) = range(chunk, data_end)?;
        let column = chunk.column_descr();
        let physical = column.physical_type();
        let width = match physical {
            Type::FIXED_LEN_BYTE_ARRAY => column.type_length(),
            Type::INT96 => 12,
            Type::INT64 | Type::DOUBLE => 8,
            _ => 4,
        };
        Ok(Pages {
            source,
            at,
            end,
            next: None,
            unpacker: Unpacker::new(chunk.compression())?,
            physical,
            width: u64::try_from(width)
                .ok()
                .filter(|&width| width > 0)
                .ok_or("its strings of fixed length have no length")?,
            definition_max: column.max_def_level(),
            repetition_max: column.max_rep_level(),
            allowance,
            has_dictionary: false,
            page_held: 0,
            dictionary_held: 0,
        })
    }

    /// The head of the next page that has values, and where its bytes begin.
    fn head(&mut self) -> Result<Option<(Head, u64)>, String> {
        while self.next.is_none() && self.at < self.end {
            let start = self.at;
            let odd = |what: &str| format!("offset {start}: {what}");
            let (head, len) = self.read_head().map_err(|what| odd(&what))?;
            let from = start + len;
            let (packed, plain) = (u64::from(head.packed_bytes), u64::from(head.plain_bytes));
            if packed > self.end - from {
                return Err(odd("a page is longer than the data of its column"));
            }
            if plain > PLAIN_FLOOR.max(PLAIN_PER_BYTE * packed) {
                return Err(odd(&format!("a page of {packed} bytes claims to decompress to {plain} bytes")));
            }
            self.at = from + packed;
            let is_empty = head.values == 0 && head.kind != PageKind::Dictionary;
            if head.kind != PageKind::Index && !is_empty {
                self.next = Some((head, from));
            }
        }
        Ok(self.next)
    }

    fn read_head(&self) -> Result<(Head, u64), String> {
        let (mut window, left) = (HEAD_BYTES, self.end - self.at);
        loop {
            let bytes = self.source.read(self.at, window.min(left) as usize)?;
            match head::read(&bytes) {
                Ok((head, len)) => return Ok((head, len as u64)),
                Err(Fault::Short) if window < left => window *= 8,
                Err(Fault::Short) => return Err("a page header is truncated".to_owned()),
                Err(Fault::Odd(what)) => return Err(what.to_owned()),
            }
        }
    }

    fn page(&mut self, head: Head, from: u64) -> Result<Page, String> {
        let bytes = self.bytes(&head, from)?;
        let Head { kind, encoding, values: num_values, .. } = head;
        let len = bytes.len() as u64;
        if kind == PageKind::Dictionary {
            self.check_dictionary(&head, len)?;
            let held = len + ENTRY_BYTES * u64::from(num_values);
            self.source.hold(held, std::mem::replace(&mut self.dictionary_held, held))?;
            self.has_dictionary = true;
            return Ok(Page::DictionaryPage {
                buf: Bytes::from(bytes),
                num_values,
                encoding,
                is_sorted: false,
            });
        }
        self.source.hold(len, std::mem::replace(&mut self.page_held, len))?;
        if self.repetition_max > 0 {
            let more = LEVELS_PER_BYTE * len as i64 - i64::from(num_values);
            if self.allowance.fetch_add(more, Relaxed) + more < 0 {
                return Err("a row, or the page it is in, has more values than its bytes justify".to_owned());
            }
        }
        let values =
            bytes.get(self.values_at(&head, &bytes)?..).ok_or("the levels are longer than their page")?;
        self.check_values(&head, values)?;
        let buf = Bytes::from(bytes);
        Ok(match kind {
            PageKind::Data2 { definition_bytes, repetition_bytes, nulls, rows, is_packed } => {
                Page::DataPageV2 {
                    buf,
                    num_values,
                    encoding,
                    num_nulls: nulls,
                    num_rows: rows,
                    def_levels_byte_len: definition_bytes,
                    rep_levels_byte_len: repetition_bytes,
                    is_compressed: is_packed,
                    statistics: None,
                }
            }
            PageKind::Data { definitions, repetitions } => Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding: definitions,
                rep_level_encoding: repetitions,
                statistics: None,
            },
            PageKind::Dictionary | PageKind::Index => {
                return Err("a page of this type has no values".to_owned());
            }
        })
    }

    /// The bytes of a page, unpacked.
    fn bytes(&mut self, head: &Head, from: u64) -> Result<Vec<u8>, String> {
        let packed = self.source.read(from, head.packed_bytes as usize)?;
        if let Some(crc) = head.crc {
            let mut sum = flate2::Crc::new();
            sum.update(&packed);
            if sum.sum() != crc {
                return Err("wrong checksum: the page is damaged".to_owned());
            }
        }
        let (levels, is_packed) = match head.kind {
            PageKind::Data2 { definition_bytes, repetition_bytes, is_packed, .. } => {
                (u64::from(definition_bytes) + u64::from(repetition_bytes), is_packed)
            }
            _ => (0, true),
        };
        let plain_bytes = u64::from(head.plain_bytes);
        if levels > plain_bytes.min(packed.len() as u64) {
            return Err("the levels are longer than their page".to_owned());
        }
        if self.unpacker.is_plain() || !is_packed {
            return Ok(packed);
        }
        let (levels, packed) = packed.split_at(levels as usize);
        let (mut bytes, size) = (levels.to_vec(), plain_bytes as usize - levels.len());
        // A page whose values are all null may have no packed bytes at all.
        if size > 0 {
            self.unpacker.unpack(packed, size, &mut bytes)?;
        }
        Ok(bytes)
    }

    fn check_dictionary(&self, head: &Head, len: u64) -> Result<(), String> {
        if self.has_dictionary || self.physical == Type::BOOLEAN {
            return Err("the column cannot have this dictionary".to_owned());
        }
        if u64::from(head.values) * self.width > len {
            return Err(format!("a dictionary of {len} bytes claims to have {} values", head.values));
        }
        Ok(())
    }

    /// Where the values of a page begin.
    fn values_at(&self, head: &Head, bytes: &[u8]) -> Result<usize, String> {
        let (definitions, repetitions) = match head.kind {
            PageKind::Data2 { definition_bytes, repetition_bytes, nulls, .. } => {
                if nulls > head.values {
                    return Err("the page has more nulls than values".to_owned());
                }
                return Ok(definition_bytes as usize + repetition_bytes as usize);
            }
            PageKind::Data { definitions, repetitions } => (definitions, repetitions),
            PageKind::Dictionary | PageKind::Index => return Ok(0),
        };
        let mut at = 0;
        for (max, encoding) in [(self.repetition_max, repetitions), (self.definition_max, definitions)] {
            if max == 0 {
                continue;
            }
            #[expect(deprecated, reason = "levels of old files are written so")]
            let len = match encoding {
                Encoding::RLE => {
                    let len = bytes
                        .get(at..)
                        .and_then(|bytes| bytes.first_chunk())
                        .ok_or("the levels are truncated")?;
                    4 + u64::from(u32::from_le_bytes(*len))
                }
                Encoding::BIT_PACKED => {
                    (u64::from(head.values) * u64::from(i16::BITS - max.leading_zeros())).div_ceil(8)
                }
                _ => return Err("the levels have an unsupported encoding".to_owned()),
            };
            at = usize::try_from(len)
                .ok()
                .and_then(|len| at.checked_add(len))
                .ok_or("the levels are too long")?;
            if at > bytes.len() {
                return Err("the levels are longer than their page".to_owned());
            }
        }
        Ok(at)
    }

    /// Checks what a decoder takes memory for.
    fn check_values(&self, head: &Head, values: &[u8]) -> Result<(), String> {
        let (count, len) = (u64::from(head.values), values.len() as u64);
        match head.encoding {
            Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY if !self.has_dictionary => {
                Err("the dictionary of its values is missing".to_owned())
            }
            Encoding::DELTA_LENGTH_BYTE_ARRAY => delta::check_lengths(values, count),
            Encoding::DELTA_BYTE_ARRAY => delta::check_prefixes(values, count),
            Encoding::BYTE_STREAM_SPLIT if self.physical == Type::FIXED_LEN_BYTE_ARRAY => {
                // Of a column that is not repeated, no more are read at once.
                let at_once = if self.repetition_max > 0 { count } else { count.min(1024) };
                let most = SPREAD_FLOOR + SPREAD_PER_BYTE * len;
                if self.width.saturating_mul(at_once) > most {
                    return Err(format!(
                        "{count} values of {} bytes do not fit into {len} bytes",
                        self.width
                    ));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Where a chunk begins and ends: after the mark of the file, and before the footer.
pub fn range(chunk: &ColumnChunkMetaData, data_end: u64) -> Result<(u64, u64), String> {
    if chunk.file_path().is_some_and(|path| !path.is_empty()) {
        return Err("its data is in another file, which is not supported".to_owned());
    }
    let first = chunk.data_page_offset();
    // Some writers have a zero where there is no dictionary.
    let dictionary = chunk.dictionary_page_offset().filter(|&at| at > 0 && at < first);
    let start = u64::try_from(dictionary.unwrap_or(first)).ok();
    let end =
        start.zip(u64::try_from(chunk.compressed_size()).ok()).and_then(|(at, len)| at.checked_add(len));
    match (start, end) {
        (Some(start @ 4..), Some(end)) if end <= data_end => Ok((start, end)),
        _ => Err(format!(
            "its {} bytes at offset {} are not within the file",
            chunk.compressed_size(),
            dictionary.unwrap_or(first)
        )),
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.source.let_go(self.page_held + self.dictionary_held);
    }
}

impl Iterator for Pages {
    type Item = PageResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> PageResult<Option<Page>> {
        let Some((head, from)) = self.head().map_err(ParquetError::General)? else { return Ok(None) };
        self.next = None;
        let page = self.page(head, from);
        page.map(Some).map_err(|what| ParquetError::General(format!("the page at offset {from}: {what}")))
    }

    fn peek_next_page(&mut self) -> PageResult<Option<PageMetadata>> {
        let head = self.head().map_err(ParquetError::General)?;
        Ok(head.map(|(head, _)| PageMetadata {
            num_rows: match head.kind {
                PageKind::Data2 { rows, .. } => Some(rows as usize),
                _ => None,
            },
            num_levels: Some(head.values as usize),
            is_dict: head.kind == PageKind::Dictionary,
        }))
    }

    fn skip_next_page(&mut self) -> PageResult<()> {
        self.head().map_err(ParquetError::General)?;
        self.next = None;
        Ok(())
    }
}
