//! The processor's cycle counter, for code that reads the time at every command: it costs a third of a call
//! of the system's clock.
//!
//! It counts in a unit of its own and does not tell its rate: the reader measures the rate against a real
//! clock, and keeps comparing the two. x86-64 has it (Intel SDM 3B, 19.17). Elsewhere [`is_steady`] is false
//! and [`read`] gives 0.

/// Whether the counter runs at one rate whatever the processor does ("invariant TSC").
pub fn is_steady() -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::__cpuid;
        const EXTENDED_MAX: u32 = 0x8000_0000;
        const POWER: u32 = 0x8000_0007;
        __cpuid(EXTENDED_MAX).eax >= POWER && __cpuid(POWER).edx & 1 << 8 != 0
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    false
}

/// Cycles since the processor started; 0 where there is no counter. Not ordered with the instructions around it.
#[inline]
pub fn read() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: every x86-64 processor has the instruction; it touches no memory.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    0
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_goes_on_where_it_is_steady() {
        let before = super::read();
        let busy: u64 = (0..1000).map(std::hint::black_box).sum();
        assert_eq!(busy, 499_500);
        assert!(!super::is_steady() || super::read() > before);
    }
}
