//! A store inside of the process.

use crate::data::Data;
use crate::errors;
use crate::fork::{Alive, Process};
use crate::reply;
use crate::word::Word;
use larder_embed::Options;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// A data store inside of the process.
#[pyclass(extends = Data, subclass, frozen, module = "larder._larder")]
pub struct Store {}

/// Options by their names; an underscore stands for a hyphen, and a bool for yes or no.
///
/// # Errors
/// A name or a value is none.
pub fn options(given: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let mut options = Options::new();
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        let value = match value.extract::<bool>() {
            Ok(yes) => if yes { "yes" } else { "no" }.to_owned(),
            Err(_) => value.str()?.to_string(),
        };
        options = options.option(&name.replace('_', "-"), &value);
    }
    Ok(options)
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (*, directory = None, persist = None, save_on_close = false, decode_responses = false, db = 0, options = None))]
    fn new(
        py: Python<'_>,
        directory: Option<PathBuf>,
        persist: Option<bool>,
        save_on_close: bool,
        decode_responses: bool,
        db: usize,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Store>> {
        let (alive, mut options) = (Alive::open()?, self::options(options)?);
        if let Some(directory) = directory {
            options = options.directory(directory);
        }
        if let Some(persist) = persist {
            options = options.persist(persist);
        }
        if save_on_close {
            options = options.save_on_close();
        }
        let opened = crate::calls::detached(py, || larder_embed::Store::open(&options))?;
        let store = opened.map_err(|error| errors::of(py, error, decode_responses))?;
        Ok(PyClassInitializer::from(Data::new(store.database(db), alive, decode_responses))
            .add_subclass(Store {}))
    }

    /// Waits until everything that was written is on the disk.
    fn sync(this: &Bound<'_, Self>) -> PyResult<()> {
        this.as_super().get().with_detached(this.py(), larder_embed::Store::sync)
    }

    /// Keeps what is to be kept, and drops the store. After an error it stays open. In a process that was forked nothing is done.
    fn _close(this: &Bound<'_, Self>) -> PyResult<()> {
        let data = this.as_super().get();
        if data.process == Process::this() && data.handle().is_ok() {
            data.with_detached(this.py(), larder_embed::Store::close)?;
        }
        data.close();
        Ok(())
    }

    /// Executes commands, each a sequence of words, as one transaction.
    fn _transaction<'py>(
        this: &Bound<'py, Self>,
        commands: Vec<Vec<Bound<'py, PyAny>>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let py = this.py();
        let mut owned: Vec<Vec<Vec<u8>>> = Vec::with_capacity(commands.len());
        for command in &commands {
            let word = |word: &Bound<'_, PyAny>| Ok(word.extract::<Word<'_>>()?.as_ref().to_vec());
            owned.push(command.iter().map(word).collect::<PyResult<_>>()?);
        }
        let commands: Vec<&[Vec<u8>]> = owned.iter().map(Vec::as_slice).collect();
        let data = this.as_super().get();
        let replies = data.with_detached(py, |store| store.transaction(&commands))?;
        replies.iter().map(|reply| reply::of_tree(py, reply, data.decode)).collect()
    }
}
