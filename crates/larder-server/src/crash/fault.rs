//! The moment of a crash: what the thread that crashes writes down before it dies, by signal or by panic.
//!
//! A signal handler may do next to nothing: no memory, no locks. So it fills in one static record, wakes the thread that writes
//! the report by a pipe, waits until that is done (or for [`PATIENCE_MS`]), and lets the signal kill the process as it would have
//! without a handler. A panic goes the same way. The first thread that crashes is the only one that is reported: others stop
//! where they are until the process ends.
//!
//! The same record serves the watchdog: a thread that is asked for its stack by a signal writes it down and goes on.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

/// Frames kept of a stack.
const FRAMES_MAX: usize = 64;
/// How long a thread that crashes waits for its report.
const PATIENCE_MS: i32 = 8000;
/// Bytes of the stack on which a thread handles signals: one that has overflowed its own still has this one.
const SIGNAL_STACK_BYTES: usize = 128 << 10;

/// Signals that end the process with a report.
pub const FATAL: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];
/// The signal that asks a thread for its stack.
const ASKS_FOR_STACK: i32 = libc::SIGALRM;

/// The stack of a thread, written by itself and read by another.
pub struct Stack {
    frames: [AtomicUsize; FRAMES_MAX],
    len: AtomicUsize,
}

impl Stack {
    const fn new() -> Stack {
        Stack { frames: [const { AtomicUsize::new(0) }; FRAMES_MAX], len: AtomicUsize::new(0) }
    }

    /// Writes down the stack of the calling thread.
    fn capture(&self) {
        self.len.store(0, Relaxed);
        // SAFETY: the tracer must not run in two threads at once without its lock: a crash is recorded by one thread only, and
        // the watchdog asks one thread at a time and none during a crash. The callback touches nothing but this record.
        unsafe {
            backtrace::trace_unsynchronized(|frame| {
                let at = self.len.load(Relaxed);
                if at < FRAMES_MAX {
                    self.frames[at].store(frame.ip() as usize, Relaxed);
                    self.len.store(at + 1, Release);
                }
                at + 1 < FRAMES_MAX
            });
        }
    }

    /// The addresses of the instructions, the innermost first.
    pub fn addresses(&self) -> Vec<usize> {
        let len = self.len.load(Acquire);
        self.frames[..len].iter().map(|frame| frame.load(Relaxed)).collect()
    }
}

/// What is known of a crash.
pub struct Fault {
    taken: AtomicBool,
    /// The thread, as the kernel counts.
    pub thread: AtomicI32,
    /// The signal, 0 for a panic.
    pub signal: AtomicI32,
    /// What the kernel says of its cause.
    pub code: AtomicI32,
    /// The address that was accessed.
    pub address: AtomicUsize,
    /// The instruction that was running.
    pub instruction: AtomicUsize,
    /// The stack pointer.
    pub stack_pointer: AtomicUsize,
    /// What was being done.
    pub stack: Stack,
}

static FAULT: Fault = Fault {
    taken: AtomicBool::new(false),
    thread: AtomicI32::new(0),
    signal: AtomicI32::new(0),
    code: AtomicI32::new(0),
    address: AtomicUsize::new(0),
    instruction: AtomicUsize::new(0),
    stack_pointer: AtomicUsize::new(0),
    stack: Stack::new(),
};

/// The stack that the watchdog has asked for.
static ASKED: Stack = Stack::new();
static ASKED_THREAD: AtomicI32 = AtomicI32::new(0);

/// The two pipes: a byte on the first asks for the report, one on the second says that it is written.
static PIPES: OnceLock<[(OwnedFd, OwnedFd); 2]> = OnceLock::new();

/// Makes the pipes; before anything else here.
pub fn prepare() -> io::Result<()> {
    let pipes = [pipe()?, pipe()?];
    assert!(PIPES.set(pipes).is_ok(), "crashes are prepared for once");
    // The first trace loads what later ones need.
    ASKED.capture();
    Ok(())
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((reader.into(), writer.into()))
}

/// Gives the calling thread a stack of its own for signals, for as long as it runs.
pub fn use_signal_stack() {
    // SAFETY: a mapping of its own, which is never given back and used by nobody else. Its pages cost nothing until they are used.
    unsafe {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let memory = libc::mmap(std::ptr::null_mut(), SIGNAL_STACK_BYTES, access, kind, -1, 0);
        if memory != libc::MAP_FAILED {
            let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: SIGNAL_STACK_BYTES };
            libc::sigaltstack(&raw const stack, std::ptr::null_mut());
        }
    }
}

/// Catches fatal signals from now on, or leaves them to the system.
pub fn catch_signals(on: bool) {
    for signal in FATAL {
        if on {
            set_handler(signal, on_fatal_signal, libc::SA_NODEFER);
        } else {
            set_default(signal);
        }
    }
    set_handler(ASKS_FOR_STACK, on_question, libc::SA_RESTART);
}

fn set_handler(
    signal: i32,
    handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void),
    flags: libc::c_int,
) {
    // SAFETY: an all-zero `sigaction` is valid; the handler has the form that SA_SIGINFO asks for, and does only what a handler
    // may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | flags;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

fn set_default(signal: i32) {
    // SAFETY: takes no pointers.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
    }
}

extern "C" fn on_fatal_signal(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    if is_first(signal) {
        // SAFETY: the kernel hands a handler with SA_SIGINFO valid pointers.
        unsafe {
            FAULT.code.store((*info).si_code, Relaxed);
            FAULT.address.store((*info).si_addr() as usize, Relaxed);
        }
        let (instruction, stack_pointer) = registers(context);
        FAULT.instruction.store(instruction, Relaxed);
        FAULT.stack_pointer.store(stack_pointer, Relaxed);
        FAULT.stack.capture();
        wait_for_report();
    }
    die_of(signal);
}

