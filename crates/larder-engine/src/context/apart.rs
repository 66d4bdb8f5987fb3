//! Changing many elements of a value while no shard is held: a clone of the value is changed, and takes its place. How such a command is
//! executed is in `long.rs`.

use super::postponed::Place;
use super::{Context, MOMENT, Typed};
use crate::error::CommandResult;
use crate::keyspace::key::Key;
use larder_resp::{Args, Reply};
use std::iter;

/// A clone that has been changed.
struct Changed<T, R> {
    /// What it is a clone of; `None`: there was no such key.
    before: Option<T>,
    value: T,
    result: R,
    reply: Vec<u8>,
}

impl Context<'_> {
    /// As [`with_value`](Self::with_value), for a command that changes as many elements as `plan` says, which looks at the value first and may find
    /// what is to be done. If these are many, a clone is changed while no shard is held, and takes the place of the value. `change` is given the command's
    /// arguments.
    pub(crate) fn change_long<T: Typed + Send + 'static, P: Send + 'static, R: Send + 'static>(
        &mut self,
        key: &Key<'_>,
        args: Args<'_>,
        plan: impl FnOnce(&T) -> (u64, P),
        change: impl FnOnce(&mut T, P, Args<'_>, &mut Reply<'_>) -> R + Send + 'static,
    ) -> CommandResult<Option<R>> {
        let (place, options) = (self.place(), self.worker.list_options);
        let mut compress = false;
        let outcome = self.with_value(key, |value: &mut T, reply| {
            let (elements, plan) = plan(value);
            if place != Place::Only && elements > MOMENT {
                return Ok(Err((value.clone(), plan, change)));
            }
            let result = change(value, plan, args, reply);
            compress = !value.is_empty() && value.news_of_compression(&options);
            Ok(Ok(result))
        })?;
        if compress {
            self.engine.background.compress(self.db, key);
        }
        match outcome {
            Some(Ok(result)) => Ok(Some(result)),
            Some(Err((value, plan, change))) => {
                let change =
                    |value: &mut T, args: Args<'_>, reply: &mut Reply<'_>| change(value, plan, args, reply);
                self.change_apart(key, args, Some(value), |_| T::default(), change).map(Some)
            }
            None => Ok(None),
        }
    }

    /// As [`with_value`](Self::with_value), for a command that may have many arguments, which say what is to be changed; `None` if there is no such key. If
    /// they are many, a clone is changed in the same way.
    pub(crate) fn change_by_args<T: Typed + Send + 'static, R: Send + 'static>(
        &mut self,
        key: &Key<'_>,
        args: Args<'_>,
        change: impl FnOnce(&mut T, Args<'_>) -> R + Send + 'static,
    ) -> CommandResult<Option<R>> {
        if !self.makes_apart(args.len() as u64) {
            return self.with_value(key, |value: &mut T, _| Ok(change(value, args)));
        }
        let Some(value) = self.with_value(key, |value: &mut T, _| Ok(value.clone()))? else {
            return Ok(None);
        };
        self.change_apart(key, args, Some(value), |_| T::default(), |value, args, _| change(value, args))
            .map(Some)
    }

    /// Changes a clone of a value, or one that `new` makes where there is none, by many arguments, as [`makes_apart`](Self::makes_apart) has told. One that is
    /// empty is not kept.
    pub(crate) fn change_or_create_by_args<T: Typed + Send + 'static, R: Send + 'static>(
        &mut self,
        key: &Key<'_>,
        args: Args<'_>,
        new: impl FnOnce(Args<'_>) -> T + Send + 'static,
        change: impl FnOnce(&mut T, Args<'_>) -> R + Send + 'static,
    ) -> CommandResult<R> {
        let value = self.with_value(key, |value: &mut T, _| Ok(value.clone()))?;
        self.change_apart(key, args, value, new, |value, args, _| change(value, args))
    }

    fn change_apart<T: Typed + Send + 'static, R: Send + 'static>(
        &mut self,
        key: &Key<'_>,
        args: Args<'_>,
        current: Option<T>,
        new: impl FnOnce(Args<'_>) -> T + Send + 'static,
        change: impl FnOnce(&mut T, Args<'_>, &mut Reply<'_>) -> R + Send + 'static,
    ) -> CommandResult<R> {
        let (protocol, before) = (self.reply.protocol(), current.clone());
        let is_current = |made: &Changed<T, R>| match (&made.before, &current) {
            (Some(before), Some(current)) => before.is_same(current),
            (before, current) => before.is_none() && current.is_none(),
        };
        let make = move |args: Args<'_>| {
            let mut value = before.clone().unwrap_or_else(|| new(args));
            let mut reply = Vec::new();
            let result = change(&mut value, args, &mut Reply::new(&mut reply, protocol));
            Changed { before, value, result, reply }
        };
        let made = self.make_while(args, u64::MAX, iter::once(key.bytes), is_current, make)?;
        self.reply.raw(&made.reply);
        let spent = if current.is_some() {
            self.replace_value(key, made.value)?
        } else {
            if !made.value.is_empty() {
                self.put_value(key, made.value);
            }
            None
        };
        self.free_at_last((spent, made.before, current));
        Ok(made.result)
    }

    /// Puts a value in the place of another of its type, which it returns.
    fn replace_value<T: Typed>(&mut self, key: &Key<'_>, value: T) -> CommandResult<Option<T>> {
        let options = self.worker.list_options;
        let replaced = self.with_value(key, |held: &mut T, _| {
            let spent = std::mem::replace(held, value);
            let compress = !held.is_empty() && held.news_of_compression(&options);
            Ok((spent.soonest(), held.soonest(), compress, spent))
        })?;
        let Some((before, after, compress, spent)) = replaced else { return Ok(None) };
        if before != after {
            self.note_field_expiry(key, before, after);
        }
        if compress {
            self.engine.background.compress(self.db, key);
        }
        Ok(Some(spent))
    }
}
