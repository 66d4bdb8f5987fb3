//! What the subcommands of CLUSTER show, as text or as values from which replies are written.

mod info;
mod nodes;
mod topology;

pub use nodes::Viewer;
pub use topology::{HealthView, LinkView, NodeView, ShardView, SlotRangeView};
