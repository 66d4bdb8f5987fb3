//! A replica of a server inside of the process.

use crate::calls::{detached, drop_detached, drop_or_forget, interruptible, seconds};
use crate::data::Data;
use crate::errors;
use crate::exceptions::{OptionError, closed};
use crate::fork::{Alive, Process};
use crate::reply;
use crate::store;
use crate::word::Word;
use larder_embed::{LinkStatus, ReplicaOptions, Wait};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A replica of a server inside of the process.
#[pyclass(extends = Data, subclass, frozen, module = "larder._larder")]
pub struct Replica {
    /// `None` once it is closed.
    replica: Mutex<Option<(Arc<larder_embed::Replica>, Alive)>>,
    process: Process,
}

/// How a replica is doing.
#[pyclass(frozen, get_all, module = "larder")]
pub struct Status {
    /// What the link does: `up`, `synchronizing` (a snapshot comes) or `down`.
    link: &'static str,
    /// The name of the history of the data.
    history: String,
    /// Bytes of the stream that have been applied, since the history began.
    offset: u64,
    /// Bytes of the stream that have come.
    received: u64,
    /// How often there was a snapshot.
    full_syncs: u64,
    /// How often the stream went on where the link before had ended.
    partial_syncs: u64,
    /// Why the last link ended, if one has.
    last_error: Option<String>,
}

#[pymethods]
impl Status {
    fn __repr__(&self) -> String {
        let Status { link, history, offset, received, full_syncs, partial_syncs, last_error } = self;
        format!(
            "Status(link={link:?}, history={history:?}, offset={offset}, received={received}, full_syncs={full_syncs}, \
             partial_syncs={partial_syncs}, last_error={})",
            last_error.as_ref().map_or_else(|| "None".to_owned(), |error| format!("{error:?}"))
        )
    }
}

impl Replica {
    fn handle(&self) -> PyResult<Arc<larder_embed::Replica>> {
        self.process.check()?;
        self.replica.lock().as_ref().map(|(replica, _)| Arc::clone(replica)).ok_or_else(closed)
    }
}

#[pymethods]
impl Replica {
    #[new]
    #[pyo3(signature = (
        url, *, patterns = None, decode_responses = false, sync_timeout = 60.0, link_timeout = 10, options = None,
        ssl_ca_certs = None, ssl_certfile = None, ssl_keyfile = None, ssl_password = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        py: Python<'_>,
        url: String,
        patterns: Option<Vec<Bound<'_, PyAny>>>,
        decode_responses: bool,
        sync_timeout: f64,
        link_timeout: u64,
        options: Option<&Bound<'_, PyDict>>,
        ssl_ca_certs: Option<PathBuf>,
        ssl_certfile: Option<PathBuf>,
        ssl_keyfile: Option<PathBuf>,
        ssl_password: Option<&str>,
    ) -> PyResult<PyClassInitializer<Replica>> {
        let alive = Alive::open()?;
        let mut settings = ReplicaOptions::new()
            .patience(seconds(sync_timeout)?)
            .timeout_s(link_timeout)
            .store(store::options(options)?);
        for pattern in patterns.iter().flatten() {
            settings = settings.pattern(pattern.extract::<Word<'_>>()?);
        }
        if let Some(path) = ssl_ca_certs {
            settings = settings.authorities(path);
        }
        match (ssl_certfile, ssl_keyfile) {
            (Some(certificate), Some(key)) => settings = settings.identity(certificate, key),
            (None, None) => {}
            _ => return Err(OptionError::new_err("ssl_certfile and ssl_keyfile must be given together")),
        }
        settings = settings.key_password(ssl_password.unwrap_or_default());
        let connect = move || larder_embed::Replica::connect_with(&url, &settings);
        let connected = interruptible(py, connect)?;
        let replica = connected.map_err(|error| errors::of(py, error, decode_responses))?;
        let data = Data::new(replica.data().clone(), alive, decode_responses);
        let process = data.process;
        let replica = Replica { replica: Mutex::new(Some((Arc::new(replica), Alive::begin()))), process };
        Ok(PyClassInitializer::from(data).add_subclass(replica))
    }

    /// Executes a command on the primary. Waits this many seconds at most until it can be read here; not at all if that is None.
    fn _write<'py>(
        this: &Bound<'py, Self>,
        words: Vec<Bound<'py, PyAny>>,
        wait: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let decode = this.as_super().get().decode;
        let words = words.iter().map(|word| word.extract()).collect::<PyResult<Vec<Word<'_>>>>()?;
        let wait = match wait {
            Some(time) => Wait::Own(seconds(time)?.min(Duration::from_secs(u64::from(u32::MAX)))),
            None => Wait::Primary,
        };
        let replica = this.get().handle()?;
        let written = detached(py, || {
            let written = replica.write(&words, wait);
            // It may be the last one by now.
            drop(replica);
            written
        })?;
        let reply = written.map_err(|error| errors::of(py, error, decode))?;
        reply::of_tree(py, &reply, decode)
    }

    /// How the replica is doing.
    fn status(&self) -> PyResult<Status> {
        let status = self.handle()?.status();
        Ok(Status {
            link: match status.link {
                LinkStatus::Down => "down",
                LinkStatus::Synchronizing => "synchronizing",
                LinkStatus::Up => "up",
            },
            history: status.history,
            offset: status.offset,
            received: status.received,
            full_syncs: status.full_syncs,
            partial_syncs: status.partial_syncs,
            last_error: status.last_error,
        })
    }

    /// Ends the link. In a process that was forked nothing is done.
    fn _close_link(&self) {
        if self.process == Process::this() {
            let replica = self.replica.lock().take();
            drop_detached(replica);
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        drop_or_forget(self.process, self.replica.get_mut().take());
    }
}
