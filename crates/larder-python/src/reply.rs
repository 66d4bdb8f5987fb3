//! Replies as Python objects, made from the bytes of the protocol without a tree in between.
//!
//! A map is a `dict`, a set a `set` (a `list` if a member cannot be hashed), an array a `list`; strings and words are `bytes`, or `str` if replies are
//! decoded; an error within a reply is an exception object.

use crate::exceptions::{ProtocolError, of_reply};
use larder_embed::{Fields, Raw, Reply, Token};
use pyo3::exceptions::{PyTypeError, PyUnicodeDecodeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PySet, PyString};

/// How deep replies lie in each other at most.
const DEPTH_MAX: u32 = 128;

/// What the library says of a reply that is none.
pub fn read<R>(result: larder_embed::Result<R>) -> PyResult<R> {
    result.map_err(|error| ProtocolError::new_err(error.to_string()))
}

/// A string.
///
/// # Errors
/// It is to be decoded, and is no UTF-8.
#[inline]
pub fn string<'py>(py: Python<'py>, bytes: &[u8], decode: bool) -> PyResult<Bound<'py, PyAny>> {
    if !decode {
        return Ok(PyBytes::new(py, bytes).into_any());
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PyString::new(py, text).into_any()),
        Err(error) => Err(PyUnicodeDecodeError::new_utf8(py, bytes, error)?.into()),
    }
}

/// A string, or None.
#[inline]
pub fn string_or_none<'py>(
    py: Python<'py>,
    bytes: Option<&[u8]>,
    decode: bool,
) -> PyResult<Bound<'py, PyAny>> {
    match bytes {
        Some(bytes) => string(py, bytes, decode),
        None => Ok(py.None().into_bound(py)),
    }
}

/// The next values as a list of strings, each of which may be None.
pub fn strings<'py>(py: Python<'py>, raw: &mut Raw<'_>, decode: bool) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for _ in 0..read(raw.len())? {
        list.append(string_or_none(py, read(raw.bytes())?, decode)?)?;
    }
    Ok(list)
}

/// Fields as a dict.
pub fn dict<'py>(
    py: Python<'py>,
    fields: &Fields,
    names: &mut dyn FnMut(&[u8]) -> PyResult<Bound<'py, PyAny>>,
    decode: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in fields.iter() {
        dict.set_item(names(name)?, string(py, value, decode)?)?;
    }
    Ok(dict)
}

/// The next values as a set of strings.
pub fn set_of_strings<'py>(py: Python<'py>, raw: &mut Raw<'_>, decode: bool) -> PyResult<Bound<'py, PySet>> {
    let set = PySet::empty(py)?;
    for _ in 0..read(raw.len())? {
        set.add(string(py, read(raw.text())?, decode)?)?;
    }
    Ok(set)
}

/// The next value, whatever it is.
///
/// # Errors
/// The bytes are not a valid reply, or a string to decode is not UTF-8.
pub fn value<'py>(py: Python<'py>, raw: &mut Raw<'_>, decode: bool) -> PyResult<Bound<'py, PyAny>> {
    value_of_depth(py, raw, decode, DEPTH_MAX)
}

fn value_of_depth<'py>(
    py: Python<'py>,
    raw: &mut Raw<'_>,
    decode: bool,
    depth: u32,
) -> PyResult<Bound<'py, PyAny>> {
    let depth =
        depth.checked_sub(1).ok_or_else(|| ProtocolError::new_err("the reply is nested too deeply"))?;
    let token = read(raw.token())?;
    let mut next = || value_of_depth(py, raw, decode, depth);
    match token {
        Token::Array(len) => Ok(list(py, len, &mut next)?.into_any()),
        Token::BigNumber(digits) => big_number(py, &String::from_utf8_lossy(digits)),
        Token::Bool(yes) => Ok(PyBool::new(py, yes).to_owned().into_any()),
        Token::Bytes(bytes) | Token::Status(bytes) => string(py, bytes, decode),
        Token::Double(number) => Ok(PyFloat::new(py, number).into_any()),
        Token::Error(text) => error(py, &String::from_utf8_lossy(text)),
        Token::Int(number) => Ok(number.into_pyobject(py)?.into_any()),
        Token::Map(len) => map(py, len, &mut next),
        Token::Null => Ok(py.None().into_bound(py)),
        Token::Set(len) => set(py, len, &mut next),
    }
}

/// A reply that was read from a connection.
///
/// # Errors
/// A string is to be decoded, and is no UTF-8.
pub fn of_tree<'py>(py: Python<'py>, reply: &Reply, decode: bool) -> PyResult<Bound<'py, PyAny>> {
    let items = |items: &[Reply], make: Make<'py>| {
        let mut items = items.iter();
        let len = items.len();
        make(py, len, &mut || items.next().map_or_else(|| Err(short()), |item| of_tree(py, item, decode)))
    };
    match reply {
        Reply::Array(values) => items(values, |py, len, next| Ok(list(py, len, next)?.into_any())),
        Reply::BigNumber(digits) => big_number(py, digits),
        Reply::Bool(yes) => Ok(PyBool::new(py, *yes).to_owned().into_any()),
        Reply::Bytes(bytes) => string(py, bytes, decode),
        Reply::Double(number) => Ok(PyFloat::new(py, *number).into_any()),
        Reply::Error(text) => error(py, text),
        Reply::Int(number) => Ok(number.into_pyobject(py)?.into_any()),
        Reply::Map(pairs) => {
            let mut flat = pairs.iter().flat_map(|(name, value)| [name, value]);
            let mut next = || flat.next().map_or_else(|| Err(short()), |item| of_tree(py, item, decode));
            map(py, pairs.len(), &mut next)
        }
        Reply::Null => Ok(py.None().into_bound(py)),
        Reply::Set(values) => items(values, set),
        Reply::Status(word) => string(py, word.as_bytes(), decode),
    }
}

/// Gives the values of an aggregate, one after the other.
type Next<'n, 'py> = &'n mut dyn FnMut() -> PyResult<Bound<'py, PyAny>>;
/// Makes an aggregate of this many values.
type Make<'py> = fn(Python<'py>, usize, Next<'_, 'py>) -> PyResult<Bound<'py, PyAny>>;

fn list<'py>(py: Python<'py>, len: usize, next: Next<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for _ in 0..len {
        list.append(next()?)?;
    }
    Ok(list)
}

fn set<'py>(py: Python<'py>, len: usize, next: Next<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let members = list(py, len, next)?;
    match PySet::new(py, &members) {
        Ok(set) => Ok(set.into_any()),
        Err(error) if error.is_instance_of::<PyTypeError>(py) => Ok(members.into_any()),
        Err(error) => Err(error),
    }
}

/// A dict; a list of pairs if a name cannot be hashed.
fn map<'py>(py: Python<'py>, len: usize, next: Next<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let pairs = PyList::empty(py);
    for _ in 0..len {
        pairs.append((next()?, next()?))?;
    }
    match PyDict::from_sequence(&pairs) {
        Ok(dict) => Ok(dict.into_any()),
        Err(error) if error.is_instance_of::<PyTypeError>(py) => Ok(pairs.into_any()),
        Err(error) => Err(error),
    }
}

fn big_number<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<PyInt>().call1((digits,))
}

fn error<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    Ok(of_reply(text).into_value(py).into_bound(py).into_any())
}

fn short() -> PyErr {
    ProtocolError::new_err("the reply has fewer values than announced")
}
