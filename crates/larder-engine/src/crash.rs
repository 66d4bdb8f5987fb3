//! What the engine tells of itself in the report of a crash.
//!
//! Locks may be held by the thread that has crashed. Nothing here waits for a shard; what waits for another lock may not return, so
//! the parts that need the least come first, and the one who reports gives up after a while.

use crate::clients::describe::describe_for_log;
use crate::engine::Engine;
use crate::snapshot::load::Replay;
use larder_resp::OwnedArgs;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The sections of INFO that go into a report, the most useful first.
const SECTIONS: [&str; 12] = [
    "server",
    "persistence",
    "replication",
    "stats",
    "memory",
    "cpu",
    "errorstats",
    "commandstats",
    "keyspace",
    "clients",
    "cluster",
    "modules",
];
/// Connections in a report.
const CLIENTS_MAX: usize = 1000;
impl Engine {
    /// The client whose command a thread executes, and the command. The thread goes by its name.
    pub fn crash_client(&self, thread: &str) -> String {
        let number = |name: &str| thread.strip_prefix(name)?.parse::<usize>().ok();
        let stats = match number("worker-") {
            Some(index) => self.stats.try_of(index),
            None => number("larder-long-").and_then(|number| self.stats.try_of_long(number)),
        };
        let Some(stats) = stats else { return String::new() };
        let Some((client, argc)) = stats.current.get() else { return String::new() };
        let Some(client) = self.clients.find(client) else { return format!("id={client}\nargc: {argc}\n") };
        let mut text = self.crash_line(&client);
        text.push_str(&format!("argc: {argc}\n"));
        text.push_str(&String::from_utf8_lossy(&stats.current.text()));
        text
    }

    /// The options that are not what they are by default, without secrets.
    pub fn crash_config(&self) -> String {
        let changed = self.config.changed().into_iter().filter(|(name, _)| !self.hides_option(name));
        changed.map(|(name, value)| format!("{name} {value}\n")).collect()
    }

    fn hides_option(&self, name: &str) -> bool {
        crate::config::Config::is_sensitive(name.as_bytes())
    }

    /// Hands out the sections of INFO one by one; those that need a shard which is held are left out.
    pub fn crash_info(self: &Arc<Self>, mut each: impl FnMut(&str)) {
        // Threads that wait for a shard give up.
        self.shards.set_busy(true);
        let mut own = Replay::new(self);
        for section in SECTIONS {
            let line: OwnedArgs = [b"INFO".as_slice(), section.as_bytes()].into_iter().collect();
            if let Some(reply) = own.ask(line.as_args()) {
                let text = String::from_utf8_lossy(reply);
                // The first line is the length.
                each(text.split_once("\r\n").map_or("", |(_, text)| text));
            }
        }
    }

    /// The connections, as CLIENT LIST has them.
    pub fn crash_clients(&self) -> String {
        self.clients.snapshot().iter().take(CLIENTS_MAX).map(|client| self.crash_line(client)).collect()
    }

    fn crash_line(&self, client: &crate::clients::session::ClientShared) -> String {
        let hides = self.config.hot.hide_user_data_from_log.load(Relaxed);
        let mut line = describe_for_log(client, crate::clock::wall_ms(), hides);
        line.push(b'\n');
        String::from_utf8_lossy(&line).into_owned()
    }
}
