//! Which reply a row is to get: a row that measures errors, or misses where there should be hits, is no row.

use larder_testkit::Value;

/// What a reply must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// This status.
    Status(&'static str),
    /// Any integer.
    Integer,
    /// This integer.
    Exactly(i64),
    /// A string of this many bytes.
    Bytes(usize),
    /// A string of one byte or more.
    SomeBytes,
    /// Null.
    Null,
    /// This many items, none of which is null.
    Items(usize),
    /// This many nulls.
    Nulls(usize),
    /// A cursor and a page of half to three times this many items: servers return whole buckets, however many elements those have.
    Page(usize),
}

impl Expected {
    /// Whether a reply is this.
    pub fn is_met_by(self, reply: &Value) -> bool {
        let is_null = |value: &Value| matches!(value, Value::Null | Value::NullBulk | Value::NullArray);
        let (items, is_array) = (reply.items(), matches!(reply, Value::Array(_)));
        match self {
            Expected::Status(text) => *reply == Value::Simple(text.to_owned()),
            Expected::Integer => matches!(reply, Value::Int(_)),
            Expected::Exactly(number) => *reply == Value::Int(number),
            Expected::Bytes(length) => matches!(reply, Value::Bulk(bytes) if bytes.len() == length),
            Expected::SomeBytes => matches!(reply, Value::Bulk(bytes) if !bytes.is_empty()),
            Expected::Null => is_null(reply),
            Expected::Items(count) => is_array && items.len() == count && !items.iter().any(is_null),
            Expected::Nulls(count) => is_array && items.len() == count && items.iter().all(is_null),
            Expected::Page(count) => {
                let is_about = |found: usize| (count / 2..=count * 3).contains(&found);
                matches!(items, [cursor, page] if !cursor.bytes().is_empty() && is_about(page.items().len()))
            }
        }
    }

    /// Nulls in each reply.
    pub fn nulls(self) -> u64 {
        match self {
            Expected::Null => 1,
            Expected::Nulls(count) => count as u64,
            _ => 0,
        }
    }
}

/// Bytes of a reply as RESP2 frames it.
pub fn encoded_bytes(reply: &Value) -> usize {
    let digits = |number: i64| number.to_string().len();
    match reply {
        Value::Int(number) => 3 + digits(*number),
        Value::Bulk(bytes) => 5 + digits(bytes.len() as i64) + bytes.len(),
        Value::NullBulk | Value::NullArray => 5,
        Value::Array(items) => {
            3 + digits(items.len() as i64) + items.iter().map(encoded_bytes).sum::<usize>()
        }
        other => 3 + other.bytes().len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_never_what_is_expected() {
        let error = Value::Error("ERR no".to_owned());
        let all = [
            Expected::Status("OK"),
            Expected::Integer,
            Expected::Exactly(0),
            Expected::Bytes(6),
            Expected::SomeBytes,
            Expected::Null,
            Expected::Items(0),
            Expected::Nulls(0),
            Expected::Page(0),
        ];
        assert!(all.iter().all(|expected| !expected.is_met_by(&error)));
    }

    #[test]
    fn replies_are_told_apart() {
        let bulk = || Value::Bulk(b"abc".to_vec());
        let pair = || Value::Array(vec![bulk(), bulk()]);
        assert!(Expected::Bytes(3).is_met_by(&bulk()) && !Expected::Bytes(2).is_met_by(&bulk()));
        assert!(Expected::Items(2).is_met_by(&pair()) && !Expected::Items(3).is_met_by(&pair()));
        let half = Value::Array(vec![bulk(), Value::NullBulk]);
        assert!(!Expected::Items(2).is_met_by(&half) && !Expected::Nulls(2).is_met_by(&half));
        let page = Value::Array(vec![bulk(), pair()]);
        assert!([1, 2, 4].iter().all(|&count| Expected::Page(count).is_met_by(&page)));
        assert!([0, 6].iter().all(|&count| !Expected::Page(count).is_met_by(&page)));
        assert_eq!(
            (Expected::Null.nulls(), Expected::Nulls(4).nulls(), Expected::Integer.nulls()),
            (1, 4, 0)
        );
    }

    #[test]
    fn sizes_are_those_of_the_frames() {
        let array = Value::Array(vec![
            Value::Int(-12),
            Value::Bulk(b"0123456789".to_vec()),
            Value::NullBulk,
            Value::Simple("OK".to_owned()),
        ]);
        assert_eq!(encoded_bytes(&array), b"*4\r\n:-12\r\n$10\r\n0123456789\r\n$-1\r\n+OK\r\n".len());
    }
}
