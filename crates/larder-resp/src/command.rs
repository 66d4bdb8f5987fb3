//! Writing requests.

/// Appends a command as an array of bulk strings.
pub fn encode_command<'w>(to: &mut Vec<u8>, words: impl ExactSizeIterator<Item = &'w [u8]>) {
    let mut number = itoa::Buffer::new();
    let mut head = |to: &mut Vec<u8>, mark: u8, len: usize| {
        to.push(mark);
        to.extend_from_slice(number.format(len).as_bytes());
        to.extend_from_slice(b"\r\n");
    };
    head(to, b'*', words.len());
    for word in words {
        head(to, b'$', word.len());
        to.extend_from_slice(word);
        to.extend_from_slice(b"\r\n");
    }
}
