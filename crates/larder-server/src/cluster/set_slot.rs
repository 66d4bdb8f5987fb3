//! CLUSTER SETSLOT on a primary that has replicas: they get it first, through the stream, and it is done here when they have it. A primary
//! that fails in between leaves replicas that know who has the slot, and not a slot that two claim or nobody.

use larder_engine::{Engine, Request};

/// How long the replicas may take where nobody says it, in ms.
const TIMEOUT_MS: u64 = 2000;

/// A change of a slot that waits for replicas.
pub struct Waiting {
    /// Who wants it.
    pub request: Request,
    /// Where in the stream it is.
    position: u64,
    /// In monotonic ms.
    deadline_ms: u64,
}

/// What has become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The replicas have it.
    Done,
    /// They do not have it, and it takes too long.
    Late,
    /// They do not have it yet.
    Waits,
}

impl Waiting {
    /// Hands a change to the replicas; gives it back if there is none to wait for. One whose snapshot is on its way gets it after that.
    /// `now_ms`: monotonic.
    pub fn begin(
        engine: &Engine,
        request: Request,
        timeout_ms: Option<u64>,
        now_ms: u64,
    ) -> Result<Waiting, Box<Request>> {
        let words: Vec<&[u8]> = request.args.as_args().iter().collect();
        engine.watch_acks(true);
        let position = engine.tell_replicas(&words);
        if engine.replicas_have(0).is_none() {
            return Err(Box::new(request));
        }
        let timeout_ms = timeout_ms.filter(|&timeout| timeout > 0).unwrap_or(TIMEOUT_MS);
        Ok(Waiting { request, position, deadline_ms: now_ms.saturating_add(timeout_ms) })
    }

    /// How it stands. Replicas that have gone are not waited for.
    pub fn progress(&self, engine: &Engine, now_ms: u64) -> Progress {
        match engine.replicas_have(self.position) {
            Some(false) if now_ms >= self.deadline_ms => Progress::Late,
            Some(false) => Progress::Waits,
            Some(true) | None => Progress::Done,
        }
    }
}
