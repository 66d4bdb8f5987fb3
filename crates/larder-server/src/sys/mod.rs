//! The system calls of the server. Each function is safe to call. Most go through rustix; what that does not offer is in
//! `libc_calls`, `syslog` and `title`, the modules here with unsafe code.

pub mod affinity;
#[allow(unsafe_code, reason = "calls that rustix does not offer")]
mod libc_calls;
#[allow(unsafe_code, reason = "the interface of the system's log")]
pub mod syslog;
#[allow(unsafe_code, reason = "the memory of the process's arguments")]
pub mod title;

pub use libc_calls::{LocalTime, cpu_seconds, glob, local_time, read_to_spare, take_short_turns};
use rustix::fs::{Gid, Mode, OFlags};
use rustix::process::{Resource, Rlimit, Signal};
use rustix::{param, process, stdio, system, thread};
use std::io;
use std::path::Path;

/// The name of the machine, as `uname` tells it.
pub fn host_name() -> String {
    system::uname().nodename().to_string_lossy().into_owned()
}

/// Name, release and machine of the operating system, as `uname` tells them.
pub fn system_name() -> String {
    let name = system::uname();
    let [system, release, machine] =
        [name.sysname(), name.release(), name.machine()].map(|part| part.to_string_lossy());
    format!("{system} {release} {machine}")
}

/// Turns transparent huge pages off for this process.
pub fn disable_huge_pages() {
    // Without it memory takes longer to be given back.
    let _ = thread::disable_transparent_huge_pages(true);
}

/// Whether the limit of open files is at least `wanted` now, raised if need be and possible; otherwise what it is.
pub fn raise_open_files(wanted: u64) -> Result<(), u64> {
    let limit = process::getrlimit(Resource::Nofile);
    // None is without a limit.
    let Some(old) = limit.current.filter(|&soft| soft < wanted) else { return Ok(()) };
    let maximum = limit.maximum.unwrap_or(u64::MAX);
    // More than the hard limit takes privileges; without them the hard limit is the best there is.
    for (soft, hard) in [(wanted, maximum.max(wanted)), (wanted.min(maximum), maximum)] {
        let hard = (hard != u64::MAX).then_some(hard);
        if process::setrlimit(Resource::Nofile, Rlimit { current: Some(soft), maximum: hard }).is_ok() {
            return if soft >= wanted { Ok(()) } else { Err(soft) };
        }
    }
    Err(old)
}

/// Bytes of a page.
pub fn page_bytes() -> u64 {
    param::page_size() as u64
}

/// Bytes of memory in the machine.
pub fn system_memory_bytes() -> u64 {
    let info = system::sysinfo();
    let bytes = info.totalram * u64::from(info.mem_unit);
    bytes - bytes % page_bytes()
}

/// Splits off into the background: the caller returns in a child that has no terminal, and its parent is gone. Must
/// be called while there is one thread only.
pub fn daemonize() -> io::Result<()> {
    libc_calls::go_on_in_child()?;
    // The child leads no group of processes, so that this cannot fail. Without /dev/null it keeps what it has open.
    let _ = process::setsid();
    if let Ok(null) = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty()) {
        for redirect in [stdio::dup2_stdin, stdio::dup2_stdout, stdio::dup2_stderr] {
            let _ = redirect(&null);
        }
    }
    Ok(())
}

/// Changes a file's permissions.
pub fn set_permissions(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// Stops the process until somebody lets it go on.
pub fn stop_self() {
    // A process may always stop itself.
    let _ = process::kill_process(process::getpid(), Signal::STOP);
}

/// Gives a file to a group, by the group's name. To be called while no other thread asks for groups.
pub fn set_group(path: &Path, group: &str) -> io::Result<()> {
    let number = libc_calls::group_number(group)?;
    Ok(rustix::fs::chown(path, None, Some(Gid::from_raw(number)))?)
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
