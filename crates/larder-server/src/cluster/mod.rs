//! The cluster bus: one thread that has the sockets to the other nodes, the file that says what this node knows, and the state machine of
//! `larder-cluster`, which decides everything.
//!
//! ```text
//!   sockets of nodes -----> Cluster -----> actions: the file, the role, the slot map, keys to delete, packets
//!   subcommands, messages --^   ^------- ticks, options, offsets
//! ```
//!
//! Clients' threads leave subcommands and messages for it (`Engine::take_cluster_mail`) and read the slot map
//! that it hands out. Whatever it does to the engine gives up when a script keeps the shards, and is tried
//! again 2 ms later (`deeds`): the loop must not wait, as nodes that are not heard of are taken for dead.
//!
//! `settings`: the options. `file`: `nodes.conf` and its lock. `links`: sockets. `facts`: what the
//! state machine asks of the engine. `deeds`: what is done to the engine. `export`: slots that go
//! to another node, with a thread for each migration; `target`: the way there. `imports`: slots
//! that come. `replies`: what subcommands show. `set_slot`: changes of a slot that the replicas
//! must have first. `told`: lines of the log. `bus`: the loop.
//!
//! Tested by `tests/cluster`.

mod bus;
mod deeds;
mod export;
mod facts;
mod file;
mod imports;
mod links;
mod replies;
mod set_slot;
mod settings;
mod target;
mod told;

pub use bus::{Bus, CannotStart};
