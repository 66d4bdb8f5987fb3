//! What values are by the schema, and their texts.

use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use ::parquet::schema::types::Type;
use chrono::{DateTime, Datelike, NaiveDateTime, Timelike};
use num_bigint::BigInt;
use std::io::Write;

/// Digits after the point of a decimal, and bytes of one, at most.
const SCALE_MAX: i32 = 1000;
const DECIMAL_BYTES_MAX: usize = 512;
/// The day of 1970-01-01 in the count that INT96 has.
const JULIAN_EPOCH: i64 = 2_440_588;
const DAY_SECONDS: i64 = 86_400;

/// A value as it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A boolean.
    Bool(bool),
    /// A string of bytes.
    Bytes(&'a [u8]),
    /// A float of 64 bits.
    Double(f64),
    /// A float of 32 bits.
    Float(f32),
    /// An integer of 32 or 64 bits.
    Int(i64),
    /// Nanoseconds of a day, and the day.
    Int96([u32; 3]),
}

/// What a value is meant to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Days since 1970.
    Date,
    /// An integer, or a big one in bytes, with so many digits after the point.
    Decimal(usize),
    /// A float of 16 bits.
    Half,
    /// Months, days and milliseconds.
    Interval,
    /// What it is stored as.
    Plain,
    /// Nanoseconds or more of a day: how many parts a second has.
    Time(i64),
    /// The same since 1970, and whether it is in UTC or in a time zone that nobody names.
    Timestamp(i64, bool),
    /// An integer without a sign, in 32 bits.
    Unsigned32,
    /// An integer without a sign, in 64 bits.
    Unsigned64,
    /// Sixteen bytes.
    Uuid,
}

/// What a column is meant to be; the error says why it is not read.
pub fn kind_of(column: &Type) -> Result<Kind, String> {
    let (info, physical) = (column.get_basic_info(), column.get_physical_type());
    let decimal = |scale: i32| match usize::try_from(scale) {
        Ok(digits) if scale <= SCALE_MAX => Ok(Kind::Decimal(digits)),
        _ => Err(format!("a decimal with {scale} digits after the point is not supported")),
    };
    let unsigned = if physical == Physical::INT32 { Kind::Unsigned32 } else { Kind::Unsigned64 };
    Ok(match info.logical_type_ref() {
        Some(LogicalType::Date) => Kind::Date,
        Some(LogicalType::Decimal(of)) => decimal(of.scale)?,
        Some(LogicalType::Float16) => Kind::Half,
        Some(LogicalType::Integer(of)) if !of.is_signed => unsigned,
        Some(LogicalType::Time(of)) => Kind::Time(parts(of.unit)),
        Some(LogicalType::Timestamp(of)) => Kind::Timestamp(parts(of.unit), of.is_adjusted_to_u_t_c),
        Some(LogicalType::Uuid) => Kind::Uuid,
        Some(_) => Kind::Plain,
        None => match info.converted_type() {
            ConvertedType::DATE => Kind::Date,
            ConvertedType::DECIMAL => decimal(column.get_scale())?,
            ConvertedType::INTERVAL => Kind::Interval,
            ConvertedType::TIME_MILLIS => Kind::Time(1000),
            ConvertedType::TIME_MICROS => Kind::Time(1_000_000),
            ConvertedType::TIMESTAMP_MILLIS => Kind::Timestamp(1000, true),
            ConvertedType::TIMESTAMP_MICROS => Kind::Timestamp(1_000_000, true),
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32
                if physical == Physical::INT32 =>
            {
                Kind::Unsigned32
            }
            ConvertedType::UINT_64 => Kind::Unsigned64,
            _ => Kind::Plain,
        },
    })
}

fn parts(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::MILLIS => 1000,
        TimeUnit::MICROS => 1_000_000,
        TimeUnit::NANOS => 1_000_000_000,
    }
}

/// What of JSON a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Json {
    /// A number or a boolean: as its text.
    Bare,
    /// A string.
    Quoted,
}

