//! DEBUG OBJECT: how the value of a key lies in memory, and how long it is in a file.

use super::debug_tools::look;
use crate::commands::generic::dump::{compresses, payload_of, target_version};
use crate::commands::generic::encoding_name;
use crate::context::Context;
use crate::error::CommandResult;
use crate::text::word::is_word;
use larder_collections::key_table::{Captured, ValueRef};
use larder_collections::list::ListEncoding;
use larder_collections::value::Value;
use larder_resp::Args;
use std::fmt::Write;

/// `OBJECT key [fast]`: the length of the serialized value is what takes long.
pub(super) fn object(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (options, now_s) = (context.worker.list_options, context.now_s());
    let rules = context.worker.access;
    let hash = context.key(args.at(2)).hash;
    let (head, captured, tail) = look(context, args.at(2), |entry| {
        let head =
            format!("Value at:0x{hash:016x} refcount:1 encoding:{}", encoding_name(args.at(2), &entry));
        let mut tail = format!(
            " lru:{} lru_seconds_idle:{}",
            entry.access(),
            if rules.counts { 0 } else { rules.idle_s(entry.access(), now_s) },
        );
        if let ValueRef::Out(value) = entry.kept()
            && let Value::List(list) = &*value
            && list.encoding() == ListEncoding::Quicklist
        {
            let stats = list.stats(&options);
            let _ = write!(
                tail,
                " ql_nodes:{} ql_avg_node:{:.2} ql_listpack_max:{} ql_compressed:{} ql_uncompressed_size:{}",
                stats.nodes,
                stats.avg_node,
                stats.listpack_max,
                u8::from(stats.compressed),
                stats.uncompressed_size
            );
        }
        Ok((head, Captured::of(&entry), tail))
    })?;
    let is_fast = args.get(3).is_some_and(|word| is_word(word, "fast"));
    let length = (!is_fast).then(|| serialized_length(context, &captured));
    let length = length.map_or_else(String::new, |bytes| format!(" serializedlength:{bytes}"));
    context.reply.simple(&format!("{head}{length}{tail}"));
    Ok(())
}

/// Bytes of a value in a file, without its type. Made from a clone: no shard is held.
fn serialized_length(context: &Context<'_>, captured: &Captured<Value>) -> usize {
    /// What a payload has besides: the type, the version and the checksum.
    const FRAME_BYTES: usize = 11;
    payload_of(&captured.value, target_version(context.engine), compresses(context.engine)).len()
        - FRAME_BYTES
}
