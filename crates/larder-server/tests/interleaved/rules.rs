//! What may differ between the two servers, each with its reason.

use larder_testkit::Value;

/// What the error begins with that stands for an incomplete reply.
pub const INCOMPLETE: &str = "incomplete: ";

/// Facts of a sequence and a connection that rules depend on.
#[derive(Clone, Copy, Default)]
pub struct Circumstances {
    /// `SWAPDB` was sent. Larder then invalidates every key that a client caches; Valkey invalidates none, and each when it changes.
    pub swapped: bool,
    /// Both servers load their files. Valkey invalidates the keys that commands in its file touch, after all keys, and files differ.
    pub reloads: bool,
    /// A script hangs in a transaction of the sequence. Larder sends the invalidations of the transaction when it ends, to those who
    /// track keys by then; Valkey sends earlier ones meanwhile.
    pub hangs_in_transaction: bool,
    /// A client of the sequence tracks keys with `NOLOOP`, and keys expire. Larder also tells it of a key that its own command finds
    /// expired.
    pub expires_without_loop: bool,
    /// Both servers have closed the connection. A client that is killed gets the replies that were ready; Valkey drops those that
    /// it has not written, in the middle of that to EXEC too.
    pub is_closed: bool,
    /// Several connections executed pipelines at the same time: an invalidation by one may come after another has turned tracking off.
    pub has_pipelines: bool,
    /// When messages come among replies is a server's own: invalidations in broadcast mode, notifications about what serves the
    /// subscriber itself, messages between connections that execute pipelines.
    pub pushes_at_will: bool,
}

/// Whether the replies and messages of one connection agree up to the end of the shorter list.
pub fn agree_as_far_as_they_go(larder: &[Value], valkey: &[Value], circumstances: Circumstances) -> bool {
    let without = |values: &[Value]| -> Vec<Value> {
        let is_late = |value: &&Value| circumstances.pushes_at_will && is_invalidation(value);
        values.iter().filter(|value| !is_late(value)).cloned().collect()
    };
    let (larder, valkey) = (without(larder), without(valkey));
    let both = larder.len().min(valkey.len());
    agree(&larder[..both], &valkey[..both], circumstances)
}

/// Whether the replies and messages of one connection agree.
pub fn agree(larder: &[Value], valkey: &[Value], circumstances: Circumstances) -> bool {
    let kept =
        if circumstances.expires_without_loop { &invalidated_by_both(larder, valkey)[..] } else { larder };
    let (mut larder, mut valkey) = (normal(kept, circumstances), normal(valkey, circumstances));
    if circumstances.is_closed {
        valkey.retain(|value| !value.text().starts_with(INCOMPLETE));
        larder.truncate(valkey.len());
    }
    larder.len() == valkey.len() && larder.iter().zip(&valkey).all(|(a, b)| a == b || are_both_refusals(a, b))
}

/// What Larder has sent, without invalidations of keys that Valkey has not invalidated.
fn invalidated_by_both(larder: &[Value], valkey: &[Value]) -> Vec<Value> {
    let mut valkey = valkey.to_vec();
    let known: Vec<Value> = valkey.iter_mut().filter_map(invalidated).flat_map(std::mem::take).collect();
    let mut larder = larder.to_vec();
    larder.retain_mut(|value| match invalidated(value) {
        Some(keys) => {
            keys.retain(|key| known.contains(key));
            !keys.is_empty()
        }
        None => true,
    });
    larder
}

/// A command may be refused for several reasons, of which one is a state of the server or of its user. Either is true, as
/// docs/compatibility.md says.
fn are_both_refusals(larder: &Value, valkey: &Value) -> bool {
    const REASONS: [&str; 4] = ["BUSY ", "only (P|S)SUBSCRIBE", "OOM ", "NOPERM "];
    let is_refusal = |value: &Value| REASONS.iter().any(|reason| value.text().contains(reason));
    larder.is_error() && valkey.is_error() && (is_refusal(larder) || is_refusal(valkey))
}

