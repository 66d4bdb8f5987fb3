//! Expiry under a simulated clock.
