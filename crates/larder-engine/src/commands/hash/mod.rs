//! The hash commands.

mod expire;
mod expiry_options;
mod handlers;
mod number;
mod read;
mod set;

pub(crate) use handlers::HANDLERS;
