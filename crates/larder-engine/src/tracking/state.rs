//! What CLIENT TRACKING has asked for on one connection.

use std::collections::BTreeSet;

/// The options of CLIENT TRACKING ON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// BCAST: keys are told by prefix, whether they were read or not.
    pub broadcast: bool,
    /// OPTIN: only commands after CLIENT CACHING YES are remembered.
    pub opt_in: bool,
    /// OPTOUT: commands after CLIENT CACHING NO are not remembered.
    pub opt_out: bool,
    /// NOLOOP: the connection is not told of its own changes.
    pub no_loop: bool,
    /// REDIRECT: the connection that is told instead.
    pub redirect: Option<u64>,
}

/// The state of a connection with tracking turned on.
#[derive(Default)]
pub(crate) struct Tracking {
    pub options: Options,
    /// CLIENT CACHING was called for the next command.
    pub caching: bool,
    /// The connection that was to be told is gone.
    pub is_broken: bool,
    /// What is listened to; empty unless broadcasting.
    pub prefixes: BTreeSet<Box<[u8]>>,
}

impl Tracking {
    /// Whether the keys of a reading command are remembered now.
    pub(crate) fn remembers(&self) -> bool {
        let options = &self.options;
        let passed_over = options.opt_in && !self.caching || options.opt_out && self.caching;
        !options.broadcast && !passed_over
    }
}
