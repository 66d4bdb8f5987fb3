//! Lua 5.1.5, compiled from the sources in the crate `lua-src` with corrections that stock Lua 5.1 never received.
//!
//! The last release of Lua 5.1 is of 2012. What has been found since then is listed in `build/edits.rs`: each entry replaces
//! a few words of one source file while it is compiled, and a build that cannot find them fails. This crate has no code;
//! whoever links it has Lua's C interface, as `mlua` expects it.
//!
//! Tested by `larder-lua/tests/corrections.rs`.

use mlua_sys as _;
