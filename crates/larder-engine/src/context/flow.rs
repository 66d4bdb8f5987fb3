//! What becomes of a connection after a command.

/// What becomes of the connection after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The next command.
    Next,
    /// The next command, after the messages that have been left for the client: it has sent one to itself.
    Deliver,
    /// Closed once the output is sent.
    CloseAfterFlush,
    /// Closed at once.
    CloseNow,
    /// Waits for keys; its further commands wait in the input buffer.
    Blocked {
        /// When it gives up, on the clock of `Worker::now_ms`.
        deadline_ms: Option<u64>,
    },
    /// The client is a replica from now on, or its state as one has changed.
    Replica,
    /// The command was not executed: clients are paused, a script runs for long, data is loaded, or its keys
    /// are being moved. It stays in the input buffer and is tried again.
    Retry,
    /// The command was not executed: it may run a script, and is to be given to `Worker::execute_script`.
    Script,
    /// The command was not executed: it takes long, and is to be given to `Worker::execute_long` of another thread.
    Long,
    /// The command is to be executed once more, after something has been made for it; only within `Worker::execute_long`.
    Apart,
    /// The command was not executed: it is a script to be debugged on a copy of the data, see `Twin`.
    Debug,
}
