//! What the table promises beyond being a map.
