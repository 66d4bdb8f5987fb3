//! The console (`console-port`): a page for people, and the questions that it asks.
//!
//! The page is HTML, style sheet and scripts of this folder, served as they are; it may load nothing from elsewhere. Its questions are JSON
//! (`api`). They are answered by a thread of their own (`executor`), which has a client without a socket for each login: what a user may not
//! do by a connection is not done here either, and without `console-writable` nothing that changes anything.
//!
//! A login is a token of 128 random bits in a cookie that scripts cannot read and other sites' pages cannot have sent. Failed logins are in
//! ACL LOG, and a user has to wait longer after each failure from an address (`throttle`).
//!
//! Tested by `tests/console.rs`, and in a browser by `tests/console/run.py`.

mod api;
mod executor;
mod feed;
mod history;
mod json;
mod keys;
mod logins;
mod page;
mod throttle;

pub use api::Console;
