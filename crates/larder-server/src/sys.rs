//! The calls that only libc offers. Each function is safe to call.
#![allow(unsafe_code)]

pub mod affinity;
pub mod syslog;
pub mod title;

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Local time, broken down.
pub struct LocalTime {
    /// Four digits.
    pub year: i32,
    /// 0..=11.
    pub month: usize,
    /// 1..=31.
    pub day: i32,
    /// 0..=23.
    pub hour: i32,
    /// 0..=59.
    pub minute: i32,
    /// 0..=60.
    pub second: i32,
    /// Seconds east of Greenwich.
    pub offset_s: i64,
}

/// Seconds since 1970 in the local time zone.
pub fn local_time(unix_seconds: i64) -> LocalTime {
    let mut tm = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both pointers are to live locals; an all-zero `tm` is valid, so it may be read whatever the call does.
    let tm = unsafe {
        libc::localtime_r(&unix_seconds, tm.as_mut_ptr());
        tm.assume_init()
    };
    LocalTime {
        year: tm.tm_year + 1900,
        month: tm.tm_mon.clamp(0, 11) as usize,
        day: tm.tm_mday,
        hour: tm.tm_hour,
        minute: tm.tm_min,
        second: tm.tm_sec,
        offset_s: tm.tm_gmtoff,
    }
}

/// Asks the kernel for short turns of this thread. When it wakes it then gets the processor at once from a thread with
/// turns of the usual length, as those that save have them; else it may wait for the end of the other's turn, a tick
/// or two (`docs/design/persistence.md`). Kernels before 6.12 know nothing of it.
pub fn take_short_turns() {
    const SLICE_NS: u64 = 100_000;
    /// `SCHED_FLAG_KEEP_POLICY`: whatever the thread runs under, it goes on so.
    const KEEP_POLICY: u64 = 8;
    // The first version of `struct sched_attr`, see sched_setattr(2): its own size, and the policy of normal threads.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    // SAFETY: takes no pointers; 0 means the calling thread. A result of -1 may be an error, which leaves things as they are.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: KEEP_POLICY,
        nice,
        priority: 0,
        runtime: SLICE_NS,
        deadline: 0,
        period: 0,
    };
    // SAFETY: the pointer is to a live local of the size that it states; 0 means the calling thread. That a call may fail is
    // no harm.
    unsafe {
        libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0);
    }
}

/// Name, release and machine of the operating system, as `uname` tells them.
pub fn system_name() -> String {
    let mut name = MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: the pointer is to a live local; an all-zero `utsname` is valid, so it may be read whatever the call does.
    let name = unsafe {
        libc::uname(name.as_mut_ptr());
        name.assume_init()
    };
    let text = |field: &[libc::c_char]| -> String {
        field.iter().map(|&c| c as u8).take_while(|&c| c != 0).map(char::from).collect()
    };
    format!("{} {} {}", text(&name.sysname), text(&name.release), text(&name.machine))
}

/// Reads up to `max` bytes from a socket into the spare room after `buf`, which must have that much reserved.
pub fn read_behind(fd: &impl AsRawFd, buf: &mut Vec<u8>, max: usize) -> io::Result<usize> {
    let spare = buf.spare_capacity_mut();
    let max = max.min(spare.len());
    // SAFETY: the kernel writes at most `max` bytes, all inside the spare capacity.
    let n = unsafe { libc::recv(fd.as_raw_fd(), spare.as_mut_ptr().cast(), max, 0) };
    let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: `n <= max` bytes after the old length have just been written.
    unsafe { buf.set_len(buf.len() + n) };
    Ok(n)
}

/// Turns transparent huge pages off for this process.
pub fn disable_huge_pages() {
    #[cfg(target_os = "linux")]
    // SAFETY: takes no pointers.
    unsafe {
        libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0);
    }
}

/// Whether the limit of open files is at least `wanted` now, raised if need be and possible; otherwise what it is.
pub fn raise_open_files(wanted: u64) -> Result<(), u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live local.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return Err(1024);
    }
    let old = limit.rlim_cur;
    if old >= wanted {
        return Ok(());
    }
    // More than the hard limit takes privileges; without them the hard limit is the best there is.
    for (soft, hard) in [(wanted, limit.rlim_max.max(wanted)), (wanted.min(limit.rlim_max), limit.rlim_max)] {
        let new = libc::rlimit { rlim_cur: soft, rlim_max: hard };
        // SAFETY: the pointer is to a live local.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &new) } == 0 {
            return if soft >= wanted { Ok(()) } else { Err(soft) };
        }
    }
    Err(old)
}

/// Processor seconds of this process: in the kernel, in the program.
pub fn cpu_seconds() -> (f64, f64) {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a live local; an all-zero `rusage` is valid, so it may be read whatever the call does.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    (seconds(usage.ru_stime), seconds(usage.ru_utime))
}