impl Kind {
    /// Appends the text of a value, and returns how it stands in JSON.
    ///
    /// # Errors
    /// It has none, for this reason.
    pub fn write(self, value: Value<'_>, to: &mut Vec<u8>) -> Result<Json, String> {
        match (self, value) {
            (_, Value::Bool(is)) => to.extend_from_slice(if is { b"true" } else { b"false" }),
            (_, Value::Float(number)) => return Ok(float(f64::from(number), &short(number), to)),
            (_, Value::Double(number)) => return Ok(float(number, &shortest(number), to)),
            (Kind::Half, Value::Bytes(bytes)) => {
                let bytes =
                    bytes.try_into().map_err(|_| "a half-precision float that is not two bytes long")?;
                let number = half::f16::from_le_bytes(bytes).to_f32();
                return Ok(float(f64::from(number), &short(number), to));
            }
            (Kind::Decimal(digits), Value::Int(number)) => {
                decimal(number < 0, &number.unsigned_abs().to_string(), digits, to);
            }
            (Kind::Decimal(digits), Value::Bytes(bytes)) => big_decimal(bytes, digits, to)?,
            (Kind::Date | Kind::Timestamp(..), Value::Int(_)) | (_, Value::Int96(_)) => {
                let time = self.time(value).ok_or("a time outside the calendar")?.naive_utc();
                self.write_time(time, to);
                return Ok(Json::Quoted);
            }
            (Kind::Time(parts), Value::Int(number)) => {
                time_of_day(number, parts, to)?;
                return Ok(Json::Quoted);
            }
            (Kind::Unsigned32, Value::Int(number)) => integer(number as u32, to),
            (Kind::Unsigned64, Value::Int(number)) => integer(number.cast_unsigned(), to),
            (_, Value::Int(number)) => integer(number, to),
            (Kind::Interval, Value::Bytes(bytes)) => {
                interval(bytes, to)?;
                return Ok(Json::Quoted);
            }
            (Kind::Uuid, Value::Bytes(bytes)) => {
                uuid(bytes, to)?;
                return Ok(Json::Quoted);
            }
            (_, Value::Bytes(bytes)) => {
                to.extend_from_slice(bytes);
                return Ok(Json::Quoted);
            }
        }
        Ok(Json::Bare)
    }

    /// The microseconds since 1970 of a date or a timestamp.
    pub fn micros(self, value: Value<'_>) -> Option<i64> {
        self.time(value).map(|time| time.timestamp_micros())
    }

    fn time(self, value: Value<'_>) -> Option<DateTime<chrono::Utc>> {
        let (seconds, nanos) = match (self, value) {
            (Kind::Date, Value::Int(days)) => (days.checked_mul(DAY_SECONDS)?, 0),
            (Kind::Timestamp(parts, _), Value::Int(time)) => {
                (time.div_euclid(parts), time.rem_euclid(parts) * (1_000_000_000 / parts))
            }
            (_, Value::Int96([low, high, day])) => {
                let nanos = (u64::from(high) << 32 | u64::from(low)).cast_signed();
                let seconds = (i64::from(day) - JULIAN_EPOCH) * DAY_SECONDS + nanos.div_euclid(1_000_000_000);
                (seconds, nanos.rem_euclid(1_000_000_000))
            }
            _ => return None,
        };
        DateTime::from_timestamp(seconds, u32::try_from(nanos).ok()?)
    }

    fn write_time(self, time: NaiveDateTime, to: &mut Vec<u8>) {
        let year = time.year();
        let year = if (0..10_000).contains(&year) { format!("{year:04}") } else { format!("{year:+05}") };
        let _ = write!(to, "{year}-{:02}-{:02}", time.month(), time.day());
        if self != Kind::Date {
            to.push(b'T');
            clock(i64::from(time.num_seconds_from_midnight()), time.nanosecond(), to);
            if !matches!(self, Kind::Timestamp(_, false)) {
                to.push(b'Z');
            }
        }
    }
}

