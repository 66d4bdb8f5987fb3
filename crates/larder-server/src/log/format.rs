//! The forms of a line: Valkey's own, logfmt and JSON, each with the time in one of three ways.

use crate::sys::{self, LocalTime};
use larder_engine::LogLevel;
use larder_engine::config::{LogFormat, LogTimestampFormat};
use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The time now.
pub fn time_now(format: LogTimestampFormat) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    time_text(format, since, &sys::local_time(since.as_secs() as i64))
}

fn time_text(format: LogTimestampFormat, since: Duration, t: &LocalTime) -> String {
    let ms = since.subsec_millis();
    let LocalTime { year, month, day, hour, minute, second, offset_s } = *t;
    match format {
        LogTimestampFormat::Legacy => {
            let month = MONTHS[month];
            format!("{day:02} {month} {year} {hour:02}:{minute:02}:{second:02}.{ms:03}")
        }
        LogTimestampFormat::Iso8601 => {
            let (month, sign, offset) =
                (month + 1, if offset_s < 0 { '-' } else { '+' }, offset_s.abs() / 60);
            format!(
                "{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}{sign}{:02}:{:02}",
                offset / 60,
                offset % 60
            )
        }
        LogTimestampFormat::Milliseconds => since.as_millis().to_string(),
    }
}

/// Who writes a line, as the letter in it says.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub enum Role {
    /// A server that is not set up yet.
    Starting = b'C',
    /// A primary.
    Primary = b'M',
    /// A replica.
    Replica = b'S',
}

/// What the formats say beside the message.
pub struct Line<'a> {
    /// The process.
    pub pid: u32,
    /// The letter of the [`Role`].
    pub role: char,
    /// The time, already written.
    pub stamp: &'a str,
    /// How important it is.
    pub level: LogLevel,
    /// What there is to say.
    pub text: &'a str,
}

impl Line<'_> {
    /// The line with its end.
    pub fn write(&self, form: LogFormat) -> String {
        let Line { pid, role, stamp, level, text } = self;
        let who = if *role == Role::Replica as u8 as char { "replica" } else { "primary" };
        match form {
            LogFormat::Legacy => format!("{pid}:{role} {stamp} {} {text}\n", mark(*level)),
            LogFormat::Logfmt => {
                let text = text.replace('"', "'").replace(['\n', '\r'], " ");
                format!(
                    "pid={pid} role={who} timestamp=\"{stamp}\" level={} message=\"{text}\"\n",
                    name(*level)
                )
            }
            LogFormat::Json => format!(
                "{{\"pid\":{pid},\"role\":\"{who}\",\"timestamp\":\"{stamp}\",\"level\":\"{}\",\"message\":\"{}\"}}\n",
                name(*level),
                escape(text)
            ),
        }
    }
}

fn mark(level: LogLevel) -> char {
    match level {
        LogLevel::Debug => '.',
        LogLevel::Verbose => '-',
        LogLevel::Notice => '*',
        LogLevel::Warning => '#',
    }
}

fn name(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Debug => "debug",
        LogLevel::Verbose => "info",
        LogLevel::Notice => "notice",
        LogLevel::Warning => "warning",
    }
}

/// Text inside of a JSON string (RFC 8259, section 7).
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            '\u{8}' => escaped.push_str("\\b"),
            '\u{c}' => escaped.push_str("\\f"),
            c if c < ' ' => {
                let _ = write!(escaped, "\\u{:04x}", c as u32);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let t = LocalTime { year: 2026, month: 10, day: 2, hour: 8, minute: 1, second: 9, offset_s: -12_600 };
        let since = Duration::from_millis(1_795_371_145_007);
        assert_eq!(time_text(LogTimestampFormat::Legacy, since, &t), "02 Nov 2026 08:01:09.007");
        assert_eq!(time_text(LogTimestampFormat::Iso8601, since, &t), "2026-11-02T08:01:09.007-03:30");
        assert_eq!(time_text(LogTimestampFormat::Milliseconds, since, &t), "1795371145007");
    }

    #[test]
    fn what_would_break_a_line_is_escaped() {
        let text = "a \"b\" \\ c\nd\te\u{1}é";
        let line = Line { pid: 7, role: 'M', stamp: "now", level: LogLevel::Verbose, text };
        assert_eq!(line.write(LogFormat::Legacy), format!("7:M now - {text}\n"));
        assert_eq!(
            line.write(LogFormat::Logfmt),
            "pid=7 role=primary timestamp=\"now\" level=info message=\"a 'b' \\ c d\te\u{1}é\"\n"
        );
        assert_eq!(
            line.write(LogFormat::Json),
            "{\"pid\":7,\"role\":\"primary\",\"timestamp\":\"now\",\"level\":\"info\",\
             \"message\":\"a \\\"b\\\" \\\\ c\\nd\\te\\u0001é\"}\n"
        );
        let line = Line { role: Role::Replica as u8 as char, ..line };
        assert!(line.write(LogFormat::Legacy).starts_with("7:S "));
        for form in [LogFormat::Logfmt, LogFormat::Json] {
            assert!(line.write(form).contains("replica"));
        }
    }
}
