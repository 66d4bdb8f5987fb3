//! The Larder server.
fn main() {}
