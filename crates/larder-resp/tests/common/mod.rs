//! Random request bytes: well-formed commands, and damage done to them.

use fastrand::Rng;

/// A few commands that every server answers without state: ECHO with odd payloads, and unknown names.
pub fn commands(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..rng.usize(1..6) {
        match rng.u8(0..8) {
            0 => inline(rng, &mut bytes),
            1 => bytes.extend_from_slice([&b"*0\r\n"[..], b"*-1\r\n", b"\r\n", b"\n"][rng.usize(0..4)]),
            2 => multibulk(&[b"xyzzy", &payload(rng), &payload(rng)], &mut bytes),
            _ => multibulk(&[b"ECHO", &payload(rng)], &mut bytes),
        }
    }
    bytes
}

/// Flips, inserts, removes or doubles a few bytes, with a taste for the bytes that mean something.
pub fn damage(rng: &mut Rng, bytes: &mut Vec<u8>) {
    const TELLING: &[u8] = b"*$\r\n\0\"'\\-+ 0123456789\xff";
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(0..bytes.len().max(1));
        let byte = TELLING[rng.usize(0..TELLING.len())];
        match rng.u8(0..5) {
            0 if at < bytes.len() => bytes[at] = byte,
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 if at < bytes.len() => bytes[at] ^= 1 << rng.u8(0..8),
            3 => bytes.truncate(at.max(1)),
            _ => bytes.insert(at.min(bytes.len()), byte),
        }
    }
}

fn payload(rng: &mut Rng) -> Vec<u8> {
    let len = [0, 1, 3, 9, 10, 100, 1000, 12_000][rng.usize(0..8)];
    (0..len).map(|_| rng.u8(..)).collect()
}

fn multibulk(args: &[&[u8]], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(format!("*{}\r\n", args.len()).as_bytes());
    for arg in args {
        bytes.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        bytes.extend_from_slice(arg);
        bytes.extend_from_slice(b"\r\n");
    }
}

fn inline(rng: &mut Rng, bytes: &mut Vec<u8>) {
    const WORDS: [&str; 8] =
        ["plain", "\"a b\"", "'c\\'d'", "\"\\x41\\x00\\n\"", "''", "\"\"", "a\"b\"", "\\n"];
    bytes.extend_from_slice(b"ECHO");
    for _ in 0..rng.usize(0..3) {
        bytes.extend_from_slice([&b" "[..], b"  ", b"\t"][rng.usize(0..3)]);
        bytes.extend_from_slice(WORDS[rng.usize(0..8)].as_bytes());
    }
    bytes.extend_from_slice([&b"\r\n"[..], b"\n"][rng.usize(0..2)]);
}
