//! Scripts of commands by family, chosen for their edges.

mod keys;
mod lists;
mod server;
mod strings;
