//! A connection to a store inside of the process, whose state lasts from command to command.

use crate::calls::{self, PATIENCE, detached, drop_or_forget};
use crate::errors;
use crate::exceptions::closed;
use crate::fork::{Alive, Process};
use crate::reply;
use crate::word::Word;
use larder_embed::{Error, Raw, Store};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// What a connection holds: `None` once it is closed.
type Held = Option<(larder_embed::Connection, Alive)>;

/// A connection to a store. Replies and messages come in one stream.
#[pyclass(frozen, weakref, module = "larder._larder")]
pub struct Connection {
    /// It is locked only by threads that do not hold the interpreter's lock, so that none waits for both.
    held: Mutex<Held>,
    decode: bool,
    process: Process,
}

impl Connection {
    pub fn new(connection: larder_embed::Connection, decode: bool) -> PyResult<Connection> {
        let held = Mutex::new(Some((connection, Alive::open()?)));
        Ok(Connection { held, decode, process: Process::this() })
    }

    /// Does something with the connection, without the interpreter's lock.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut larder_embed::Connection) -> larder_embed::Result<R> + Send,
    ) -> PyResult<R> {
        self.process.check()?;
        let done = detached(py, || self.held.lock().as_mut().map(|(connection, _)| work(connection)))?;
        done.ok_or_else(closed)?.map_err(|error| errors::of(py, error, self.decode))
    }
}

#[pymethods]
impl Connection {
    #[new]
    #[pyo3(signature = (store, decode_responses = None))]
    fn open(
        py: Python<'_>,
        store: &Bound<'_, crate::store::Store>,
        decode_responses: Option<bool>,
    ) -> PyResult<Connection> {
        let data = store.as_super().get();
        let connection = data.with_detached(py, Store::connect)?;
        Connection::new(connection, decode_responses.unwrap_or(data.decode))
    }

    /// Executes a command, whose reply is received later.
    #[pyo3(signature = (*words))]
    fn send(&self, py: Python<'_>, words: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
        let words = words.iter().map(|word| word.extract()).collect::<PyResult<Vec<Word<'_>>>>()?;
        self.with(py, |connection| connection.send(&words))
    }

    /// Waits until there is a reply or a message; False if there is none within this many seconds.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let patience = timeout.map_or(Ok(Duration::MAX), calls::seconds)?;
        let deadline = Instant::now().checked_add(patience);
        loop {
            let left = deadline.map_or(PATIENCE, |at| at.saturating_duration_since(Instant::now()));
            let is_there = self.with(py, |connection| connection.wait(left.min(PATIENCE)))?;
            if is_there || left <= PATIENCE && deadline.is_some() {
                return Ok(is_there);
            }
            py.check_signals()?;
        }
    }

    /// The next reply or message, which is waited for; an error is an exception object.
    #[pyo3(signature = (decode = None))]
    fn receive<'py>(&self, py: Python<'py>, decode: Option<bool>) -> PyResult<Bound<'py, PyAny>> {
        let decode = decode.unwrap_or(self.decode);
        calls::with_buffer(|buffer| {
            loop {
                let is_there = self.with(py, |connection| {
                    let reply = connection.receive(PATIENCE)?;
                    buffer.clear();
                    buffer.extend_from_slice(reply.unwrap_or_default());
                    Ok(reply.is_some())
                })?;
                if is_there {
                    return self.value(py, buffer, decode);
                }
                py.check_signals()?;
            }
        })
    }

    /// Ends it. A thread that waits for a reply gets ClosedError.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.process == Process::this() {
            detached(py, || drop(self.held.lock().take()))?;
        }
        Ok(())
    }

    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        if self.process != Process::this() {
            return Ok(true);
        }
        detached(py, || self.held.lock().as_ref().is_none_or(|(connection, _)| connection.is_closed()))
    }
}

impl Connection {
    fn value<'py>(&self, py: Python<'py>, bytes: &[u8], decode: bool) -> PyResult<Bound<'py, PyAny>> {
        match Raw::new(bytes) {
            Ok(mut raw) => reply::value(py, &mut raw, decode),
            Err(error @ Error::Command(_)) => {
                Ok(errors::of(py, error, decode).into_value(py).into_bound(py).into_any())
            }
            Err(error) => Err(errors::of(py, error, decode)),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        drop_or_forget(self.process, self.held.get_mut().take());
    }
}
