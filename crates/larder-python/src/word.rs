//! Words of commands, as Python gives them: bytes, text (as UTF-8), and numbers.

use crate::exceptions::DataError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyMemoryView, PyString};

/// A word; it lives in the object that was given, if that has its bytes.
pub enum Word<'a> {
    Borrowed(&'a [u8]),
    Owned(Vec<u8>),
}

impl AsRef<[u8]> for Word<'_> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Word::Borrowed(bytes) => bytes,
            Word::Owned(bytes) => bytes,
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Word<'a> {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyBytes>() {
            object.extract().map(Word::Borrowed).map_err(Into::into)
        } else if object.is_instance_of::<PyString>() {
            let text: &str = object.extract()?;
            Ok(Word::Borrowed(text.as_bytes()))
        } else {
            owned(&object).map(Word::Owned)
        }
    }
}

/// A word of what has no bytes of its own that stay as they are. As in redis-py `True` and `None` are refused: nobody can say what they
/// are to be.
fn owned(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = object.cast::<PyByteArray>() {
        Ok(bytes.to_vec())
    } else if object.is_instance_of::<PyMemoryView>() {
        object.call_method0("tobytes")?.extract()
    } else if object.is_instance_of::<PyBool>() {
        Err(not_a_word(object))
    } else if object.is_instance_of::<PyInt>() || object.is_instance_of::<PyFloat>() {
        Ok(object.repr()?.to_cow()?.as_bytes().to_vec())
    } else {
        Err(not_a_word(object))
    }
}

fn not_a_word(object: &Bound<'_, PyAny>) -> PyErr {
    let name = object.get_type().name().map_or_else(|_| "this".to_owned(), |name| name.to_string());
    DataError::new_err(format!("a '{name}' cannot be an argument of a command: use bytes, str, int or float"))
}
