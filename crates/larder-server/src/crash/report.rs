//! The text of a crash report. Its first parts need nothing but the record of the crash. Later ones ask the engine, whose locks the
//! crashed thread may hold: then the report ends there, because the crashed thread does not wait for ever.

use super::fault::Fault;
use crate::shared::Shared;
use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// An access so close to the stack pointer is that of a stack which has overflowed.
const NEAR_STACK_BYTES: usize = 64 << 10;

/// Writes the report to the log.
pub fn write(shared: &Shared, fault: &Fault, panic: &str) {
    let log = &shared.log;
    let thread = thread_name(fault.thread.load(Relaxed));
    log.emergency("\n\n=== LARDER BUG REPORT START: Cut & paste starting from here ===\n");
    let mut addresses = fault.stack.addresses();
    // Above the instruction lies only what has recorded it.
    let instruction = fault.instruction.load(Relaxed);
    if let Some(at) = addresses.iter().position(|&address| address == instruction && address != 0) {
        addresses.drain(..at);
    }
    let stack = stack(&addresses);
    let context = shared.config.value("debug-context");
    if !context.is_empty() {
        log.emergency(&format!("\n------ DEBUG CONTEXT ------\n{context}\n"));
    }
    for line in causes(fault, panic, &thread, &stack) {
        log.emergency_line(&line);
    }
    log.emergency(&format!(
        "\n------ STACK TRACE ------\n{} {thread} *\n{stack}",
        fault.thread.load(Relaxed)
    ));
    log.emergency("\n------ STACK TRACE DONE ------\n");
    if let Some(engine) = shared.engine.get() {
        log.emergency("\n------ CURRENT CLIENT INFO ------\n");
        log.emergency(&engine.crash_client(&thread));
        log.emergency("\n------ CONFIG OUTPUT ------\n");
        log.emergency(&engine.crash_config());
        log.emergency("\n------ INFO OUTPUT ------\n");
        engine.crash_info(|section| log.emergency(section));
        log.emergency("\n------ CLIENT LIST OUTPUT ------\n");
        log.emergency(&engine.crash_clients());
    }
    log.emergency(
        "\n=== LARDER BUG REPORT END. Make sure to include from START to END. ===\n\n\
         \x20      Please report the crash, with everything between START and END, as an issue of the project. The report\n\
         \x20      has no data of users, unless hide-user-data-from-log is off.\n",
    );
}

/// What has happened, in lines of the log.
fn causes(fault: &Fault, panic: &str, thread: &str, stack: &str) -> Vec<String> {
    let version = env!("CARGO_PKG_VERSION");
    let signal = fault.signal.load(Relaxed);
    if signal == 0 {
        return vec![format!("larder {version} panicked in thread '{thread}': {panic}")];
    }
    let (code, address) = (fault.code.load(Relaxed), fault.address.load(Relaxed));
    let mut lines = vec![format!("larder {version} crashed by signal: {signal}, si_code: {code}")];
    if matches!(signal, libc::SIGSEGV | libc::SIGBUS) {
        lines.push(format!("Accessing address: {address:#x}"));
    }
    if stack.contains("handle_alloc_error") {
        lines.push("Out Of Memory: an allocation has failed".to_owned());
    }
    if signal == libc::SIGSEGV && address.abs_diff(fault.stack_pointer.load(Relaxed)) < NEAR_STACK_BYTES {
        lines.push(format!("The stack of thread '{thread}' may have overflowed"));
    }
    lines.push(format!("Crashed running the instruction at: {:#x}", fault.instruction.load(Relaxed)));
    lines
}

/// The name of a thread, as the kernel knows it.
pub fn thread_name(thread: i32) -> String {
    let name = fs::read_to_string(format!("/proc/self/task/{thread}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// Addresses with the functions that they are in, a line each. Those of the program are shown as they stand in its file.
pub fn stack(addresses: &[usize]) -> String {
    let (mut text, program) = (String::new(), program_range());
    for &address in addresses {
        let mut names = Vec::new();
        backtrace::resolve(address as *mut std::ffi::c_void, |symbol| {
            names.extend(symbol.name().map(|name| format!("{name:#}")));
        });
        if names.is_empty() {
            names.push("?".to_owned());
        }
        let place = match &program {
            Some(range) if range.contains(&address) => format!("larder-server+{:#x}", address - range.start),
            _ => format!("{address:#x}"),
        };
        for name in names {
            let _ = writeln!(text, "{name} [{place}]");
        }
    }
    text
}

/// Where the program lies in memory.
fn program_range() -> Option<Range<usize>> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let program = std::env::current_exe().ok()?;
    let mut ranges =
        maps.lines().filter(|line| line.ends_with(&*program.to_string_lossy())).filter_map(|line| {
            let (start, end) = line.split(' ').next()?.split_once('-')?;
            Some((usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?))
        });
    let (start, end) = ranges.next()?;
    Some(start..ranges.next_back().map_or(end, |(_, end)| end))
}
