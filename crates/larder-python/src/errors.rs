//! Errors as Python's exceptions, which `python/larder/exceptions.py` defines.

use crate::reply;
use larder_embed::Error;
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
    NoPermissionError,
    OptionError,
    ProtocolError,
    ReadOnlyError,
    ResponseError,
    TimeoutError
);

/// The exception that an error is. A reply in it is decoded as others are.
pub fn of(py: Python<'_>, error: Error, decode: bool) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Command(text) => of_text(&text),
        Error::Connection(_) => ConnectionError::new_err(text),
        Error::Executed { reply, .. } => match reply::of_tree(py, &reply, decode) {
            Ok(reply) => ExecutedError::new_err((text, reply.unbind())),
            Err(error) => error,
        },
        Error::Option { .. } | Error::Url(_) => OptionError::new_err(text),
        Error::Form | Error::Protocol => ProtocolError::new_err(text),
        Error::Thread(_) => LarderError::new_err(text),
        Error::Timeout(_) => TimeoutError::new_err(text),
    }
}

/// The exception that the text of an error reply is. The code `ERR` says nothing and is left out, as redis-py does.
pub fn of_text(text: &str) -> PyErr {
    match text.split(' ').next().unwrap_or_default() {
        "ERR" => ResponseError::new_err(text["ERR".len()..].trim_start().to_owned()),
        "READONLY" => ReadOnlyError::new_err(text.to_owned()),
        "NOAUTH" | "WRONGPASS" => AuthenticationError::new_err(text.to_owned()),
        "NOPERM" => NoPermissionError::new_err(text.to_owned()),
        _ => ResponseError::new_err(text.to_owned()),
    }
}

/// What was closed is used.
#[cold]
pub fn closed() -> PyErr {
    ClosedError::new_err("it is closed")
}
