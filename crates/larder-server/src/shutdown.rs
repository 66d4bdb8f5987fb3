//! How the server ends: what is saved before, what keeps it alive, and what it leaves behind.
//!
//! A signal or SHUTDOWN asks for it. Writes of clients are put off, what `save` says is kept is kept, and all threads stop. An
//! error lets the server go on. The cells of the table in `docs/design/persistence.md` are compared with Valkey by
//! `tests/persistence/states.rs`.

use crate::persist::Persist;
use crate::process;
use crate::shared::Shared;
use larder_engine::ShutdownFlags;
use std::sync::Arc;

/// Saves what must be saved and has the server end. If that fails, and is not forced, the server goes on. While data is loaded
/// there is nothing to save, and no time to lose: this does not return then.
pub fn shut_down(shared: &Shared, flags: ShutdownFlags) -> Result<(), String> {
    let persist = shared.persist.get().filter(|persist| persist.is_loaded());
    let Some(persist) = persist else {
        shared.log.warning("Received shutdown signal during loading, exiting now.");
        exit_at_once(shared, 0);
    };
    // Another one may be under way.
    let _turn = shared.shutdown_turn.lock();
    if shared.is_stopping() {
        return Ok(());
    }
    shared.log.warning("User requested shutdown...");
    shared.supervisor().tell("STOPPING=1", &shared.log);
    if let Err(text) = close(shared, persist, flags)
        && !flags.force
    {
        shared.log.warning("Errors trying to shut down the server. Check the logs for more information.");
        return Err(text);
    }
    shared.request_stop(flags);
    Ok(())
}

fn close(shared: &Shared, persist: &Persist, flags: ShutdownFlags) -> Result<(), String> {
    persist.close(saves_at_end(flags, shared), flags.force).inspect_err(|text| {
        let consequence = if flags.force { "Exit anyway." } else { "can't exit." };
        shared.log.warning(&format!("{text}, {consequence}"));
    })
}

/// Whether the server saves when it ends, for these flags of SHUTDOWN.
fn saves_at_end(flags: ShutdownFlags, shared: &Shared) -> bool {
    flags.save || !flags.nosave && !shared.config.value("save").is_empty()
}

/// Ends the process without waiting for anything. No file stays that is not whole.
pub fn exit_at_once(shared: &Shared, code: i32) -> ! {
    clean_up(shared);
    std::process::exit(code);
}

/// Takes away what only a running server has: temporary files, the pidfile, sockets in the file system.
pub fn clean_up(shared: &Shared) {
    if let Some(persist) = shared.persist.get() {
        persist.abandon();
    }
    if let Some(path) = process::pidfile(&shared.config) {
        shared.log.notice("Removing the pid file.");
        let _ = std::fs::remove_file(path);
    }
    for path in shared.listeners.lock().close_all() {
        shared.log.notice("Removing the unix socket file.");
        let _ = std::fs::remove_file(path);
    }
    shared.log.warning("Larder is now ready to exit, bye bye...");
}

/// Follows a signal that asks the server to end. The thread that catches signals goes on: another one may come.
pub fn begin(shared: &Arc<Shared>, flags: ShutdownFlags) {
    if shared.persist.get().is_none_or(|persist| !persist.is_loaded()) {
        let _ = shut_down(shared, flags);
        return;
    }
    let own = Arc::clone(shared);
    // What cannot be saved keeps the server alive; the log says why.
    let begun = larder_engine::spawn_background("shutdown", move |_| drop(shut_down(&own, flags)));
    if let Err(error) = begun {
        shared.log.warning(&format!("Can't shut down: {error}"));
    }
}
