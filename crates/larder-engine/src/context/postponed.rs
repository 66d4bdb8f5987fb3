//! What a thread remembers of a command that takes long; how it goes is in `long.rs`.

use crate::clients::queue::Watched;
use larder_packed::bytes::SharedBytes;
use larder_resp::Args;
use std::any::Any;

/// What a thread does with a command that takes long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// It executes it, and has nobody else to give it to.
    #[default]
    Only,
    /// It serves clients, and gives it away.
    Serving,
    /// It is the one to which such commands are given.
    Long,
    /// It executes it for a script, which may lend its shards.
    Lending,
}

/// What a thread remembers of a command that takes long, from one execution to the next.
#[derive(Default)]
pub(crate) struct LongState {
    pub(crate) place: Place,
    /// What is to be made while no shard is held.
    pub(crate) wanted: Option<Wanted>,
    /// What has been made.
    pub(crate) made: Option<Made>,
    /// Bytes of the compressed strings that were read, for a command that counts them.
    pub(crate) cold_bytes: usize,
    /// Values that are compressed stay so, however often they are read.
    pub(crate) leaves_cold: bool,
    /// What is to be freed after the shards have been let go.
    pub(crate) spent: Option<Product>,
    /// A string that is the reply, to be written after the shards have been let go.
    pub(crate) late_reply: Option<SharedBytes>,
}

pub(crate) type Product = Box<dyn Any + Send>;

/// Something that is to be made.
pub(crate) struct Wanted {
    pub(super) make: Box<dyn FnOnce(Args<'_>) -> Product + Send>,
    pub(super) keys: Vec<Watched>,
}

impl Wanted {
    /// Makes it, for a command with these arguments.
    pub(crate) fn make(self, args: Args<'_>) -> Made {
        Made { product: Some((self.make)(args)), keys: self.keys }
    }
}

/// Something that has been made.
pub(crate) struct Made {
    /// Until it has been put in its place.
    pub(super) product: Option<Product>,
    /// What it was made from. They are watched until the command is over.
    pub(crate) keys: Vec<Watched>,
}
