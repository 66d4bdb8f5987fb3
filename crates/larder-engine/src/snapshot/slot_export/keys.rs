//! Keys as commands for a node that has none of them.
//!
//! A string without a deadline goes with others in one MSET: what a command costs the one who executes it is several times what a key costs. A
//! collection goes in one RESTORE, unless that is long.

use crate::snapshot::as_commands::commands_of;
use crate::snapshot::{Batch, Content, Record};
use larder_collections::value::Value;
use larder_rdb::{Version, dump};
use larder_resp::{encode_command, encode_command_head, encode_word};

/// A collection whose payload is longer is sent in commands with a few elements each: the target serves others in between.
const PAYLOAD_BYTES_MAX: usize = 1 << 18;
/// Strings in one command, at most: their shard is held for as long as they take.
const STRINGS_MAX: usize = 64;
/// Bytes of such a command, at most, but for the last string.
const STRINGS_BYTES_MAX: usize = 8 << 10;

/// Appends the commands that make the keys of a batch, which is empty afterwards.
pub(super) fn push_batch(batch: &mut Batch, to: &mut Vec<u8>) {
    let mut strings = Strings::default();
    let done: Result<(), std::convert::Infallible> = batch.hand_out(&mut |record| {
        push_key(&record, &mut strings, to);
        Ok(())
    });
    let Ok(()) = done;
    strings.hand_out(to);
}

/// Strings that wait for others, to be set in one command.
#[derive(Default)]
struct Strings {
    /// Names and values in turn, as the arguments of a command.
    pairs: Vec<u8>,
    count: usize,
}

impl Strings {
    fn add(&mut self, key: &[u8], value: &[u8], to: &mut Vec<u8>) {
        encode_word(&mut self.pairs, key);
        encode_word(&mut self.pairs, value);
        self.count += 1;
        if self.count >= STRINGS_MAX || self.pairs.len() >= STRINGS_BYTES_MAX {
            self.hand_out(to);
        }
    }

    fn hand_out(&mut self, to: &mut Vec<u8>) {
        if self.count == 0 {
            return;
        }
        encode_command_head(to, 2 * self.count + 1);
        encode_word(to, b"MSET");
        to.append(&mut self.pairs);
        self.count = 0;
    }
}

/// Appends the commands that make a key: one where that is short.
fn push_key(record: &Record<'_>, strings: &mut Strings, to: &mut Vec<u8>) {
    let mut number = itoa::Buffer::new();
    let deadline = record.expire_at_ms.map(|at| number.format(at).as_bytes());
    let string = match record.content {
        Content::String(bytes) => Some(bytes),
        Content::Value(Value::String(bytes)) => Some(&**bytes),
        Content::Value(_) => None,
    };
    match (string, &record.content) {
        (Some(bytes), _) => match deadline {
            None => strings.add(record.key, bytes, to),
            Some(at) => encode_command(to, [b"SET", record.key, bytes, b"PXAT", at].into_iter()),
        },
        (None, Content::Value(value)) => {
            let payload = dump::of_value(value, Version::default(), false);
            if payload.len() > PAYLOAD_BYTES_MAX {
                return commands_of(record, to);
            }
            let words: [&[u8]; 6] =
                [b"RESTORE", record.key, deadline.unwrap_or(b"0"), &payload, b"REPLACE", b"ABSTTL"];
            encode_command(to, words.into_iter());
        }
        (None, Content::String(_)) => unreachable!("it is a string"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(bytes: &[u8]) -> Vec<String> {
        let text = String::from_utf8(bytes.to_vec()).expect("it is text");
        let heads = text.split('*').skip(1);
        heads.map(|command| command.split("\r\n").skip(2).step_by(2).collect::<Vec<_>>().join(" ")).collect()
    }

    fn string<'a>(key: &'a [u8], value: &'a [u8], expire_at_ms: Option<u64>) -> Record<'a> {
        Record { key, content: Content::String(value), expire_at_ms, access: 0 }
    }

    #[test]
    fn strings_go_together_up_to_a_number_and_a_length() {
        let (mut strings, mut to) = (Strings::default(), Vec::new());
        push_key(&string(b"a", b"1", None), &mut strings, &mut to);
        push_key(&string(b"x", b"2", Some(77)), &mut strings, &mut to);
        push_key(&string(b"b", b"", None), &mut strings, &mut to);
        strings.hand_out(&mut to);
        assert_eq!(commands(&to), ["SET x 2 PXAT 77", "MSET a 1 b "]);
        to.clear();
        for _ in 0..STRINGS_MAX + 1 {
            push_key(&string(b"k", b"v", None), &mut strings, &mut to);
        }
        strings.hand_out(&mut to);
        let sent: Vec<usize> = commands(&to).iter().map(|command| command.split(' ').count()).collect();
        assert_eq!(sent, [2 * STRINGS_MAX + 1, 3]);
        to.clear();
        let long = vec![b'v'; STRINGS_BYTES_MAX];
        for _ in 0..2 {
            push_key(&string(b"k", &long, None), &mut strings, &mut to);
        }
        assert_eq!(commands(&to).len(), 2, "each is long enough for itself");
        assert_eq!(strings.count, 0);
    }
}
