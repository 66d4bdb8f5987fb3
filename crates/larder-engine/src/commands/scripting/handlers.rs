//! The handlers of the scripting commands, by the names of `command::tables::scripting`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("eval", super::eval::eval),
    ("evalsha", super::eval::evalsha),
    ("evalsha_ro", super::eval::evalsha_ro),
    ("eval_ro", super::eval::eval_ro),
    ("fcall", super::eval::fcall),
    ("fcall_ro", super::eval::fcall_ro),
    ("function|delete", super::library::delete),
    ("function|dump", super::library::dump),
    ("function|flush", super::library::flush),
    ("function|help", super::library::help),
    ("function|kill", super::library::kill),
    ("function|list", super::library::list),
    ("function|load", super::library::load),
    ("function|restore", super::library::restore),
    ("function|stats", super::library::stats),
    ("script|debug", super::cached::debug),
    ("script|exists", super::cached::exists),
    ("script|flush", super::cached::flush),
    ("script|help", super::cached::help),
    ("script|kill", super::cached::kill),
    ("script|load", super::cached::load),
    ("script|show", super::cached::show),
];
