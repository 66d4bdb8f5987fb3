//! The connection commands.

mod client;
mod handlers;
mod hello;
mod kill;
mod pause;
mod tracking;

pub(crate) use handlers::HANDLERS;
