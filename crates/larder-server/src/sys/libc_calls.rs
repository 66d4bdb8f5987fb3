//! Calls that rustix does not offer. Each function is safe to call.

use rustix::net::{RecvFlags, recv};
use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::path::PathBuf;

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

/// A time, in seconds since 1970, as it is in the local time zone.
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
    // None is the calling thread.
    let Ok(nice) = rustix::process::getpriority_process(None) else { return };
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

/// Reads up to `max` bytes from a socket into the spare room after `buf`, which must have that much reserved.
pub fn read_to_spare(socket: &impl AsFd, buf: &mut Vec<u8>, max: usize) -> io::Result<usize> {
    let spare = buf.spare_capacity_mut();
    let max = max.min(spare.len());
    let ((read, _), _) = recv(socket, &mut spare[..max], RecvFlags::empty())?;
    let n = read.len();
    // SAFETY: the `n` bytes after the old length, all inside the capacity, have just been written.
    unsafe { buf.set_len(buf.len() + n) };
    Ok(n)
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

/// Goes on in a child process; the caller's process ends. Must be called while there is one thread only.
pub fn go_on_in_child() -> io::Result<()> {
    // SAFETY: no other thread exists yet, so the child may go on running ordinary code; the parent leaves at once.
    unsafe {
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => Ok(()),
            _ => libc::_exit(0),
        }
    }
}

/// The files that a shell pattern names, sorted. That `include` takes what the C library takes (`[^a]`, `[[:digit:]]`, backslashes, a
/// bracket that is not closed) is why this calls it: crates for patterns have others.
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

/// The number of a group, by its name. To be called while no other thread asks for groups.
pub fn group_number(name: &str) -> io::Result<u32> {
    let c_name = CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the string is NUL-terminated; the entry is read before anybody else can ask for another, as this is called at the
    // start only.
    let number = unsafe { libc::getgrnam(c_name.as_ptr()).as_ref() }.map(|entry| entry.gr_gid);
    number.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no group '{name}'")))
}
