//! News of changes.

use crate::calls::{self, PATIENCE, detached, guarded};
use crate::fork::Process;
use crate::reply;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::time::{Duration, Instant};

/// What has changed: the key, or None if any key may have.
#[pyclass(frozen, module = "larder")]
pub struct Event {
    #[pyo3(get)]
    key: Option<Py<PyAny>>,
}

#[pymethods]
impl Event {
    #[new]
    #[pyo3(signature = (key = None))]
    fn new(key: Option<Py<PyAny>>) -> Event {
        Event { key }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        match &self.key {
            Some(key) => Ok(format!("Event(key={})", key.bind(py).repr()?)),
            None => Ok("Event(key=None)".to_owned()),
        }
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Event>() else { return Ok(false) };
        match (&self.key, &other.get().key) {
            (Some(key), Some(other)) => key.bind(py).eq(other),
            (None, None) => Ok(true),
            _ => Ok(false),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.key.as_ref().map_or(Ok(0), |key| key.bind(py).hash())
    }

    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        PyTuple::new(py, ["key"])
    }
}

/// Events that come to one listener: an iterator that waits.
#[pyclass(frozen, weakref, module = "larder")]
pub struct Events {
    events: larder_embed::Events,
    decode: bool,
    process: Process,
}

impl Events {
    pub fn new(events: larder_embed::Events, decode: bool) -> Events {
        Events { events, decode, process: Process::this() }
    }

    fn event(&self, py: Python<'_>, event: larder_embed::Event) -> PyResult<Event> {
        let key = match event {
            larder_embed::Event::Changed(key) => Some(reply::string(py, &key, self.decode)?.unbind()),
            larder_embed::Event::Everything => None,
        };
        Ok(Event { key })
    }

    /// Waits, in pieces between which signals are looked at, until `look` finds something, the time is over, or no more will come.
    fn wait_for<R: Send>(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
        look: impl Fn(Duration) -> Option<R> + Send + Sync,
    ) -> PyResult<Option<R>> {
        self.process.check()?;
        let patience = timeout.map_or(Ok(Duration::MAX), calls::seconds)?;
        let deadline = Instant::now().checked_add(patience);
        loop {
            let left = deadline.map_or(PATIENCE, |at| at.saturating_duration_since(Instant::now()));
            let found = detached(py, || look(left.min(PATIENCE)))?;
            if found.is_some() || left <= PATIENCE && deadline.is_some() || self.events.is_closed() {
                return Ok(found);
            }
            py.check_signals()?;
        }
    }
}

#[pymethods]
impl Events {
    /// The next event that is there, or None.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        self.process.check()?;
        let event = guarded(|| self.events.try_next())?;
        event.map(|event| self.event(py, event)).transpose()
    }

    /// The next event; None if none comes within this many seconds, or no more will.
    #[pyo3(signature = (timeout = None))]
    fn get(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Event>> {
        let event = self.wait_for(py, timeout, |patience| self.events.next_within(patience))?;
        event.map(|event| self.event(py, event)).transpose()
    }

    /// Waits for an event without taking it; False if none comes within this many seconds, or no more will.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let found = self.wait_for(py, timeout, |patience| self.events.wait(patience).then_some(()))?;
        Ok(found.is_some())
    }

    /// Hears no more: who waits goes on, and what was not taken is forgotten.
    fn close(&self) {
        if self.process == Process::this() {
            self.events.close();
        }
    }

    #[getter]
    fn closed(&self) -> bool {
        self.process != Process::this() || self.events.is_closed()
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        self.get(py, None)
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        self.close();
    }
}
