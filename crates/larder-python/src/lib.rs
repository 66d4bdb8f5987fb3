//! The module `larder._larder`: `larder-embed` for Python. The package around it, with its documentation for users, lies in `python/larder`.
//!
//! Reads of single keys keep the interpreter's lock (GIL): they take a microsecond, and giving it away costs a tenth of that. Everything that may
//! take longer gives it away: connecting, writes, waiting for events, commands by their words, and closing. No thread of the store or
//! the replica ever asks for the lock, so who holds it may wait for them.
//!
//! Replies are read from the bytes that the engine has written, and become Python objects at once (`reply.rs`).
//!
//! A panic never reaches Python as a panic: it becomes `larder.InternalError` (`calls.rs`). A process that was forked has none of the threads; every
//! call says so there (`fork.rs`).
//!
//! Tested by `python/tests`.

#![allow(clippy::needless_pass_by_value, reason = "what Python calls gets its arguments by value")]

mod calls;
mod connection;
mod data;
mod errors;
mod events;
mod exceptions;
mod fork;
mod names;
mod replica;
mod reply;
mod store;
mod word;

use pyo3::prelude::*;

#[pymodule]
mod _larder {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::connection::Connection;
    #[pymodule_export]
    use crate::data::Data;
    #[pymodule_export]
    use crate::events::{Event, Events};
    #[pymodule_export]
    use crate::replica::{Replica, Status};
    #[pymodule_export]
    use crate::store::Store;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::fork::watch()
    }

    /// Panics, for the test that says what becomes of it.
    #[pyfunction]
    fn _panic(py: Python<'_>) -> PyResult<()> {
        crate::calls::detached(py, || panic!("as a test has wanted"))
    }
}