/// Replies and messages without what may differ.
fn normal(values: &[Value], circumstances: Circumstances) -> Vec<Value> {
    let mut values: Vec<Value> = values.to_vec();
    if circumstances.swapped {
        values.retain(|value| !is_invalidation(value) && !is_broken_redirection(value));
    }
    if circumstances.hangs_in_transaction || circumstances.has_pipelines {
        values.retain(|value| !is_invalidation(value));
    }
    if circumstances.reloads {
        values.retain(|value| {
            !is_invalidation(value) && !is_notification(value) && !is_broken_redirection(value)
        });
    }
    if circumstances.pushes_at_will {
        // There is one for each message that would have been sent.
        values.dedup_by(|a, b| a == b && is_broken_redirection(a));
        // A stable sort: the order of the invalidations counts, that of other messages, and that of the replies.
        values.sort_by_key(|value| (is_invalidation(value), matches!(value, Value::Push(_))));
    }
    sort_ends_of_subscriptions(&mut values);
    // Valkey sends a null of the other protocol if the client that tracks uses that one, and not the client that it redirects to.
    for value in &mut values {
        if *value == Value::Push(vec![Value::Bulk(b"invalidate".to_vec()), Value::NullBulk]) {
            *value = Value::Push(vec![Value::Bulk(b"invalidate".to_vec()), Value::Null]);
        }
    }
    sort_patterns(&mut values);
    merge_invalidations(&mut values);
    sort_invalidations(&mut values);
    values.dedup_by(|a, b| a == b && is_flush(a));
    values
}

/// Whether a message invalidates keys, in either protocol.
fn is_invalidation(value: &Value) -> bool {
    match value {
        Value::Push(items) => items.first().is_some_and(|kind| kind.bytes() == b"invalidate"),
        Value::Array(items) => {
            items.len() == 3 && items[0].bytes() == b"message" && items[1].bytes() == b"__redis__:invalidate"
        }
        _ => false,
    }
}

/// The keys of an invalidation, unless it is of every key.
fn invalidated(value: &mut Value) -> Option<&mut Vec<Value>> {
    if !is_invalidation(value) {
        return None;
    }
    match value {
        Value::Push(items) | Value::Array(items) => match items.last_mut() {
            Some(Value::Array(keys)) => Some(keys),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a message is a keyspace notification.
fn is_notification(value: &Value) -> bool {
    let items = value.items();
    let kind = items.first().map(Value::text).unwrap_or_default();
    let channel = items.get(items.len().saturating_sub(2)).map(Value::text).unwrap_or_default();
    kind.ends_with("message") && channel.starts_with("__key")
}

fn is_broken_redirection(value: &Value) -> bool {
    matches!(value, Value::Push(items) if items.first().is_some_and(|kind| kind.bytes() == b"tracking-redir-broken"))
}

/// The keys of a message are in the order of their names in Valkey's broadcast mode, and each is there once.
fn sort_invalidations(values: &mut [Value]) {
    for keys in values.iter_mut().filter_map(invalidated) {
        keys.sort_by_key(Value::text);
        keys.dedup();
    }
}

/// Makes one message of consecutive invalidations. In broadcast mode Valkey collects keys until its event loop sleeps, Larder until a
/// command, and those that it has released, have ended.
fn merge_invalidations(values: &mut Vec<Value>) {
    values.dedup_by(|next, first| match (invalidated(first), invalidated(next)) {
        (Some(keys), Some(more)) => {
            keys.append(more);
            true
        }
        _ => false,
    });
}

/// Whether a message invalidates every key. A server that loads a file sends one for each FLUSHALL in it, and files differ.
fn is_flush(value: &Value) -> bool {
    is_invalidation(value) && invalidated(&mut value.clone()).is_none()
}

/// A message that several patterns of a client let through comes once for each, in the order of a hash table.
fn sort_patterns(values: &mut [Value]) {
    let is_message = |value: &Value| value.items().len() == 4 && value.items()[0].bytes() == b"pmessage";
    for run in values.chunk_by_mut(|a, b| is_message(a) && is_message(b) && a.items()[2..] == b.items()[2..])
    {
        if is_message(&run[0]) {
            run.sort_by_key(|value| value.items()[1].text());
        }
    }
}

/// A client that unsubscribes from everything is told so for each channel, in the order of a hash table: a server's own.
fn sort_ends_of_subscriptions(values: &mut [Value]) {
    let is_end = |value: &Value| {
        let kind = value.items().first().map(Value::text).unwrap_or_default();
        value.items().len() == 3 && kind.ends_with("unsubscribe")
    };
    for run in values.chunk_by_mut(|a, b| is_end(a) && is_end(b) && a.items()[0] == b.items()[0]) {
        let mut channels: Vec<Value> = run.iter().filter_map(|value| value.items().get(1)).cloned().collect();
        if run.len() < 2 || channels.len() < run.len() || !is_end(&run[0]) {
            continue;
        }
        channels.sort_by_key(|channel| format!("{channel:?}"));
        for (value, channel) in run.iter_mut().zip(channels) {
            if let Value::Push(items) | Value::Array(items) = value {
                items[1] = channel;
            }
        }
    }
}
