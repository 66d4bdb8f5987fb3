//! A store inside of the process.

use crate::data::Data;
use crate::errors;
use crate::fork::Alive;
use crate::reply;
use crate::word::Word;
use larder_embed::Options;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A data store inside of the process.
#[pyclass(extends = Data, subclass, frozen, module = "larder._larder")]
pub struct Store;

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
    #[pyo3(signature = (*, decode_responses = false, db = 0, options = None))]
    fn new(
        py: Python<'_>,
        decode_responses: bool,
        db: usize,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Store>> {
        let (alive, options) = (Alive::open()?, self::options(options)?);
        let opened = crate::calls::detached(py, || larder_embed::Store::open(&options))?;
        let store = opened.map_err(|error| errors::of(py, error, decode_responses))?;
        Ok(PyClassInitializer::from(Data::new(store.database(db), alive, decode_responses))
            .add_subclass(Store))
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
