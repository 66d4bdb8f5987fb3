//! Tests of the list.

mod model;
