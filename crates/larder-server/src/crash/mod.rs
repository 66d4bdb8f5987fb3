//! What happens when the server crashes: a report goes to the log, and the process ends.
//!
//! A panic in any thread is a crash: the thread may have left shared data half changed, and a server without one of its threads
//! looks well and is not. [`fault`] is the moment itself, [`report`] what is written, [`watchdog`] the stacks of threads that hang.
//! One thread, started first, waits for all of it. Tested by `tests/crashes.rs`.

pub mod fault;
mod report;
mod watchdog;

use crate::shared::Shared;
use fault::Woken;
use parking_lot::Mutex;
use std::io;
use std::panic::PanicHookInfo;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

/// The message of the panic that ends the process.
static MESSAGE: Mutex<String> = Mutex::new(String::new());

/// Has crashes reported from now on; those of signals as `crash-log-enabled` says.
pub fn install(shared: &Arc<Shared>) -> io::Result<()> {
    fault::prepare()?;
    fault::use_signal_stack();
    crate::cpus::keep_for_background(&shared.config, &shared.log);
    larder_engine::on_thread_start(|| {
        fault::use_signal_stack();
        crate::cpus::bind_background();
    });
    fault::catch_signals(shared.config.is_yes("crash-log-enabled"));
    fault::EXIT_ON_PANIC.store(shared.config.is_yes("use-exit-on-panic"), Relaxed);
    let reported = Arc::clone(shared);
    thread::Builder::new().name("larder-crash".into()).spawn(move || wait(&reported))?;
    std::panic::set_hook(Box::new(|info| fault::panicked(|| *MESSAGE.lock() = describe(info))));
    Ok(())
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let place =
        info.location().map_or_else(String::new, |place| format!(", at {}:{}", place.file(), place.line()));
    format!("{text}{place}")
}

/// Waits for a crash; meanwhile looks after threads that hang, if it is to.
fn wait(shared: &Shared) {
    let mut watchdog = watchdog::Watchdog::default();
    loop {
        match fault::wait_for_crash(watchdog.period_ms(shared)) {
            Woken::Crash(fault) => {
                report::write(shared, fault, &MESSAGE.lock());
                fault::report_is_written();
                return;
            }
            Woken::Timeout => watchdog.look(shared),
        }
    }
}
