//! What a store and a replica have in common: data in this process, which is read by calls.

use crate::calls::{self, detached, drop_detached, drop_or_forget, guarded};
use crate::errors;
use crate::events::Events;
use crate::exceptions::closed;
use crate::fork::{Alive, Process};
use crate::names::Names;
use crate::reply::{self, read, string_or_none};
use crate::word::Word;
use larder_embed::{Raw, Store};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList, PySet, PyType};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The data of a store or of a replica, and its reads.
#[pyclass(subclass, frozen, module = "larder._larder")]
pub struct Data {
    /// `None` once it is closed. Who holds this lock never gives the interpreter's away.
    store: Mutex<Option<(Store, Alive)>>,
    /// Whether strings are `str`.
    pub decode: bool,
    pub process: Process,
    names: Names,
    /// How many calls execute commands without the interpreter's lock. They may hold what a read needs, a script above all: while there are any,
    /// reads give the lock away as well, so that other threads of Python can go on.
    long_calls: AtomicUsize,
}

impl Data {
    pub fn new(store: Store, alive: Alive, decode: bool) -> Data {
        Data {
            store: Mutex::new(Some((store, alive))),
            decode,
            process: Process::this(),
            names: Names::new(),
            long_calls: AtomicUsize::new(0),
        }
    }

    /// A handle on the store.
    ///
    /// # Errors
    /// It is closed, or another process's.
    pub fn handle(&self) -> PyResult<Store> {
        self.process.check()?;
        self.store.lock().as_ref().map(|(store, _)| store.clone()).ok_or_else(closed)
    }

    /// Drops the store. Calls of other threads that are executing go on until they are done. In a process that was forked nothing is done.
    pub fn close(&self) {
        if self.process == Process::this() {
            let store = self.store.lock().take();
            drop_detached(store);
        }
    }

    /// Does something with the store that may take longer.
    pub fn with_detached<R: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&Store) -> larder_embed::Result<R> + Send,
    ) -> PyResult<R> {
        let store = self.handle()?;
        self.long_calls.fetch_add(1, Relaxed);
        let result = detached(py, || {
            let result = call(&store);
            // It may be the last one by now.
            drop(store);
            result
        });
        self.long_calls.fetch_sub(1, Relaxed);
        result?.map_err(|error| errors::of(py, error, self.decode))
    }

    /// Does something with the store that is short.
    #[inline]
    fn call<R: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&Store) -> larder_embed::Result<R> + Send,
    ) -> PyResult<R> {
        if self.long_calls.load(Relaxed) > 0 {
            return self.with_detached(py, call);
        }
        self.process.check()?;
        let store = self.store.lock();
        let (store, _) = store.as_ref().ok_or_else(closed)?;
        guarded(|| call(store))?.map_err(|error| errors::of(py, error, self.decode))
    }

    /// Executes a command that is short, and makes something of its reply.
    #[inline]
    fn ask<A: AsRef<[u8]> + Sync, R>(
        &self,
        py: Python<'_>,
        words: &[A],
        take: impl FnOnce(&mut Raw<'_>) -> PyResult<R>,
    ) -> PyResult<R> {
        calls::with_buffer(|buffer| {
            self.call(py, |store| store.command_into(words, buffer))?;
            self.taken(py, buffer, take)
        })
    }

    /// Executes a command that may take longer, and makes something of its reply.
    fn ask_long<R>(
        &self,
        py: Python<'_>,
        words: &[Word<'_>],
        take: impl FnOnce(&mut Raw<'_>) -> PyResult<R>,
    ) -> PyResult<R> {
        calls::with_buffer(|buffer| {
            self.with_detached(py, |store| store.command_into(words, buffer))?;
            self.taken(py, buffer, take)
        })
    }

    #[inline]
    fn taken<R>(
        &self,
        py: Python<'_>,
        reply: &[u8],
        take: impl FnOnce(&mut Raw<'_>) -> PyResult<R>,
    ) -> PyResult<R> {
        let mut raw = Raw::new(reply).map_err(|error| errors::of(py, error, self.decode))?;
        take(&mut raw)
    }

    fn int<A: AsRef<[u8]> + Sync>(&self, py: Python<'_>, words: &[A]) -> PyResult<i64> {
        self.ask(py, words, |raw| read(raw.int()))
    }

    /// A string, or None.
    fn one<'py>(&self, py: Python<'py>, words: &[&[u8]]) -> PyResult<Bound<'py, PyAny>> {
        self.ask(py, words, |raw| string_or_none(py, read(raw.bytes())?, self.decode))
    }

    fn list<'py, A: AsRef<[u8]> + Sync>(&self, py: Python<'py>, words: &[A]) -> PyResult<Bound<'py, PyList>> {
        self.ask(py, words, |raw| reply::strings(py, raw, self.decode))
    }
}

