//! Clusters of servers: redirections beside Valkey's, nodes that join, fail and take each other's place, the tools of operators, and clusters of
//! which only some nodes are Larder.

mod announced;
mod attack;
mod commands;
mod document;
mod failover;
mod file;
mod leaving;
mod migration;
mod migration_busy;
mod migration_deadlines;
mod migration_effects;
mod migration_failover;
mod mixed;
mod node;
mod nodes;
mod open_slots;
mod redirects;
mod replicas;
mod scan;
mod slot_stats;
mod slots;
mod tls;
mod tools;
