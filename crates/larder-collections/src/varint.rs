//! Numbers as bytes: seven bits in each, from the lowest on, and the top bit in all but the last. Texts with their lengths.

/// Appends a number, 7 bits a byte.
pub(crate) fn put_number(out: &mut Vec<u8>, mut n: u64) {
    while n >= 128 {
        out.push(n as u8 | 128);
        n >>= 7;
    }
    out.push(n as u8);
}

/// The number that [`put_number`] has written at `at`, and where it ends.
#[inline]
pub(crate) fn number(bytes: &[u8], mut at: usize) -> (u64, usize) {
    let (mut n, mut shift) = (0, 0);
    loop {
        let byte = bytes[at];
        at += 1;
        n |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return (n, at);
        }
        shift += 7;
    }
}

/// Appends a text after its length, if `out` has at most `end` bytes then; else a part of that.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8], end: usize) -> bool {
    put_number(out, text.len() as u64);
    let fits = out.len() + text.len() <= end;
    if fits {
        out.extend_from_slice(text);
    }
    fits
}

/// The texts that [`put_text`] has written one after the other.
pub(crate) fn texts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (len, at) = (!rest.is_empty()).then(|| number(rest, 0))?;
        let (text, after) = rest[at..].split_at(len as usize);
        rest = after;
        Some(text)
    })
}