extern "C" fn on_question(_signal: i32, _info: *mut libc::siginfo_t, _context: *mut c_void) {
    if ASKED_THREAD.load(Acquire) == thread_id() {
        ASKED.capture();
        ASKED_THREAD.store(0, Release);
    }
}

/// The instruction and the stack pointer that a signal has interrupted.
fn registers(context: *mut c_void) -> (usize, usize) {
    // SAFETY: the kernel hands a handler with SA_SIGINFO a valid context.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    unsafe {
        let registers = (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        (registers[libc::REG_RIP as usize] as usize, registers[libc::REG_RSP as usize] as usize)
    }
    // SAFETY: as above.
    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    unsafe {
        let registers = (*context.cast::<libc::ucontext_t>()).uc_mcontext;
        (registers.pc as usize, registers.sp as usize)
    }
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        let _ = context;
        (0, 0)
    }
}

/// Whether the calling thread is the first that crashes. Another one stops here until the process ends; the same one, which has
/// crashed over its own report, or the one that writes it, goes on to die.
fn is_first(signal: i32) -> bool {
    let me = thread_id();
    if !FAULT.taken.swap(true, Relaxed) {
        FAULT.thread.store(me, Relaxed);
        FAULT.signal.store(signal, Relaxed);
        return true;
    }
    if FAULT.thread.load(Relaxed) != me && REPORTER.load(Relaxed) != me {
        loop {
            // SAFETY: takes no pointers.
            unsafe {
                libc::pause();
            }
        }
    }
    false
}

/// The option `use-exit-on-panic`: a panic ends the process with an exit code, not by a signal.
pub static EXIT_ON_PANIC: AtomicBool = AtomicBool::new(false);

/// The thread that writes reports.
static REPORTER: AtomicI32 = AtomicI32::new(0);

/// Asks for the report and waits until it is written, but not for ever.
fn wait_for_report() {
    let Some([(_, ask), (done, _)]) = PIPES.get() else { return };
    // SAFETY: the descriptors are open as long as the process; the pointers are to live locals.
    unsafe {
        libc::write(ask.as_raw_fd(), [1_u8].as_ptr().cast(), 1);
        let mut wait = libc::pollfd { fd: done.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        libc::poll(&raw mut wait, 1, PATIENCE_MS);
    }
}

/// Ends the process by a signal, as if nobody had caught it.
fn die_of(signal: i32) -> ! {
    set_default(signal);
    // SAFETY: takes no pointers.
    unsafe {
        libc::raise(signal);
        // One that is blocked has not killed.
        libc::_exit(128 + signal)
    }
}

/// A thread has panicked: has it reported, and ends the process. `record` keeps the message where the report finds it.
pub fn panicked(record: impl FnOnce()) -> ! {
    if is_first(0) {
        record();
        FAULT.stack.capture();
        wait_for_report();
    }
    if EXIT_ON_PANIC.load(Relaxed) {
        // SAFETY: takes no pointers.
        unsafe { libc::_exit(1) }
    }
    die_of(libc::SIGABRT)
}

/// What a thread that waits for crashes has been woken by.
pub enum Woken {
    /// A thread has crashed.
    Crash(&'static Fault),
    /// The time is over.
    Timeout,
}

/// Waits for a crash, for at most this many milliseconds. To be called by one thread only, which writes the report.
pub fn wait_for_crash(timeout_ms: Option<u32>) -> Woken {
    REPORTER.store(thread_id(), Relaxed);
    let Some([(ask, _), _]) = PIPES.get() else { unreachable!("prepared before") };
    let timeout = timeout_ms.map_or(-1, |ms| i32::try_from(ms).unwrap_or(i32::MAX));
    let mut wait = libc::pollfd { fd: ask.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the pointer is to a live local; the descriptor is open as long as the process.
    let ready = unsafe { libc::poll(&raw mut wait, 1, timeout) };
    if ready > 0 { Woken::Crash(&FAULT) } else { Woken::Timeout }
}

/// The report is written.
pub fn report_is_written() {
    let Some([_, (_, done)]) = PIPES.get() else { return };
    // SAFETY: the descriptor is open as long as the process; the pointer is to a live byte.
    unsafe {
        libc::write(done.as_raw_fd(), [1_u8].as_ptr().cast(), 1);
    }
}

/// The calling thread, as the kernel counts.
pub fn thread_id() -> i32 {
    // SAFETY: takes no pointers.
    unsafe { libc::gettid() }
}

/// Asks a thread of this process for its stack. None if it does not answer within a tenth of a second: it is inside the kernel, or
/// gone.
pub fn ask_for_stack(thread: i32) -> Option<Vec<usize>> {
    ASKED_THREAD.store(thread, Release);
    // SAFETY: takes no pointers; a thread that is gone is an error, which is no harm.
    unsafe {
        libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, ASKS_FOR_STACK);
    }
    for _ in 0..100 {
        if ASKED_THREAD.load(Acquire) == 0 {
            return Some(ASKED.addresses());
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    ASKED_THREAD.store(0, Release);
    None
}

/// Accesses memory that is nobody's: DEBUG SEGFAULT.
pub fn segfault() -> ! {
    // SAFETY: the address is never mapped, so the kernel answers with a signal; nothing is written anywhere.
    unsafe {
        std::ptr::without_provenance_mut::<u8>(8).write_volatile(0);
    }
    die_of(libc::SIGSEGV)
}
