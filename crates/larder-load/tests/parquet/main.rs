//! Parquet: files of the crate's own writer and of others, and files that are damaged or lie.

// (A target that requires the feature could not be named by a pattern, as the tests of the workspace are.)
#![cfg(feature = "parquet")]

mod damage;
mod fixtures;
mod lies;
mod nested;
mod support;
mod written;

/// An allocator that counts what each thread takes.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
