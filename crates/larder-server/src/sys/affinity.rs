//! On which processors a thread may run.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// A set of processors.
#[derive(Clone, Copy)]
pub struct Cpus(CpuSet);

impl Cpus {
    /// The processors with these numbers. None when one is beyond what the system can number.
    pub fn of(numbers: impl IntoIterator<Item = usize>) -> Option<Cpus> {
        let mut set = CpuSet::new();
        for number in numbers {
            if number >= CpuSet::MAX_CPU {
                return None;
            }
            set.set(number);
        }
        Some(Cpus(set))
    }

    /// Those that the calling thread may run on.
    pub fn of_this_thread() -> io::Result<Cpus> {
        Ok(Cpus(sched_getaffinity(None)?))
    }

    /// Binds the calling thread, and those that it starts from now on.
    pub fn bind_this_thread(&self) -> io::Result<()> {
        Ok(sched_setaffinity(None, &self.0)?)
    }
}
