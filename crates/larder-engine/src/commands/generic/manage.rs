//! Deleting, renaming, copying and moving keys.

use crate::context::Context;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::Key;
use crate::keyspace::kind::Kind;
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::key_table::{Captured, ExpireChange, INLINE_MAX, NewValue, OwnedValue};
use larder_collections::value::Value;
use larder_resp::Args;
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn del(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let lazily = context.engine.config.hot.lazyfree_lazy_user_del.load(Relaxed);
    delete_all(context, args, lazily)
}

pub(super) fn unlink(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    delete_all(context, args, true)
}

fn delete_all(context: &mut Context<'_>, args: Args<'_>, lazily: bool) -> CommandResult {
    let mut deleted = 0;
    context.each_key(args.from(1), 1, |context, key, _| {
        deleted += usize::from(!context.is_known_absent(key) && context.delete_as(key, lazily));
    });
    context.reply.count(deleted);
    Ok(())
}

pub(super) fn exists(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    count_found(context, args, |context, key| context.read_unmarked(key, |entry, _| entry.is_some()))
}

pub(super) fn touch(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    count_found(context, args, |context, key| context.read(key, |entry, _| entry.is_some()))
}

/// Replies with the number of keys that `is_found` finds.
fn count_found(
    context: &mut Context<'_>,
    args: Args<'_>,
    is_found: impl Fn(&mut Context<'_>, &Key<'_>) -> bool,
) -> CommandResult {
    let mut count = 0;
    context.each_key(args.from(1), 1, |context, key, _| {
        count += usize::from(!context.is_known_miss(key) && is_found(context, key));
    });
    context.reply.count(count);
    Ok(())
}

pub(super) fn type_of(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let kind = context.read_unmarked(&key, |entry, _| entry.map(|entry| Kind::of(&entry.kept())));
    context.reply.simple(kind.map_or("none", Kind::name));
    Ok(())
}

/// A value taken out of its key or cloned from it, with all that belongs to it.
struct Parcel {
    value: OwnedValue<Value>,
    expire_at_ms: Option<u64>,
}

/// Takes a value from a key that exists.
fn take(context: &mut Context<'_>, key: &Key<'_>) -> Option<Parcel> {
    if !context.exists(key) {
        return None;
    }
    let removed = context.take_entry(key)?;
    Some(Parcel { value: removed.value, expire_at_ms: removed.expire_at_ms })
}

/// Clones the value of a key: collections share their blocks with the original.
fn clone(context: &mut Context<'_>, key: &Key<'_>) -> Option<Parcel> {
    let captured = context.read(key, |entry, _| entry.map(|entry| Captured::of(&entry)))?;
    Some(Parcel { value: captured.value, expire_at_ms: captured.expire_at_ms })
}

/// Puts a value under a key, replacing whatever it holds.
fn place(context: &mut Context<'_>, key: &Key<'_>, parcel: Parcel) {
    let expire = parcel.expire_at_ms.map_or(ExpireChange::Clear, ExpireChange::At);
    match parcel.value {
        // It may go to another database, which its dictionary is not for.
        OwnedValue::Out(value) => match value.into_used() {
            Value::String(bytes) if bytes.len() <= INLINE_MAX => context.put_string(key, &bytes, expire),
            value => context.put(key, NewValue::Out(value), expire),
        },
        OwnedValue::Inline { kind, bytes } => {
            context.put(key, NewValue::Inline { kind, bytes: &bytes }, expire);
        }
    }
    context.modified(key);
    context.signal_ready(key);
}

pub(super) fn rename(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    rename_with(context, args, true)?;
    context.reply.ok();
    Ok(())
}

pub(super) fn renamenx(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let renamed = rename_with(context, args, false)?;
    context.reply.int(i64::from(renamed));
    Ok(())
}

fn rename_with(context: &mut Context<'_>, args: Args<'_>, replace: bool) -> CommandResult<bool> {
    let (source, target) = (context.key(args.at(1)), context.key(args.at(2)));
    if !context.exists(&source) {
        return Err(CommandError::NO_SUCH_KEY);
    }
    if source.bytes == target.bytes {
        return Ok(replace);
    }
    if !replace && context.exists(&target) {
        return Ok(false);
    }
    context.make_room(&target);
    if let Some(parcel) = take(context, &source) {
        // In this order, which clients that cache both see.
        context.modified_by(&source, 0);
        place(context, &target, parcel);
        context.notify(class::GENERIC, "rename_from", &source);
        context.notify(class::GENERIC, "rename_to", &target);
    }
    Ok(true)
}

pub(super) fn move_key(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let target_db = number::database(&args[2], context.engine.database_count())?;
    let source_db = context.db;
    if target_db == source_db {
        return Err(CommandError::SAME_OBJECT);
    }
    let key = context.key(args.at(1));
    let moves = context.exists(&key) && in_db(context, target_db, |context| !context.exists(&key));
    let parcel = if moves { take(context, &key) } else { None };
    let moved = parcel.is_some();
    if let Some(parcel) = parcel {
        context.modified_by(&key, 0);
        in_db(context, target_db, |context| place(context, &key, parcel));
        context.notify(class::GENERIC, "move_from", &key);
        in_db(context, target_db, |context| context.notify(class::GENERIC, "move_to", &key));
    }
    context.reply.int(i64::from(moved));
    Ok(())
}

/// Works on another database for the length of the call.
fn in_db<R>(context: &mut Context<'_>, db: usize, f: impl FnOnce(&mut Context<'_>) -> R) -> R {
    let selected = std::mem::replace(&mut context.db, db);
    let result = f(context);
    context.db = selected;
    result
}

struct CopyOptions {
    db: usize,
    replace: bool,
}

impl CopyOptions {
    fn parse(context: &Context<'_>, args: Args<'_>) -> CommandResult<Self> {
        let mut options = CopyOptions { db: context.db, replace: false };
        let mut at = 0;
        while let Some(word) = args.get(at) {
            if is_word(word, "replace") {
                options.replace = true;
                at += 1;
            } else if is_word(word, "db") && at + 1 < args.len() {
                options.db = number::database(&args[at + 1], context.engine.database_count())?;
                at += 2;
            } else {
                return Err(CommandError::SYNTAX);
            }
        }
        Ok(options)
    }
}

pub(super) fn copy(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let options = CopyOptions::parse(context, args.from(3))?;
    let (source, target) = (context.key(args.at(1)), context.key(args.at(2)));
    if source.bytes == target.bytes && options.db == context.db {
        return Err(CommandError::SAME_OBJECT);
    }
    let Some(parcel) = clone(context, &source) else {
        context.reply.int(0);
        return Ok(());
    };
    let copied = in_db(context, options.db, |context| {
        let taken = context.exists(&target);
        if taken && !options.replace {
            return false;
        }
        if taken {
            context.make_room(&target);
        }
        place(context, &target, parcel);
        context.notify(class::GENERIC, "copy_to", &target);
        true
    });
    context.reply.int(i64::from(copied));
    Ok(())
}
