//! The footer: what columns and row groups there are, and where.
//!
//! ```text
//!  "PAR1" | chunks of columns, group after group | footer | length of the footer: u32 | "PAR1"
//! ```
//!
//! The crate takes memory for the children that an element of the schema says it has, and follows groups in groups without an end, so that
//! the footer is looked through first.

use crate::parquet::guard::guarded;
use crate::parquet::source::Source;
use crate::parquet::thrift::{Fault, Thrift, kind};
use ::parquet::file::metadata::{
    ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader, ParquetStatisticsPolicy,
};

/// Length and mark at the end.
const TAIL_BYTES: u64 = 8;
const MARK: &[u8] = b"PAR1";
/// Groups in groups.
const NESTED_MAX: usize = 64;
/// The least bytes of a struct in a list, and of a group of rows with one column.
const STRUCT_BYTES: usize = 3;
const ROW_GROUP_BYTES: usize = 20;

/// The footer of a file, and the offset at which it begins.
///
/// # Errors
/// The file is none, is encrypted, or its footer is damaged: with the offset.
pub fn read(source: &Source) -> Result<(ParquetMetaData, u64), String> {
    let len = source.len();
    if len < MARK.len() as u64 + TAIL_BYTES {
        return Err(format!("not a Parquet file: it has {len} bytes"));
    }
    let (head, tail) = (source.read(0, MARK.len())?, source.read(len - TAIL_BYTES, TAIL_BYTES as usize)?);
    let (size, mark) = tail.split_first_chunk::<4>().ok_or("not a Parquet file: it is too short")?;
    match (head.as_slice(), mark) {
        (b"PARE", _) | (_, b"PARE") => return Err("encrypted files are not supported".to_owned()),
        (MARK, MARK) => {}
        (MARK, _) => {
            return Err(format!(
                "offset {}: the Parquet file does not end with PAR1; it may be truncated",
                len - 4
            ));
        }
        _ => return Err("not a Parquet file: it does not begin with PAR1".to_owned()),
    }
    let size = u64::from(u32::from_le_bytes(*size));
    let room = len - TAIL_BYTES - MARK.len() as u64;
    if size > room {
        let at = len - TAIL_BYTES;
        return Err(format!(
            "offset {at}: a footer of {size} bytes does not fit into the {room} bytes before it"
        ));
    }
    let start = len - TAIL_BYTES - size;
    let bytes = source.read(start, size as usize)?;
    let odd = |reason: String| format!("offset {start}: the footer is damaged: {reason}");
    look_through(&bytes).map_err(|fault| {
        odd(match fault {
            Fault::Odd(what) => what.to_owned(),
            Fault::Short => "it is truncated".to_owned(),
        })
    })?;
    let options = ParquetMetaDataOptions::new()
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
    let read = || ParquetMetaDataReader::decode_metadata_with_options(&bytes, Some(&options));
    Ok((guarded(read).map_err(odd)?, start))
}

/// Goes through the footer's structs, and checks what the crate takes memory for.
fn look_through(bytes: &[u8]) -> Result<(), Fault> {
    let mut thrift = Thrift::new(bytes);
    let mut last = 0;
    while let Some((field, of)) = thrift.field(&mut last)? {
        match (field, of) {
            (2, kind::LIST) => schema(&mut thrift)?,
            (_, kind::LIST) => {
                let (of, count) = thrift.list()?;
                if field == 4 && count > bytes.len() / ROW_GROUP_BYTES {
                    return Err(Fault::Odd("it has more row groups than its bytes can hold"));
                }
                for _ in 0..count {
                    let before = thrift.at();
                    thrift.skip_element(of)?;
                    if of == kind::STRUCT && thrift.at() - before < STRUCT_BYTES {
                        return Err(Fault::Odd("a struct is empty"));
                    }
                }
            }
            _ => thrift.skip(of)?,
        }
    }
    Ok(())
}

/// The elements of the schema, each before its children: as many as they say, and not too deep.
fn schema(thrift: &mut Thrift<'_>) -> Result<(), Fault> {
    let (of, count) = thrift.list()?;
    if of != kind::STRUCT {
        return Err(Fault::Odd("the schema is not a list of structs"));
    }
    // Children of the groups around that are still to come.
    let mut open: Vec<usize> = Vec::new();
    for number in 0..count {
        let before = thrift.at();
        let children = children(thrift)?;
        if thrift.at() - before < STRUCT_BYTES {
            return Err(Fault::Odd("an element of the schema is empty"));
        }
        if children > count - number - 1 {
            return Err(Fault::Odd("an element of the schema has more children than there are"));
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        if children > 0 {
            open.push(children);
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        if open.len() > NESTED_MAX {
            return Err(Fault::Odd("the schema is nested too deeply"));
        }
    }
    if open.is_empty() { Ok(()) } else { Err(Fault::Odd("elements of the schema are missing")) }
}

/// How many children an element has.
fn children(thrift: &mut Thrift<'_>) -> Result<usize, Fault> {
    let (mut last, mut children) = (0, 0);
    while let Some((field, of)) = thrift.field(&mut last)? {
        if (field, of) == (5, kind::I32) {
            children = usize::try_from(thrift.int32()?)
                .map_err(|_| Fault::Odd("an element of the schema has a negative number of children"))?;
        } else {
            thrift.skip(of)?;
        }
    }
    Ok(children)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer with a schema of elements that have these numbers of children.
    fn footer(children: &[u8]) -> Vec<u8> {
        let element = |n: &u8| [0x48, 1, b'n', 0x15, n << 1, 0];
        let head = [0x29, 0xFC, children.len() as u8 & 0x7F | 0x80, (children.len() >> 7) as u8];
        [&head[..], &children.iter().flat_map(element).collect::<Vec<_>>(), &[0]].concat()
    }

    #[test]
    fn schemas_are_whole_and_not_too_deep() {
        let chain = |len: usize| [&vec![1; len][..], &[0]].concat();
        for good in [&[0][..], &[2, 0, 0], &[2, 1, 0, 1, 0], &chain(NESTED_MAX)] {
            assert_eq!(look_through(&footer(good)), Ok(()), "{good:?}");
        }
        for bad in [&[1][..], &[63, 0], &[2, 0], &chain(NESTED_MAX + 1), &[2, 1, 0]] {
            assert!(matches!(look_through(&footer(bad)), Err(Fault::Odd(_))), "{bad:?}");
        }
    }

    #[test]
    fn lists_need_bytes() {
        let empty_groups = [&[0x49, 0xFC, 0x80, 0x01][..], &[0; 129]].concat();
        assert!(matches!(look_through(&empty_groups), Err(Fault::Odd(_))));
        let empty_texts = [&[0x59, 0x2C][..], &[0; 3]].concat();
        assert_eq!(look_through(&empty_texts), Err(Fault::Odd("a struct is empty")));
        assert_eq!(look_through(&[0x59, 0xFC, 0xFF, 0xFF, 0x7F]), Err(Fault::Short));
        assert_eq!(look_through(&[0x15, 2, 0]), Ok(()));
    }
}
