//! The log: where lines go, and which of them.

mod format;

pub use format::Role;
use format::{Line, time_now};
use larder_engine::LogLevel;
use larder_engine::config::{Choice, LogFormat, LogThreshold, LogTimestampFormat};
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

/// Where lines go, and which of them.
pub struct Log {
    /// `None` is standard output.
    file: Option<PathBuf>,
    /// The option `loglevel`, by its number.
    threshold: AtomicU8,
    /// The [`Role`], by its letter.
    role: AtomicU8,
    /// The options `log-format` and `log-timestamp-format`, by their numbers.
    format: AtomicU8,
    timestamp: AtomicU8,
    /// Whether lines go to the system's log as well.
    syslog: AtomicBool,
}

impl Log {
    /// A log into `file`, or onto standard output when that is empty.
    pub fn new(file: &str, threshold: LogThreshold) -> Log {
        let file = (!file.is_empty()).then(|| PathBuf::from(file));
        Log {
            file,
            threshold: AtomicU8::new(threshold as u8),
            role: AtomicU8::new(Role::Starting as u8),
            format: AtomicU8::new(LogFormat::Legacy as u8),
            timestamp: AtomicU8::new(LogTimestampFormat::Legacy as u8),
            syslog: AtomicBool::new(false),
        }
    }

    /// Drops what the threshold does not admit.
    pub fn set_level(&self, threshold: LogThreshold) {
        self.threshold.store(threshold as u8, Relaxed);
    }

    /// Chooses the form of lines and of times in them.
    pub fn set_form(&self, format: LogFormat, timestamp: LogTimestampFormat) {
        self.format.store(format as u8, Relaxed);
        self.timestamp.store(timestamp as u8, Relaxed);
    }

    /// Writes lines to the system's log as well, under this name and facility.
    pub fn use_syslog(&self, name: &str, facility: i64) {
        crate::sys::syslog::open(name, facility);
        self.syslog.store(true, Relaxed);
    }

    /// Whether a person looks on: lines go to a terminal and nowhere else.
    pub fn is_terminal(&self) -> bool {
        self.file.is_none() && !self.syslog.load(Relaxed) && std::io::stdout().is_terminal()
    }

    /// Who writes the lines from now on.
    pub fn set_role(&self, role: Role) {
        self.role.store(role as u8, Relaxed);
    }

    /// Whether lines of `level` are written.
    pub fn wants(&self, level: LogLevel) -> bool {
        LogThreshold::of(self.threshold.load(Relaxed).into()).admits(level)
    }

    /// Writes one line.
    pub fn write(&self, level: LogLevel, text: &str) {
        if self.wants(level) {
            self.put(&self.line(level, text));
            if self.syslog.load(Relaxed) {
                crate::sys::syslog::write(level, text);
            }
        }
    }

    fn line(&self, level: LogLevel, text: &str) -> String {
        let stamp = time_now(LogTimestampFormat::of(self.timestamp.load(Relaxed).into()));
        let role = char::from(self.role.load(Relaxed));
        Line { pid: std::process::id(), role, stamp: &stamp, level, text }
            .write(LogFormat::of(self.format.load(Relaxed).into()))
    }

    /// At level verbose.
    pub fn verbose(&self, text: &str) {
        self.write(LogLevel::Verbose, text);
    }

    /// At level notice.
    pub fn notice(&self, text: &str) {
        self.write(LogLevel::Notice, text);
    }

    /// At level warning.
    pub fn warning(&self, text: &str) {
        self.write(LogLevel::Warning, text);
    }

    /// The line of a signal, which has a form of its own.
    pub fn signal(&self, text: &str) {
        if self.wants(LogLevel::Warning) {
            let seconds = larder_engine::wall_s();
            self.put(&format!("{}:signal-handler ({seconds}) {text}\n", std::process::id()));
        }
    }

    /// Text without a prefix, such as the banner.
    pub fn raw(&self, text: &str) {
        self.put(text);
    }

    /// A line in a crash, of level warning whatever the level is.
    pub fn emergency_line(&self, text: &str) {
        self.emergency(&self.line(LogLevel::Warning, text));
    }

    /// Text in a crash: the lock of the standard output may be held by a thread that has crashed.
    pub fn emergency(&self, text: &str) {
        let _ = match &self.file {
            Some(path) => append(path, text),
            None => std::io::stdout()
                .as_fd()
                .try_clone_to_owned()
                .and_then(|out| File::from(out).write_all(text.as_bytes())),
        };
    }

    /// The file is opened for every line, so that it can be moved away at any time. There is nobody to tell when the
    /// log cannot be written.
    fn put(&self, line: &str) {
        let _ = match &self.file {
            Some(path) => append(path, line),
            None => std::io::stdout().lock().write_all(line.as_bytes()),
        };
    }
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_form() {
        let path = std::env::temp_dir().join(format!("larder-log-{}", std::process::id()));
        let log = Log::new(path.to_str().unwrap(), LogThreshold::Notice);
        log.verbose("unseen");
        log.notice("first");
        log.set_role(Role::Primary);
        log.warning("second");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0][0], format!("{}:C", std::process::id()));
        assert_eq!(lines[1][0], format!("{}:M", std::process::id()));
        assert_eq!(lines[0][5..], ["*", "first"]);
        assert_eq!(lines[1][5..], ["#", "second"]);
        assert_eq!(lines[0][4].len(), "08:00:00.123".len());
    }
}
