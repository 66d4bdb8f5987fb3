//! How the library is called: panics are caught, and what takes longer is done without the interpreter's lock.

use crate::exceptions::{InternalError, LarderError};
use crate::fork::{Alive, Process};
use pyo3::prelude::*;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Between two looks at signals, of those who wait for long.
pub const PATIENCE: Duration = Duration::from_millis(100);

/// Capacity of a thread's buffer that is kept from call to call.
const KEPT_BYTES: usize = 1 << 20;

thread_local! {
    static REPLY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Calls the library.
///
/// # Errors
/// It panics. A command that panics gives its locks back, and the store can be used on.
#[inline]
pub fn guarded<R>(call: impl FnOnce() -> R) -> PyResult<R> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| panicked(&*payload))
}

/// The same without the interpreter's lock.
pub fn detached<R: Send>(py: Python<'_>, call: impl FnOnce() -> R + Send) -> PyResult<R> {
    let _alive = Alive::begin();
    py.detach(|| catch_unwind(AssertUnwindSafe(call)).map_err(|payload| text_of(&*payload)))
        .map_err(InternalError::new_err)
}

/// The same on a thread of its own; meanwhile signals are looked at, so that Ctrl-C ends the waiting. The call goes on then until it is done, and
/// what it returns is dropped.
pub fn interruptible<R: Send + 'static>(
    py: Python<'_>,
    call: impl FnOnce() -> R + Send + 'static,
) -> PyResult<R> {
    let (sender, done) = channel();
    let alive = Alive::begin();
    let work = move || {
        let result = catch_unwind(AssertUnwindSafe(call)).map_err(|payload| text_of(&*payload));
        // It may be that nobody waits any more.
        drop(sender.send(result));
        drop(alive);
    };
    let thread = thread::Builder::new().name("larder-connect".to_owned()).spawn(work);
    thread.map_err(|error| LarderError::new_err(format!("failed to start a thread: {error}")))?;
    // The receiver is not shared, but only moved there and back.
    let mut done = done;
    loop {
        let (receiver, result) = py.detach(move || {
            let result = done.recv_timeout(PATIENCE);
            (done, result)
        });
        match result {
            Ok(result) => return result.map_err(InternalError::new_err),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(InternalError::new_err("the thread has ended without a result"));
            }
        }
        done = receiver;
    }
}

#[cold]
fn panicked(payload: &(dyn Any + Send)) -> PyErr {
    InternalError::new_err(text_of(payload))
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

/// Lends the thread's buffer for a reply, and takes it back.
#[inline]
pub fn with_buffer<R>(work: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    let mut buffer = REPLY.try_with(Cell::take).unwrap_or_default();
    let result = work(&mut buffer);
    if buffer.capacity() <= KEPT_BYTES {
        // A thread that is ending keeps nothing.
        let _ = REPLY.try_with(|kept| kept.set(buffer));
    }
    result
}

/// Drops what may take a while to end, without the interpreter's lock where there is one.
pub fn drop_detached<T: Send>(value: T) {
    let _alive = Alive::begin();
    let mut value = Some(value);
    let detached = Python::try_attach(|py| {
        let value = value.take();
        py.detach(move || drop(value));
    });
    if detached.is_none() {
        drop(value);
    }
}

/// The same with what was opened in some process. In another one its threads are not there, and cannot be waited for: it is forgotten.
pub fn drop_or_forget<T: Send>(opened_in: Process, value: T) {
    if opened_in == Process::this() {
        drop_detached(value);
    } else {
        std::mem::forget(value);
    }
}

/// A time in seconds, as Python has it.
///
/// # Errors
/// It is no number that is not negative. What is beyond all clocks counts as a time without end.
pub fn seconds(time: f64) -> PyResult<Duration> {
    if time.is_nan() || time < 0.0 {
        return Err(pyo3::exceptions::PyValueError::new_err("a time must be a number of seconds, 0 or more"));
    }
    Ok(Duration::try_from_secs_f64(time).unwrap_or(Duration::MAX))
}
