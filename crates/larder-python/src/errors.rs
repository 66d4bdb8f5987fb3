//! Errors of the library as Python's exceptions.

use crate::exceptions::{
    ConnectionError, ExecutedError, LarderError, NotKeptError, OptionError, ProtocolError, StorageError,
    TimeoutError, closed, of_reply,
};
use crate::reply;
use larder_embed::Error;
use pyo3::prelude::*;

/// The exception that an error is. A reply in it is decoded as others are.
pub fn of(py: Python<'_>, error: Error, decode: bool) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Closed => closed(),
        Error::Command(text) => of_reply(&text),
        Error::Connection(_) => ConnectionError::new_err(text),
        Error::Directory { .. } | Error::InUse(_) | Error::Load { .. } | Error::Write(_) => {
            StorageError::new_err(text)
        }
        Error::Executed { reply, .. } => match reply::of_tree(py, &reply, decode) {
            Ok(reply) => ExecutedError::new_err((text, reply.unbind())),
            Err(error) => error,
        },
        Error::NotKept(_) => NotKeptError::new_err(text),
        Error::Option { .. } | Error::Url(_) => OptionError::new_err(text),
        Error::Form | Error::Protocol => ProtocolError::new_err(text),
        Error::Thread(_) => LarderError::new_err(text),
        Error::Timeout(_) => TimeoutError::new_err(text),
    }
}
