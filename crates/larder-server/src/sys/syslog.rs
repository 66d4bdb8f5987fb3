//! The system's log.

use larder_engine::LogLevel;
use std::ffi::CString;

/// Opens it under this name. Only the first call counts: the system keeps a pointer to the name.
pub fn open(name: &str, facility: i64) {
    let name: &'static CString = Box::leak(Box::new(CString::new(name).unwrap_or_default()));
    // SAFETY: the name lives as long as the process, which syslog wants.
    unsafe {
        libc::openlog(name.as_ptr(), libc::LOG_PID | libc::LOG_NDELAY | libc::LOG_NOWAIT, facility as i32);
    }
}

/// Writes one line.
pub fn write(level: LogLevel, text: &str) {
    let priority = match level {
        LogLevel::Debug => libc::LOG_DEBUG,
        LogLevel::Verbose => libc::LOG_INFO,
        LogLevel::Notice => libc::LOG_NOTICE,
        LogLevel::Warning => libc::LOG_WARNING,
    };
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // SAFETY: both are NUL-terminated strings, and the format takes exactly the one.
    unsafe { libc::syslog(priority, c"%s".as_ptr(), text.as_ptr()) }
}
