//! Tests of the list.

mod model;
mod scan;
