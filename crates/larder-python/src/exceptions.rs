//! Python's exceptions, which `python/larder/exceptions.py` defines.

use pyo3::prelude::*;

macro_rules! exceptions {
    ($($name:ident),*) => { $(pyo3::import_exception!(larder.exceptions, $name);)* };
}

exceptions!(
    AuthenticationError,
    ClosedError,
    ConnectionError,
    DataError,
    ExecutedError,
    ForkError,
    InternalError,
    LarderError,
    ExecAbortError,
    NoPermissionError,
    NoScriptError,
    NotKeptError,
    OptionError,
    ProtocolError,
    ReadOnlyError,
    ResponseError,
    StorageError,
    TimeoutError
);

/// The exception that the text of an error reply is. The code `ERR` says nothing and is left out, as redis-py does.
pub fn of_reply(text: &str) -> PyErr {
    match text.split(' ').next().unwrap_or_default() {
        "ERR" => ResponseError::new_err(text["ERR".len()..].trim_start().to_owned()),
        "READONLY" => ReadOnlyError::new_err(text.to_owned()),
        "NOAUTH" | "WRONGPASS" => AuthenticationError::new_err(text.to_owned()),
        "EXECABORT" => ExecAbortError::new_err(text.to_owned()),
        "NOSCRIPT" => NoScriptError::new_err(text.to_owned()),
        "NOPERM" => NoPermissionError::new_err(text.to_owned()),
        _ => ResponseError::new_err(text.to_owned()),
    }
}

/// What was closed is used.
#[cold]
pub fn closed() -> PyErr {
    ClosedError::new_err("the store is closed")
}
