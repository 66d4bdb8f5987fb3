//! Names of fields that were seen lately, as Python objects: hashes of one kind have the same names, and an object that is used again need not be
//! made, nor its hash be computed by Python. Of `HGETALL` of 20 fields that is an eighth of the instructions, a third where strings
//! are decoded.
//!
//! A table with one place for a name; the last one that came has it. At most 1024 names of at most 64 bytes are kept.

use crate::reply;
use parking_lot::Mutex;
use pyo3::prelude::*;

const PLACES: usize = 1024;
const LEN_MAX: usize = 64;

/// A name and its object.
struct Name {
    bytes: Box<[u8]>,
    object: Py<PyAny>,
}

/// The names of one store or replica.
pub struct Names(Mutex<Vec<Option<Name>>>);

impl Names {
    /// None. Memory for them is taken with the first.
    pub fn new() -> Names {
        Names(Mutex::new(Vec::new()))
    }

    /// Gives a function that makes objects of names, as [`reply::string`] does, to `work`.
    pub fn with<'py, R>(
        &self,
        py: Python<'py>,
        decode: bool,
        work: impl FnOnce(&mut dyn FnMut(&[u8]) -> PyResult<Bound<'py, PyAny>>) -> R,
    ) -> R {
        // Making an object may run code of the program, which may come here again.
        let Some(mut names) = self.0.try_lock() else {
            return work(&mut |name| reply::string(py, name, decode));
        };
        if names.is_empty() {
            names.resize_with(PLACES, || None);
        }
        work(&mut |name| {
            if name.len() > LEN_MAX {
                return reply::string(py, name, decode);
            }
            let place = &mut names[place_of(name)];
            if let Some(known) = place.as_ref().filter(|known| *known.bytes == *name) {
                return Ok(known.object.bind(py).clone());
            }
            let object = reply::string(py, name, decode)?;
            *place = Some(Name { bytes: name.into(), object: object.clone().unbind() });
            Ok(object)
        })
    }
}

/// Where a name has its place: by its beginning, its end and its length.
fn place_of(name: &[u8]) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let (first, last) = match (name.first_chunk::<8>(), name.last_chunk::<8>()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => (name.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0),
    };
    let mixed = (first.wrapping_mul(ODD) ^ last ^ name.len() as u64).wrapping_mul(ODD);
    (mixed >> (u64::BITS - PLACES.ilog2())) as usize
}
