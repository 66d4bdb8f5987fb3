//! The stream commands: scripts chosen for their edges, those who wait, and random commands.

mod entries;
mod groups;
mod random;
mod reading;