/// Bytes of a page.
pub fn page_bytes() -> u64 {
    // SAFETY: takes no pointers.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Bytes of memory in the machine.
pub fn system_memory_bytes() -> u64 {
    // SAFETY: takes no pointers.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    u64::try_from(pages).unwrap_or(0) * page_bytes()
}

/// Splits off into the background: the caller returns in a child that has no terminal, and its parent is gone. Must
/// be called while there is one thread only.
pub fn daemonize() -> io::Result<()> {
    // SAFETY: no other thread exists yet, so the child may go on running ordinary code; the parent leaves at once.
    unsafe {
        match libc::fork() {
            -1 => return Err(io::Error::last_os_error()),
            0 => libc::setsid(),
            _ => libc::_exit(0),
        };
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        if null >= 0 {
            for fd in 0..3 {
                libc::dup2(null, fd);
            }
            if null > 2 {
                libc::close(null);
            }
        }
    }
    Ok(())
}

/// The files that a shell pattern names, sorted.
pub fn glob(pattern: &str) -> Vec<PathBuf> {
    let Ok(pattern) = CString::new(pattern) else { return Vec::new() };
    let mut found = MaybeUninit::<libc::glob_t>::zeroed();
    // SAFETY: the pattern is NUL-terminated, `found` starts zeroed as glob wants it without GLOB_DOOFFS; on success it
    // holds `gl_pathc` NUL-terminated strings, which are copied before globfree.
    unsafe {
        let ok = libc::glob(pattern.as_ptr(), 0, None, found.as_mut_ptr()) == 0;
        let mut found = found.assume_init();
        let count = if ok { found.gl_pathc } else { 0 };
        let path = |i: usize| std::ffi::CStr::from_ptr(*found.gl_pathv.add(i));
        let paths = (0..count).map(|i| PathBuf::from(path(i).to_string_lossy().into_owned())).collect();
        libc::globfree(&mut found);
        paths
    }
}

/// Has the kernel begin to write a part of a file to the disk; nothing is waited for.
pub fn begin_sync(file: &File, part: Range<u64>) -> io::Result<()> {
    sync_range(file, part, libc::SYNC_FILE_RANGE_WRITE)
}

/// Waits until a part of a file has been written to the disk. That it can be found there takes a true sync of the file.
pub fn finish_sync(file: &File, part: Range<u64>) -> io::Result<()> {
    let wait = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    sync_range(file, part, wait | libc::SYNC_FILE_RANGE_WRITE)
}

/// Has the kernel drop the pages of a part of a file that are on the disk.
pub fn forget_pages(file: &File, part: Range<u64>) {
    let len = part.end.saturating_sub(part.start);
    // SAFETY: takes no pointers, and the descriptor is open as long as `file` is borrowed. That the call may fail is no harm.
    unsafe {
        libc::posix_fadvise(
            file.as_raw_fd(),
            part.start as libc::off_t,
            len as libc::off_t,
            libc::POSIX_FADV_DONTNEED,
        );
    }
}

/// An error that this tells, a later sync of the file would not tell again. File systems that cannot do it are no error.
fn sync_range(file: &File, part: Range<u64>, flags: libc::c_uint) -> io::Result<()> {
    let len = part.end.saturating_sub(part.start);
    // SAFETY: takes no pointers, and the descriptor is open as long as `file` is borrowed.
    let done = unsafe {
        libc::sync_file_range(file.as_raw_fd(), part.start as libc::off64_t, len as libc::off64_t, flags)
    };
    let error = io::Error::last_os_error();
    let is_told =
        matches!(error.raw_os_error(), Some(libc::EIO | libc::ENOSPC | libc::EDQUOT | libc::ENOMEM));
    if done != 0 && is_told { Err(error) } else { Ok(()) }
}

/// Waits until a socket can be read from, or also written to, at most so long.
pub fn wait_for_socket(socket: &impl AsRawFd, writes: bool, patience: Duration) {
    let events = if writes { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
    let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events, revents: 0 };
    let timeout_ms = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the pointer is to one live entry. Whatever comes of it, the caller tries the socket next.
    unsafe { libc::poll(&raw mut poll, 1, timeout_ms) };
}

/// Changes a file's permissions.
pub fn set_permissions(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// Stops the process until somebody lets it go on.
pub fn stop_self() {
    // SAFETY: takes no pointers.
    unsafe {
        libc::raise(libc::SIGSTOP);
    }
}

/// Gives a file to a group, by the group's name.
pub fn set_group(path: &Path, group: &str) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let (path, name) =
        (CString::new(path.as_os_str().as_bytes()).map_err(invalid)?, CString::new(group).map_err(invalid)?);
    // SAFETY: both strings are NUL-terminated; the entry is read before anybody else can ask for another, as this is called at
    // the start only.
    let done = unsafe {
        let entry = libc::getgrnam(name.as_ptr());
        if entry.is_null() {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("no group '{group}'")));
        }
        libc::chown(path.as_ptr(), libc::uid_t::MAX, (*entry).gr_gid)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Processor seconds of a thread of this process, by the kernel's number: in the kernel, in the program.
pub fn thread_cpu_seconds(thread: i32) -> (f64, f64) {
    // The first field after the name is the third.
    const USER: usize = 14 - 3;
    const TICKS_PER_S: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split_whitespace().collect();
    let seconds = |at: usize| fields.get(at).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / TICKS_PER_S;
    (seconds(USER + 1), seconds(USER))
}
