//! What is known of saving and loading, and what may be done meanwhile.

pub(crate) mod availability;
pub(crate) mod state;
