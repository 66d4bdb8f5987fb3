//! What scripts can set of an instance of `cjson`: each function takes new values, nil for no change, and returns what
//! holds then.

use crate::arguments::Arguments;
use mlua::{MultiValue, Value};
use std::cell::Cell;

/// Containers in one another that are followed at most, whatever the settings say.
pub(super) const DEPTH_MAX: usize = 2500;

/// What becomes of NaN and infinities.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Invalid {
    Refused,
    Allowed,
    Null,
}

/// The settings of one instance.
pub(super) struct Settings {
    pub(super) sparse_convert: Cell<bool>,
    pub(super) sparse_ratio: Cell<i32>,
    pub(super) sparse_safe: Cell<i32>,
    pub(super) encode_depth_max: Cell<i32>,
    pub(super) decode_depth_max: Cell<i32>,
    pub(super) precision: Cell<i32>,
    keep_buffer: Cell<bool>,
    pub(super) encode_invalid: Cell<Invalid>,
    pub(super) decode_invalid: Cell<bool>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sparse_convert: Cell::new(false),
            sparse_ratio: Cell::new(2),
            sparse_safe: Cell::new(10),
            encode_depth_max: Cell::new(1000),
            decode_depth_max: Cell::new(1000),
            precision: Cell::new(14),
            keep_buffer: Cell::new(true),
            encode_invalid: Cell::new(Invalid::Refused),
            decode_invalid: Cell::new(true),
        }
    }
}

/// A function that changes settings.
type Change = fn(&Settings, &Arguments) -> mlua::Result<MultiValue>;

/// By the names that scripts use.
pub(super) const FUNCTIONS: &[(&str, Change)] = &[
    ("encode_sparse_array", sparse_array),
    ("encode_max_depth", |settings, arguments| {
        one(arguments, || integer(arguments, 1, &settings.encode_depth_max, 1, i32::MAX))
    }),
    ("decode_max_depth", |settings, arguments| {
        one(arguments, || integer(arguments, 1, &settings.decode_depth_max, 1, i32::MAX))
    }),
    ("encode_number_precision", |settings, arguments| {
        one(arguments, || integer(arguments, 1, &settings.precision, 1, 14))
    }),
    ("encode_keep_buffer", |settings, arguments| {
        one(arguments, || boolean(arguments, &settings.keep_buffer))
    }),
    ("encode_invalid_numbers", |settings, arguments| {
        one(arguments, || invalid_numbers(arguments, &settings.encode_invalid))
    }),
    ("decode_invalid_numbers", |settings, arguments| {
        one(arguments, || boolean(arguments, &settings.decode_invalid))
    }),
];

fn sparse_array(settings: &Settings, arguments: &Arguments) -> mlua::Result<MultiValue> {
    at_most(arguments, 3)?;
    Ok(MultiValue::from_iter([
        boolean(arguments, &settings.sparse_convert)?,
        integer(arguments, 2, &settings.sparse_ratio, 0, i32::MAX)?,
        integer(arguments, 3, &settings.sparse_safe, 0, i32::MAX)?,
    ]))
}

fn one(arguments: &Arguments, change: impl FnOnce() -> mlua::Result<Value>) -> mlua::Result<MultiValue> {
    at_most(arguments, 1)?;
    Ok(MultiValue::from_iter([change()?]))
}

fn at_most(arguments: &Arguments, count: usize) -> mlua::Result<()> {
    if arguments.len() > count {
        return Err(arguments.bad(count + 1, "found too many arguments"));
    }
    Ok(())
}

fn integer(
    arguments: &Arguments,
    position: usize,
    setting: &Cell<i32>,
    low: i32,
    high: i32,
) -> mlua::Result<Value> {
    if !arguments.is_none_or_nil(position) {
        let value = arguments.int(position)?;
        if !(low..=high).contains(&value) {
            return Err(arguments.bad(1, &format!("expected integer between {low} and {high}")));
        }
        setting.set(value);
    }
    Ok(Value::Integer(i64::from(setting.get())))
}

fn boolean(arguments: &Arguments, setting: &Cell<bool>) -> mlua::Result<Value> {
    match arguments.get(1) {
        None | Some(Value::Nil) => {}
        Some(Value::Boolean(value)) => setting.set(*value),
        Some(_) => {
            let option = arguments.string(1)?.to_string_lossy();
            return Err(arguments.bad(1, &format!("invalid option '{option}'")));
        }
    }
    Ok(Value::Boolean(setting.get()))
}

fn invalid_numbers(arguments: &Arguments, setting: &Cell<Invalid>) -> mlua::Result<Value> {
    match arguments.get(1) {
        None | Some(Value::Nil) => {}
        Some(Value::Boolean(false)) => setting.set(Invalid::Refused),
        Some(Value::Boolean(true)) => setting.set(Invalid::Allowed),
        Some(_) => {
            let option = arguments.string(1)?.to_string_lossy();
            setting.set(match option.as_str() {
                "off" => Invalid::Refused,
                "on" => Invalid::Allowed,
                "null" => Invalid::Null,
                _ => return Err(arguments.bad(1, &format!("invalid option '{option}'"))),
            });
        }
    }
    Ok(match setting.get() {
        Invalid::Refused => Value::Boolean(false),
        Invalid::Allowed => Value::Boolean(true),
        Invalid::Null => Value::String(arguments.lua.create_string("null")?),
    })
}
