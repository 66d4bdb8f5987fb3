//! Test support: starts servers on free ports and speaks RESP to them.
