//! Numbers as options write them: plain, with a memory unit, as a percentage, in octal.

use super::error::OptionError;

/// How an integer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Plain,
    Memory,
    /// -1 is no limit.
    MemoryOrNone,
    /// A percentage is stored as a negative number.
    MemoryOrPercent,
    Octal,
}

/// Inclusive bounds.
pub(super) type Bounds = (i128, i128);

/// Reads `text` in `unit` and checks it against `bounds`.
pub(super) fn parse(text: &str, unit: Unit, bounds: Bounds) -> Result<i128, OptionError> {
    let value = parse_unit(text, unit)?;
    check(value, unit, bounds).map(|()| value)
}

/// The text that CONFIG GET shows.
pub(super) fn show(value: i128, unit: Unit) -> String {
    match unit {
        Unit::Octal => format!("{value:o}"),
        Unit::MemoryOrPercent if value < 0 => format!("{}%", -value),
        _ => value.to_string(),
    }
}

/// The text that CONFIG REWRITE writes: memory in the largest unit that divides it.
pub(super) fn show_in_file(value: i128, unit: Unit) -> String {
    match unit {
        Unit::Memory | Unit::MemoryOrNone | Unit::MemoryOrPercent if value > 0 => {
            memory_with_unit(value as u64)
        }
        _ => show(value, unit),
    }
}

/// `bytes` as `2gb`, `64mb`, `4kb`, or plain when no unit divides it.
pub(super) fn memory_with_unit(bytes: u64) -> String {
    for (unit, size) in [("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1u64 << 10)] {
        if bytes > 0 && bytes.is_multiple_of(size) {
            return format!("{}{unit}", bytes / size);
        }
    }
    bytes.to_string()
}

/// `1gb`, `64m`, `100`: digits (none are 0) and a unit. A number of 64 bits, which wraps where Redis multiplies.
pub(crate) fn parse_memory(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits >= 128 {
        return None;
    }
    let factor = match text[digits..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    let number = if digits == 0 { 0 } else { text[..digits].parse().ok()? };
    Some(u64::wrapping_mul(number, factor))
}

/// A plain decimal number, with no blanks, no `+` and no leading zeros.
pub(super) fn parse_plain(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let strict = digits.bytes().all(|b| b.is_ascii_digit()) && (!digits.starts_with('0') || text == "0");
    if strict { text.parse().ok() } else { None }
}

/// What C's `strtoll(text, .., 10)` reads when it must reach the end; an empty text is 0.
pub(super) fn parse_lenient(text: &str) -> Option<i64> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    if text.is_empty() { Some(0) } else { text.parse().ok() }
}

fn parse_unit(text: &str, unit: Unit) -> Result<i128, OptionError> {
    let parsed = match unit {
        Unit::Plain => parse_plain(text).map(i128::from),
        Unit::MemoryOrNone if text == "-1" => Some(-1),
        Unit::Memory => parse_memory(text).map(i128::from),
        // As in Valkey a number whose highest bit is set is negative.
        Unit::MemoryOrNone => parse_memory(text).map(|bytes| i128::from(bytes as i64)),
        Unit::MemoryOrPercent => {
            parse_memory(text).map(|bytes| i128::from(bytes as i64)).or_else(|| parse_percent(text))
        }
        Unit::Octal => i64::from_str_radix(text, 8).ok().map(i128::from),
    };
    parsed.ok_or_else(|| misread(unit))
}

fn parse_percent(text: &str) -> Option<i128> {
    let percent = parse_plain(text.strip_suffix('%')?)?;
    (percent >= 0).then_some(-i128::from(percent))
}

fn misread(unit: Unit) -> OptionError {
    match unit {
        Unit::Plain => OptionError::NotInteger,
        Unit::Memory | Unit::MemoryOrNone => OptionError::NotMemory,
        Unit::MemoryOrPercent => OptionError::NotMemoryOrPercent,
        Unit::Octal => OptionError::NotOctal,
    }
}

fn check(value: i128, unit: Unit, (min, max): Bounds) -> Result<(), OptionError> {
    if (min..=max).contains(&value) {
        Ok(())
    } else if unit == Unit::MemoryOrPercent && !(0..=i128::from(i64::MAX)).contains(&value) {
        // Redis keeps both in a signed 64-bit number: too much memory looks like a percentage to it.
        Err(OptionError::PercentTooLarge(-min))
    } else if unit == Unit::Octal {
        Err(OptionError::OutOfOctalRange { min, max })
    } else {
        Err(OptionError::OutOfRange { min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        let cases = [("1gb", 1 << 30), ("2M", 2_000_000), ("3kB", 3072), ("7b", 7), ("", 0), ("kb", 0)];
        for (text, bytes) in cases {
            assert_eq!(parse_memory(text), Some(bytes), "{text}");
        }
        assert_eq!(parse_memory("-1"), None);
        assert_eq!(parse_memory("1x"), None);
        assert_eq!(memory_with_unit(600 << 20), "600mb");
        assert_eq!(memory_with_unit(0), "0");
        assert_eq!(memory_with_unit(1500), "1500");
    }

    #[test]
    fn bounds_are_named() {
        assert_eq!(parse("-1", Unit::Plain, (0, 10)), Err(OptionError::OutOfRange { min: 0, max: 10 }));
        assert_eq!(
            parse("101%", Unit::MemoryOrPercent, (-100, 1 << 40)),
            Err(OptionError::PercentTooLarge(100))
        );
        assert_eq!(parse("700", Unit::Octal, (0, 0o777)), Ok(0o700));
    }
}
