//! On which processors a thread may run.

use std::io;
use std::mem::MaybeUninit;

/// A set of processors.
#[derive(Clone, Copy)]
pub struct Cpus(libc::cpu_set_t);

impl Cpus {
    /// The processors numbered so. None when one is beyond what the system can number.
    pub fn of(numbers: impl IntoIterator<Item = usize>) -> Option<Cpus> {
        // SAFETY: an all-zero set is the empty one.
        let mut set: libc::cpu_set_t = unsafe { MaybeUninit::zeroed().assume_init() };
        for number in numbers {
            if number >= libc::CPU_SETSIZE as usize {
                return None;
            }
            // SAFETY: the number has just been checked.
            unsafe { libc::CPU_SET(number, &mut set) };
        }
        Some(Cpus(set))
    }

    /// Those that the calling thread may run on.
    pub fn of_this_thread() -> io::Result<Cpus> {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
        // SAFETY: the pointer is to a live local of the size given; an all-zero set is valid.
        let (done, set) = unsafe {
            let done = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr());
            (done, set.assume_init())
        };
        if done == 0 { Ok(Cpus(set)) } else { Err(io::Error::last_os_error()) }
    }

    /// Binds the calling thread, and those that it starts from now on.
    pub fn bind_this_thread(&self) -> io::Result<()> {
        // SAFETY: the pointer is to a live set of the size given; 0 means the calling thread.
        let done = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const self.0) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
