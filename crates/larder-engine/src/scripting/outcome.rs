//! What becomes of the result of a script: a reply, or an error.

use super::convert::{Fields, Writer};
use super::interpreter::Interpreter;
use super::program::Program;
use crate::acl;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::execution::dispatch;
use mlua::{Result, Table, Value};

/// Writes the result, or returns the error.
pub(super) fn finish(
    context: &mut Context<'_>,
    Interpreter { lua, fields, .. }: &Interpreter,
    program: &Program,
    outcome: Result<(bool, Value)>,
    resp3: bool,
) -> CommandResult {
    let (worked, value) = outcome.map_err(|error| internal(&error))?;
    match value {
        Value::Table(error) if !worked => {
            Err(raised(fields, &error).unwrap_or_else(|error| internal(&error)))
        }
        Value::Error(error) if !worked => Err(internal(&error)),
        // Lua does not ask the handler of errors when memory runs out, or when the handler itself fails.
        Value::String(message) if !worked => Err(unhandled(program, &message.as_bytes())),
        _ if !worked => Err(CommandError::Fixed("ERR unknown error")),
        value => {
            if let Value::Table(table) = &value
                && let Ok(Some(error)) = returned_error(fields, table)
            {
                return Err(error);
            }
            let (engine, worker) = (context.engine, &*context.worker);
            let count = |text: &[u8]| dispatch::count_error(engine, worker, text);
            let writer = Writer { lua, fields, resp3, count: &count };
            writer.write(&value, &mut context.reply, 0).map_err(|error| internal(&error))
        }
    }
}

/// The error that a script has returned, if it has.
fn returned_error(fields: &Fields, table: &Table) -> Result<Option<CommandError>> {
    let Value::String(text) = table.raw_get(&fields.err)? else { return Ok(None) };
    Ok(Some(counted_or_not(fields, table, text.as_bytes().to_vec())?))
}

/// The error that a script has raised, with the place.
fn raised(fields: &Fields, table: &Table) -> Result<CommandError> {
    let mut text = match table.raw_get(&fields.err)? {
        Value::String(text) => text.as_bytes().to_vec(),
        Value::Integer(n) => n.to_string().into_bytes(),
        Value::Number(n) => n.to_string().into_bytes(),
        _ => b"ERR unknown error".to_vec(),
    };
    let part = |field| match table.raw_get(field) {
        Ok(Value::String(text)) => Some(text.as_bytes().to_vec()),
        Ok(Value::Integer(n)) => Some(n.to_string().into_bytes()),
        _ => None,
    };
    if let (Some(source), Some(line)) = (part(&fields.source), part(&fields.line)) {
        add_place(&mut text, &source, &line);
    }
    counted_or_not(fields, table, text)
}

/// What a refusal is counted as: for the lack of a right, the error that a client would get.
pub(super) fn counted_as(error: &CommandError) -> CommandError {
    let wire = error.wire();
    let lacks_right = wire.strip_prefix(b"ERR ").is_some_and(|text| text.starts_with(acl::FAILURE_IN_SCRIPT));
    if lacks_right { CommandError::Fixed("NOPERM ") } else { error.clone() }
}

/// An error that is no table.
fn unhandled(program: &Program, message: &[u8]) -> CommandError {
    let mut text = b"ERR Error running script ".to_vec();
    if matches!(program, Program::Script(_)) {
        text.extend_from_slice(b"f_");
    }
    for part in [program.name(), b", ", &message[..message.len().min(100)]] {
        text.extend_from_slice(part);
    }
    CommandError::Text(text)
}

/// An error that came from a command is in the statistics already.
fn counted_or_not(fields: &Fields, table: &Table, text: Vec<u8>) -> Result<CommandError> {
    let is_counted = table.raw_get::<Value>(&fields.ignore)? == Value::Boolean(true);
    Ok(if is_counted { CommandError::Counted(text) } else { CommandError::Custom(text) })
}

/// Adds where it was raised.
pub(super) fn add_place(text: &mut Vec<u8>, source: &[u8], line: &[u8]) {
    for part in [b" script: on ", source, b":", line, b"."] {
        text.extend_from_slice(part);
    }
}

/// The interpreter itself failed: it is out of memory, or out of stack.
pub(super) fn internal(error: &mlua::Error) -> CommandError {
    let text = error.to_string();
    CommandError::text(format!("ERR {}", text.lines().next().unwrap_or("unknown error")))
}
