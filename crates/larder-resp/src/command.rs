//! Writing requests.

/// Appends a command as an array of bulk strings.
pub fn encode_command<'w>(to: &mut Vec<u8>, words: impl ExactSizeIterator<Item = &'w [u8]>) {
    encode_command_head(to, words.len());
    words.for_each(|word| encode_word(to, word));
}

/// Bytes that [`encode_command`] appends for these words.
pub fn encoded_bytes<'w>(words: impl Iterator<Item = &'w [u8]>) -> usize {
    let line = |number: usize| itoa::Buffer::new().format(number).len() + "$\r\n".len();
    let (count, bytes) = words.fold((0, 0), |(count, bytes), word| {
        (count + 1, bytes + line(word.len()) + word.len() + "\r\n".len())
    });
    line(count) + bytes
}

/// Appends what a command of this many words begins with; [`encode_word`] follows for each of them.
#[inline]
pub fn encode_command_head(to: &mut Vec<u8>, words: usize) {
    push_head(to, b'*', words);
}

/// Appends a word of a command.
#[inline]
pub fn encode_word(to: &mut Vec<u8>, word: &[u8]) {
    push_head(to, b'$', word.len());
    to.extend_from_slice(word);
    to.extend_from_slice(b"\r\n");
}

/// Appends a word of `len` bytes, which `write` appends.
#[inline]
pub fn encode_word_with(to: &mut Vec<u8>, len: usize, write: impl FnOnce(&mut Vec<u8>)) {
    push_head(to, b'$', len);
    let start = to.len();
    write(to);
    debug_assert_eq!(to.len(), start + len, "a word of another length");
    to.extend_from_slice(b"\r\n");
}

#[inline]
fn push_head(to: &mut Vec<u8>, mark: u8, len: usize) {
    to.push(mark);
    to.extend_from_slice(itoa::Buffer::new().format(len).as_bytes());
    to.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_that_are_appended() {
        let long = vec![b'x'; 12_345];
        for words in [&[b"GET".as_slice(), b"k"][..], &[b"SET", b"", &long], &[b"X".as_slice(); 10]] {
            let mut wire = Vec::new();
            encode_command(&mut wire, words.iter().copied());
            assert_eq!(encoded_bytes(words.iter().copied()), wire.len());
        }
    }
}