/// Words, the last of which come as one sequence and more arguments, as redis-py's methods take them.
fn words<'a>(
    first: Vec<Word<'a>>,
    keys: &'a Bound<'_, PyAny>,
    more: &'a [Bound<'_, PyAny>],
) -> PyResult<Vec<Word<'a>>> {
    let mut words = first;
    if let Ok(word) = keys.extract() {
        words.push(word);
    } else {
        for key in keys.try_iter()? {
            words.push(Word::Owned(key?.extract::<Word<'_>>()?.as_ref().to_vec()));
        }
    }
    for word in more {
        words.push(word.extract()?);
    }
    Ok(words)
}

#[pymethods]
impl Data {
    fn get<'py>(&self, py: Python<'py>, name: Word<'_>) -> PyResult<Bound<'py, PyAny>> {
        self.one(py, &[b"GET", name.as_ref()])
    }

    #[pyo3(signature = (keys, *args))]
    fn mget<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        args: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.list(py, &words(vec![Word::Borrowed(b"MGET")], keys, &args)?)
    }

    #[pyo3(signature = (*names))]
    fn exists(&self, py: Python<'_>, names: Vec<Bound<'_, PyAny>>) -> PyResult<i64> {
        let mut words = vec![Word::Borrowed(b"EXISTS")];
        for name in &names {
            words.push(name.extract()?);
        }
        self.int(py, &words)
    }

    fn ttl(&self, py: Python<'_>, name: Word<'_>) -> PyResult<i64> {
        self.int(py, &[b"TTL", name.as_ref()])
    }

    fn pttl(&self, py: Python<'_>, name: Word<'_>) -> PyResult<i64> {
        self.int(py, &[b"PTTL", name.as_ref()])
    }

    fn strlen(&self, py: Python<'_>, name: Word<'_>) -> PyResult<i64> {
        self.int(py, &[b"STRLEN", name.as_ref()])
    }

    fn hget<'py>(&self, py: Python<'py>, name: Word<'_>, key: Word<'_>) -> PyResult<Bound<'py, PyAny>> {
        self.one(py, &[b"HGET", name.as_ref(), key.as_ref()])
    }

    #[pyo3(signature = (name, keys, *args))]
    fn hmget<'py>(
        &self,
        py: Python<'py>,
        name: Word<'_>,
        keys: &Bound<'py, PyAny>,
        args: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.list(py, &words(vec![Word::Borrowed(b"HMGET"), name], keys, &args)?)
    }

    fn hgetall<'py>(&self, py: Python<'py>, name: Word<'_>) -> PyResult<Bound<'py, PyDict>> {
        let fields = self.call(py, |store| store.hgetall(&name))?;
        self.names.with(py, self.decode, |names| reply::dict(py, &fields, names, self.decode))
    }

    fn hexists(&self, py: Python<'_>, name: Word<'_>, key: Word<'_>) -> PyResult<bool> {
        Ok(self.int(py, &[b"HEXISTS", name.as_ref(), key.as_ref()])? != 0)
    }

    fn hlen(&self, py: Python<'_>, name: Word<'_>) -> PyResult<i64> {
        self.int(py, &[b"HLEN", name.as_ref()])
    }

    fn hkeys<'py>(&self, py: Python<'py>, name: Word<'_>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, &[b"HKEYS", name.as_ref()])
    }

    fn hvals<'py>(&self, py: Python<'py>, name: Word<'_>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, &[b"HVALS", name.as_ref()])
    }

    fn llen(&self, py: Python<'_>, name: Word<'_>) -> PyResult<i64> {
        self.int(py, &[b"LLEN", name.as_ref()])
    }

    fn lindex<'py>(&self, py: Python<'py>, name: Word<'_>, index: i64) -> PyResult<Bound<'py, PyAny>> {
        self.one(py, &[b"LINDEX", name.as_ref(), index.to_string().as_bytes()])
    }

    fn lrange<'py>(
        &self,
        py: Python<'py>,
        name: Word<'_>,
        start: i64,
        end: i64,
    ) -> PyResult<Bound<'py, PyList>> {
        let (start, end) = (start.to_string(), end.to_string());
        self.list(py, &[b"LRANGE", name.as_ref(), start.as_bytes(), end.as_bytes()])
    }

    fn smembers<'py>(&self, py: Python<'py>, name: Word<'_>) -> PyResult<Bound<'py, PySet>> {
        let words: [&[u8]; 2] = [b"SMEMBERS", name.as_ref()];
        self.ask(py, &words, |raw| reply::set_of_strings(py, raw, self.decode))
    }

    fn sismember(&self, py: Python<'_>, name: Word<'_>, value: Word<'_>) -> PyResult<bool> {
        Ok(self.int(py, &[b"SISMEMBER", name.as_ref(), value.as_ref()])? != 0)
    }

    fn scard(&self, py: Python<'_>, name: Word<'_>) -> PyResult<i64> {
        self.int(py, &[b"SCARD", name.as_ref()])
    }

    fn zcard(&self, py: Python<'_>, name: Word<'_>) -> PyResult<i64> {
        self.int(py, &[b"ZCARD", name.as_ref()])
    }

    fn zscore<'py>(
        &self,
        py: Python<'py>,
        name: Word<'_>,
        value: Word<'_>,
    ) -> PyResult<Option<Bound<'py, PyFloat>>> {
        let words: [&[u8]; 3] = [b"ZSCORE", name.as_ref(), value.as_ref()];
        let score = self.ask(py, &words, |raw| read(raw.double()))?;
        Ok(score.map(|score| PyFloat::new(py, score)))
    }

    /// Any command that is about data, executed here without the interpreter's lock.
    #[pyo3(signature = (*words))]
    fn _execute<'py>(&self, py: Python<'py>, words: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let words = words.iter().map(|word| word.extract()).collect::<PyResult<Vec<Word<'_>>>>()?;
        self.ask_long(py, &words, |raw| reply::value(py, raw, self.decode))
    }

    #[pyo3(signature = (patterns, capacity))]
    fn _events(&self, py: Python<'_>, patterns: Vec<Bound<'_, PyAny>>, capacity: usize) -> PyResult<Events> {
        let patterns = patterns.iter().map(|word| word.extract()).collect::<PyResult<Vec<Word<'_>>>>()?;
        let events = self.with_detached(py, |store| store.events(&patterns, capacity))?;
        Ok(Events::new(events, self.decode))
    }

    fn _close_data(&self) {
        self.close();
    }

    /// For annotations: `Store[str]`.
    #[classmethod]
    fn __class_getitem__(cls: &Bound<'_, PyType>, _item: &Bound<'_, PyAny>) -> Py<PyType> {
        cls.clone().unbind()
    }

    #[getter]
    fn decode_responses(&self) -> bool {
        self.decode
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        drop_or_forget(self.process, self.store.get_mut().take());
    }
}
