//! Writing requests.

/// Appends a command as an array of bulk strings.
pub fn encode_command<'w>(to: &mut Vec<u8>, words: impl ExactSizeIterator<Item = &'w [u8]>) {
    encode_command_head(to, words.len());
    words.for_each(|word| encode_word(to, word));
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

#[inline]
fn push_head(to: &mut Vec<u8>, mark: u8, len: usize) {
    to.push(mark);
    to.extend_from_slice(itoa::Buffer::new().format(len).as_bytes());
    to.extend_from_slice(b"\r\n");
}
