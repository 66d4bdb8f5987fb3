//! Larder measured beside other servers.
fn main() {}
