//! How the server ends: what is saved before, what keeps it alive, and what it leaves behind.
//!
//! A signal or SHUTDOWN asks for it. Writes of clients are put off, what `save` says is kept is kept, and all threads stop. An
//! error lets the server go on. The cells of the table in `docs/design/persistence.md` are compared with Valkey by
//! `tests/persistence/states.rs`.

use crate::process;
use crate::server::Server;
use crate::shared::Shared;
use larder_engine::{Logged, NoShards, ShutdownFlags};
use larder_persist::{CloseError, Persist};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// How often the server looks whether replicas have everything, before it ends.
const LOOK: Duration = Duration::from_millis(5);

/// How long a replica may take to say that it takes the place of this node.
const HAND_OVER: Duration = Duration::from_secs(2);

/// Saves what must be saved and has the server end. If that fails, and is not forced, the server goes on. While data is loaded
/// there is nothing to save, and no time to lose: this does not return then.
pub fn shut_down(server: &Server, flags: ShutdownFlags, no_shards: NoShards<'_>) -> Result<(), Logged> {
    shut_down_after(server, flags, false, no_shards)
}

/// `waits`: for replicas that lack something.
fn shut_down_after(
    server: &Server,
    flags: ShutdownFlags,
    waits: bool,
    no_shards: NoShards<'_>,
) -> Result<(), Logged> {
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
    shared.log.notice("User requested shutdown...");
    shared.supervisor().tell("STOPPING=1", &shared.log);
    if flags.safe && !flags.force && persist.engine().has_slots() {
        shared
            .log
            .warning("This is a voting primary. Shutting down may cause the cluster to go down. Can't exit.");
        return Err(could_not(shared));
    }
    if waits && !flags.now && !wait_for_replicas(shared, persist, no_shards) {
        shared.log.warning("Shutdown manually aborted.");
        return Err(Logged);
    }
    if flags.failover {
        hand_over(shared, persist, flags, no_shards);
    }
    if close(shared, persist, flags, no_shards).is_err() && !flags.force {
        let engine = persist.engine();
        // First those who wait in SHUTDOWN are told: a change of the role would end their waiting otherwise.
        if !engine.gate().is_busy() {
            engine.shutdown_failed();
        }
        engine.replication().set_handing_over(false);
        engine.wake_cluster();
        return Err(could_not(shared));
    }
    // A script that has just ended answers those who have killed it before it leaves its turn.
    drop(persist.engine().try_take_turn(no_shards));
    // The client that asked sees its connection close when the threads stop. No connection is accepted after that.
    process::close_listeners(shared);
    shared.request_stop(flags);
    Ok(())
}

/// Waits until replicas have acknowledged everything, while writes are put off; `shutdown-timeout` at most. False if the server is not to
/// end any more.
fn wait_for_replicas(shared: &Shared, persist: &Persist, no_shards: NoShards<'_>) -> bool {
    let engine = persist.engine();
    if !engine.replicas_lag() {
        return true;
    }
    shared.log.notice("Waiting for replicas before shutting down");
    let (begun, replication) = (Instant::now(), engine.replication());
    let timeout = Duration::from_secs(shared.config.number("shutdown-timeout").max(0) as u64);
    replication.set_ending(Some(larder_engine::wall_ms() + timeout.as_millis() as u64));
    engine.close_gate(no_shards);
    engine.hurry_replicas();
    while engine.replicas_lag() && begun.elapsed() < timeout && replication.is_ending() {
        std::thread::sleep(LOOK);
    }
    let goes_on = replication.is_ending();
    replication.set_ending(None);
    if !goes_on {
        engine.gate().set_closing(false);
        engine.retry_put_off();
    }
    goes_on
}

fn could_not(shared: &Shared) -> Logged {
    shared.log.warning("Errors trying to shut down the server. Check the logs for more information.");
    Logged
}

/// Tells a replica to take the place of this node, if that is a primary of a cluster. Writes are put off from then on, so that none is
/// acknowledged that it does not have.
fn hand_over(shared: &Shared, persist: &Persist, flags: ShutdownFlags, no_shards: NoShards<'_>) {
    let engine = persist.engine();
    if !engine.is_cluster_node() || engine.replication().is_replica() {
        return;
    }
    engine.close_gate(no_shards);
    let begun = Instant::now();
    if engine.replicas_lag() && !flags.now {
        // Of what was written at the last moment.
        engine.hurry_replicas();
        wait_until(begun, || !engine.replicas_lag());
    }
    engine.replication().set_handing_over(true);
    match engine.appoint_heir() {
        None => {
            engine.replication().set_handing_over(false);
            shared.log.notice("Unable to find a replica to perform the auto failover on shutdown.");
        }
        Some(heir) => {
            let node = heir.node;
            shared.log.notice(&format!("Perform auto failover to replica {node} on shutdown."));
            wait_until(begun, || heir.knows());
        }
    }
}

/// Waits until something holds, for [`HAND_OVER`] since the beginning at most.
fn wait_until(begun: Instant, holds: impl Fn() -> bool) {
    while !holds() && begun.elapsed() < HAND_OVER {
        std::thread::sleep(LOOK);
    }
}

fn close(
    shared: &Shared,
    persist: &Persist,
    flags: ShutdownFlags,
    no_shards: NoShards<'_>,
) -> Result<(), CloseError> {
    persist.close(saves_at_end(flags, shared), flags.force, no_shards).inspect_err(|error| {
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

/// Whether a signal has asked for the end, and the server has neither ended nor failed to.
pub fn is_asked(shared: &Shared) -> bool {
    shared.shutdown_asked.load(Relaxed)
}

/// Has the server end, by a thread of its own: more may be asked meanwhile. While a script takes its time the server goes on: it ends after the
/// script, which may be killed.
pub fn begin(server: &Arc<Server>, flags: ShutdownFlags) {
    if server.persist().is_none_or(|persist| !persist.is_loaded()) {
        let _ = shut_down(server, flags, NoShards::outside_commands());
        return;
    }
    let own = Arc::clone(server);
    let begun = larder_engine::spawn_background("shutdown", move |_| {
        if let Some(persist) = own.persist() {
            follow(&own, persist, flags);
        }
    });
    if let Err(error) = begun {
        server.shared.shutdown_asked.store(false, Relaxed);
        server.shared.log.warning(&format!("Can't shut down: {error}"));
    }
}

/// Has the server end when no script runs for too long. What cannot be saved keeps it alive; the log says why.
fn follow(server: &Server, persist: &Persist, flags: ShutdownFlags) {
    let is_busy = || persist.engine().gate().is_busy();
    loop {
        while is_busy() && !server.shared.is_stopping() {
            std::thread::sleep(LOOK);
        }
        match shut_down_after(server, flags, true, NoShards::outside_commands()) {
            // A script has come in between.
            Err(Logged) if is_busy() => {}
            Err(Logged) => {
                server.shared.shutdown_asked.store(false, Relaxed);
                return persist.engine().shutdown_failed();
            }
            Ok(()) => break,
        }
    }
    // The threads end after what they are at, but for a script that does not end.
    loop {
        if is_busy() {
            persist.engine().abandon_scripts();
        }
        std::thread::sleep(LOOK);
    }
}
