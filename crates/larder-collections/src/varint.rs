//! Numbers as bytes: seven bits in each, from the lowest on, and the top bit in all but the last.

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
