//! How the server ends: what is saved before, what keeps it alive, and what it leaves behind.
//!
//! A signal or SHUTDOWN asks for it. Writes of clients are put off, what `save` says is kept is kept, and all threads stop. An
//! error lets the server go on. The cells of the table in `docs/design/persistence.md` are compared with Valkey by
//! `tests/persistence/states.rs`.

use crate::persist::{CloseError, Persist};
use crate::process;
use crate::server::Server;
use crate::shared::Shared;
use larder_engine::{Logged, ShutdownFlags};
use std::sync::Arc;

/// Saves what must be saved and has the server end. If that fails, and is not forced, the server goes on. While data is loaded
/// there is nothing to save, and no time to lose: this does not return then.
pub fn shut_down(server: &Server, flags: ShutdownFlags) -> Result<(), Logged> {
    let shared = &server.shared;
    let persist = server.persist().filter(|persist| persist.is_loaded());
    let Some(persist) = persist else {
        shared.log.warning("Received shutdown signal during loading, exiting now.");
        exit_at_once(server, 0);
    };
    // Another one may be under way.
    let _turn = shared.shutdown_turn.lock();
    if shared.is_stopping() {
        return Ok(());
    }
    shared.log.warning("User requested shutdown...");
    shared.supervisor().tell("STOPPING=1", &shared.log);
    if close(shared, persist, flags).is_err() && !flags.force {
        shared.log.warning("Errors trying to shut down the server. Check the logs for more information.");
        return Err(Logged);
    }
    shared.request_stop(flags);
    Ok(())
}

fn close(shared: &Shared, persist: &Persist, flags: ShutdownFlags) -> Result<(), CloseError> {
    persist.close(saves_at_end(flags, shared), flags.force).inspect_err(|error| {
        let consequence = if flags.force { "Exit anyway." } else { "can't exit." };
        shared.log.warning(&format!("{error}, {consequence}"));
    })
}

/// Whether the server saves when it ends, for these flags of SHUTDOWN.
fn saves_at_end(flags: ShutdownFlags, shared: &Shared) -> bool {
    flags.save || !flags.nosave && !shared.config.value("save").is_empty()
}

/// Ends the process without waiting for anything. No file stays that is not whole.
pub fn exit_at_once(server: &Server, code: i32) -> ! {
    clean_up(server);
    std::process::exit(code);
}

/// Takes away what only a running server has.
pub fn clean_up(server: &Server) {
    if let Some(persist) = server.persist() {
        persist.abandon();
    }
    process::clean_up(&server.shared);
}

/// Follows a signal that asks the server to end. The thread that catches signals goes on: another one may come.
pub fn begin(server: &Arc<Server>, flags: ShutdownFlags) {
    if server.persist().is_none_or(|persist| !persist.is_loaded()) {
        let _ = shut_down(server, flags);
        return;
    }
    let own = Arc::clone(server);
    // What cannot be saved keeps the server alive; the log says why.
    let begun = larder_engine::spawn_background("shutdown", move |_| {
        let _ = shut_down(&own, flags);
    });
    if let Err(error) = begun {
        server.shared.log.warning(&format!("Can't shut down: {error}"));
    }
}
