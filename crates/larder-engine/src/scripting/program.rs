//! What is run, and how it is called.

use crate::scripts::Script;
use crate::scripts::header::ScriptFlags;
use crate::scripts::library::Library;
use crate::scripts::usual::UsualTime;
use larder_resp::Args;
use std::sync::Arc;

/// What is to be run.
pub(crate) enum Program {
    /// A script.
    Script(Arc<Script>),
    /// A function of a library, by its number there.
    Function(Arc<Library>, usize),
}

/// How it is called.
pub(crate) struct Invocation<'a> {
    pub program: Program,
    /// The whole command; keys begin at its fourth argument.
    pub args: Args<'a>,
    pub key_count: usize,
    /// By a command that ends in `_RO`.
    pub read_only: bool,
}

impl Program {
    pub(super) fn name(&self) -> &[u8] {
        match self {
            Program::Script(script) => &script.sha,
            Program::Function(library, at) => &library.functions[*at].name,
        }
    }

    /// How long it takes.
    pub(super) fn usual(&self) -> &UsualTime {
        match self {
            Program::Script(script) => &script.usual,
            Program::Function(library, at) => &library.functions[*at].usual,
        }
    }

    pub(super) fn flags(&self) -> Option<ScriptFlags> {
        match self {
            Program::Script(script) => script.flags,
            Program::Function(library, at) => Some(library.functions[*at].flags),
        }
    }
}
