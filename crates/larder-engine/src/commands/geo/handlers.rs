//! The handlers of the geo commands, by the names of `command::tables::geo`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("geoadd", super::add::geoadd),
    ("geodist", super::read::geodist),
    ("geohash", super::read::geohash),
    ("geopos", super::read::geopos),
    ("georadius", super::search::georadius),
    ("georadiusbymember", super::search::georadiusbymember),
    ("georadiusbymember_ro", super::search::georadiusbymember_ro),
    ("georadius_ro", super::search::georadius_ro),
    ("geosearch", super::search::geosearch),
    ("geosearchstore", super::search::geosearchstore),
];
