//! Text in packets: what it may have, so that it can be written into replies and files as it is.

/// Longest text of an address, in bytes; a field has one byte more, for the zero.
pub const IP_BYTES_MAX: usize = 45;

/// Whether a text is an address: printable, none of the characters that separate the fields of a line. Empty ones are.
pub fn is_address(text: &[u8]) -> bool {
    text.iter().all(|&byte| byte.is_ascii_graphic() && !b",@\"'\\".contains(&byte))
        && text.len() <= IP_BYTES_MAX
}

/// Whether a text may be a value in `nodes.conf`: letters, digits and what peers allow there.
pub fn is_value(text: &[u8]) -> bool {
    let is_allowed = |byte: &u8| !byte.is_ascii() || byte.is_ascii_alphanumeric() || b"-._/:`".contains(byte);
    text.iter().all(is_allowed) && std::str::from_utf8(text).is_ok()
}

/// What stands before the first zero, if the rest is of no interest.
pub fn until_zero(field: &[u8]) -> &[u8] {
    &field[..field.iter().position(|&byte| byte == 0).unwrap_or(field.len())]
}

/// A field padded with zeros as the text of an address.
pub fn address(field: &[u8]) -> Option<&str> {
    let text = until_zero(field);
    is_address(text).then(|| std::str::from_utf8(text).ok()).flatten()
}