fn integer(number: impl itoa::Integer, to: &mut Vec<u8>) {
    to.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// The shortest digits that are read as this number, without a fraction of zero.
fn shortest(number: f64) -> String {
    trimmed(zmij::Buffer::new().format(number))
}

fn short(number: f32) -> String {
    trimmed(zmij::Buffer::new().format(number))
}

fn trimmed(text: &str) -> String {
    text.strip_suffix(".0").unwrap_or(text).to_owned()
}

/// JSON has no infinity, and nothing that is no number.
fn float(number: f64, text: &str, to: &mut Vec<u8>) -> Json {
    let text = match (number.is_finite(), number.is_nan(), number > 0.0) {
        (true, ..) => text,
        (_, true, _) => "nan",
        (_, _, true) => "inf",
        _ => "-inf",
    };
    to.extend_from_slice(text.as_bytes());
    if number.is_finite() { Json::Bare } else { Json::Quoted }
}

fn decimal(is_negative: bool, digits: &str, after: usize, to: &mut Vec<u8>) {
    if is_negative {
        to.push(b'-');
    }
    let digits = format!("{digits:0>width$}", width = after + 1);
    let (whole, fraction) = digits.split_at(digits.len() - after);
    to.extend_from_slice(whole.as_bytes());
    if after > 0 {
        to.push(b'.');
        to.extend_from_slice(fraction.as_bytes());
    }
}

fn big_decimal(bytes: &[u8], after: usize, to: &mut Vec<u8>) -> Result<(), String> {
    if bytes.is_empty() || bytes.len() > DECIMAL_BYTES_MAX {
        return Err(format!("a decimal of {} bytes", bytes.len()));
    }
    let number = BigInt::from_signed_bytes_be(bytes);
    decimal(number.sign() == num_bigint::Sign::Minus, &number.magnitude().to_string(), after, to);
    Ok(())
}

/// `hh:mm:ss`, and the fraction in as many threes of digits as it needs.
fn clock(seconds: i64, nanos: u32, to: &mut Vec<u8>) {
    let _ = write!(to, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let _ = match nanos {
        0 => Ok(()),
        _ if nanos.is_multiple_of(1_000_000) => write!(to, ".{:03}", nanos / 1_000_000),
        _ if nanos.is_multiple_of(1000) => write!(to, ".{:06}", nanos / 1000),
        _ => write!(to, ".{nanos:09}"),
    };
}

fn time_of_day(number: i64, parts: i64, to: &mut Vec<u8>) -> Result<(), String> {
    let seconds = number.div_euclid(parts);
    if !(0..DAY_SECONDS).contains(&seconds) {
        return Err("an invalid time of day".to_owned());
    }
    clock(seconds, (number.rem_euclid(parts) * (1_000_000_000 / parts)) as u32, to);
    Ok(())
}

/// A duration as ISO 8601 has it.
fn interval(bytes: &[u8], to: &mut Vec<u8>) -> Result<(), String> {
    let (words, rest) = bytes.as_chunks::<4>();
    let ([months, days, millis], []) = (words, rest) else {
        return Err("an interval that is not twelve bytes long".to_owned());
    };
    let [months, days, millis] = [months, days, millis].map(|word| u32::from_le_bytes(*word));
    let _ = write!(to, "P{months}M{days}DT{}", millis / 1000);
    let _ = if millis.is_multiple_of(1000) { Ok(()) } else { write!(to, ".{:03}", millis % 1000) };
    to.push(b'S');
    Ok(())
}

fn uuid(bytes: &[u8], to: &mut Vec<u8>) -> Result<(), String> {
    if bytes.len() != 16 {
        return Err(format!("a UUID of {} bytes", bytes.len()));
    }
    for (at, byte) in bytes.iter().enumerate() {
        let _ = write!(to, "{}{byte:02x}", if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(kind: Kind, value: Value<'_>) -> String {
        let mut to = Vec::new();
        kind.write(value, &mut to)
            .map_or_else(|error| format!("! {error}"), |_| String::from_utf8(to).unwrap())
    }

    #[test]
    fn numbers() {
        let plain = |value| text(Kind::Plain, value);
        for (number, shown) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (3.0, "3"),
            (1.5, "1.5"),
            (0.1, "0.1"),
            (1e300, "1e+300"),
            (5e-324, "5e-324"),
            (f64::NAN, "nan"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(plain(Value::Double(number)), shown);
        }
        assert_eq!(plain(Value::Float(0.1)), "0.1");
        assert_eq!(text(Kind::Half, Value::Bytes(&[0, 0x3E])), "1.5");
        assert!(text(Kind::Half, Value::Bytes(&[0])).starts_with('!'));
        assert_eq!([Value::Bool(true), Value::Int(i64::MIN)].map(plain), ["true", "-9223372036854775808"]);
        assert_eq!(text(Kind::Unsigned32, Value::Int(-1)), "4294967295");
        assert_eq!(text(Kind::Unsigned64, Value::Int(-1)), "18446744073709551615");
        let decimals = [(12345, 2, "123.45"), (-5, 3, "-0.005"), (0, 2, "0.00"), (7, 0, "7")];
        for (number, digits, shown) in decimals {
            assert_eq!(text(Kind::Decimal(digits), Value::Int(number)), shown);
            assert_eq!(text(Kind::Decimal(digits), Value::Bytes(&number.to_be_bytes())), shown);
        }
        let big = [&[0xFF; 15][..], &[0x85]].concat();
        assert_eq!(text(Kind::Decimal(1), Value::Bytes(&big)), "-12.3");
        assert!(text(Kind::Decimal(1), Value::Bytes(&[1; 600])).starts_with('!'));
        assert!(text(Kind::Decimal(1), Value::Bytes(&[])).starts_with('!'));
    }

    #[test]
    fn times() {
        for (days, shown) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (20_783, "2026-11-26"),
            (11_016, "2000-02-29"),
            (2_932_897, "+10000-01-01"),
            (-719_529, "-0001-12-31"),
            (i64::from(i32::MAX), "! a time outside the calendar"),
        ] {
            assert_eq!(text(Kind::Date, Value::Int(days)), shown);
        }
        for (parts, is_utc, time, shown) in [
            (1000, true, 1_500, "1970-01-01T00:00:01.500Z"),
            (1000, true, -1, "1969-12-31T23:59:59.999Z"),
            (1_000_000, true, 1_795_681_800_000_000, "2026-11-26T08:30:00Z"),
            (1_000_000, false, 1_795_681_800_000_001, "2026-11-26T08:30:00.000001"),
            (1_000_000_000, true, 1, "1970-01-01T00:00:00.000000001Z"),
            (1000, true, i64::MAX, "! a time outside the calendar"),
        ] {
            assert_eq!(text(Kind::Timestamp(parts, is_utc), Value::Int(time)), shown);
        }
        let old = Value::Int96([1_000_000_000, 0, 2_440_589]);
        assert_eq!(text(Kind::Plain, old), "1970-01-02T00:00:01Z");
        assert_eq!(Kind::Plain.micros(old), Some(86_401_000_000));
        assert_eq!(Kind::Date.micros(Value::Int(-1)), Some(-86_400_000_000));
        assert_eq!(Kind::Plain.micros(Value::Int(1)), None);
        assert_eq!(text(Kind::Time(1000), Value::Int(86_399_999)), "23:59:59.999");
        assert!(text(Kind::Time(1000), Value::Int(86_400_000)).starts_with('!'));
        assert!(text(Kind::Time(1000), Value::Int(-1)).starts_with('!'));
        assert_eq!(
            text(Kind::Interval, Value::Bytes(&[1, 0, 0, 0, 2, 0, 0, 0, 220, 5, 0, 0])),
            "P1M2DT1.500S"
        );
        assert!(text(Kind::Interval, Value::Bytes(&[0; 11])).starts_with('!'));
        let uuid: Vec<u8> = (0..16).collect();
        assert_eq!(text(Kind::Uuid, Value::Bytes(&uuid)), "00010203-0405-0607-0809-0a0b0c0d0e0f");
    }
}
