//! The environment of scripts beside that of Valkey: names, read-only tables, messages.

mod common;

use common::Pair;

#[test]
fn names() {
    let mut pair = Pair::start();
    for library in ["string", "table", "math", "coroutine", "os"] {
        pair.same(&format!("local t = {{}} for k, v in pairs({library}) do t[k] = type(v) end return t"));
    }
    pair.same("local t = {} for k, v in pairs(_G) do if k:upper() ~= k then t[k] = type(v) end end return t");
}

#[test]
fn tables_are_readonly() {
    Pair::start().lines(include_str!("cases/readonly.txt"));
}

#[test]
fn messages() {
    Pair::start().lines(include_str!("cases/messages.txt"));
}

#[test]
fn random_numbers() {
    Pair::start().lines(include_str!("cases/random.txt"));
}
