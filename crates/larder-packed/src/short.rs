//! Copies of texts that are most often short, without the call of a function that copies: it costs more than the bytes.
//!
//! A piece of fixed size is copied where there is room for it, of which what comes next covers what is too much. Elsewhere two pieces, the
//! first bytes and the last ones, may overlap. Tested at the foot of this file.

/// Bytes of the piece that [`copy_from`] copies at once.
pub(crate) const WINDOW: usize = 16;

/// Copies a text of the same length.
#[inline(always)]
pub(crate) fn copy(to: &mut [u8], from: &[u8]) {
    match from.len() {
        8..=16 => copy_ends::<8>(to, from),
        17..=32 => copy_ends::<16>(to, from),
        4..8 => copy_ends::<4>(to, from),
        2..4 => copy_ends::<2>(to, from),
        _ => to.copy_from_slice(from),
    }
}

/// Copies the first `N` bytes and the last ones, which are all.
#[inline(always)]
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk()) {
        *to = *from;
    }
}

/// Copies the `len` bytes of `from` that begin at `at` to the start of `to`, which is as long or longer. The bytes after them, up to
/// [`WINDOW`] in all, are then any.
#[inline(always)]
pub(crate) fn copy_from(to: &mut [u8], from: &[u8], at: usize, len: usize) {
    match (to.first_chunk_mut::<WINDOW>(), from.get(at..at + WINDOW)) {
        (Some(to), Some(window)) if len <= WINDOW => to.copy_from_slice(window),
        _ => to[..len].copy_from_slice(&from[at..at + len]),
    }
}

/// Appends a text.
#[inline]
pub(crate) fn extend(out: &mut Vec<u8>, text: &[u8]) {
    if text.len() > WINDOW {
        return out.extend_from_slice(text);
    }
    let (start, end) = (out.len(), out.len() + text.len());
    out.extend_from_slice(&[0; WINDOW]);
    copy(&mut out[start..end], text);
    out.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_every_length_are_copied() {
        let from: Vec<u8> = (1..=80).collect();
        for len in 0..64 {
            let mut to = vec![0; len];
            copy(&mut to, &from[3..][..len]);
            assert_eq!(to, from[3..][..len]);
            let mut out = vec![7, 8];
            extend(&mut out, &from[3..][..len]);
            assert_eq!((&out[..2], &out[2..]), (&[7, 8][..], &from[3..][..len]));
        }
    }

    #[test]
    fn what_comes_after_a_window_stays() {
        let from: Vec<u8> = (1..=40).collect();
        for (len, room, at) in (0..30)
            .flat_map(|len| (len..36).flat_map(move |room| (0..=40 - len).map(move |at| (len, room, at))))
        {
            let mut to = vec![0xA5; room];
            copy_from(&mut to, &from, at, len);
            assert_eq!(to[..len], from[at..at + len]);
            assert!(to.iter().skip(len.max(WINDOW)).all(|&byte| byte == 0xA5));
        }
    }
}
