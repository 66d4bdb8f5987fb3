//! The libraries beside those of Valkey: hand-written cases, then random values both ways and damaged input.

mod common;

use common::Pair;
use fastrand::Rng;

#[test]
fn bit() {
    Pair::start().lines(include_str!("cases/bit.txt"));
}

#[test]
fn structs() {
    Pair::start().lines(include_str!("cases/struct.txt"));
}

#[test]
fn cmsgpack() {
    Pair::start().lines(include_str!("cases/cmsgpack.txt"));
}

#[test]
fn cjson() {
    Pair::start().lines(include_str!("cases/cjson.txt"));
}

/// How many random cases a test runs.
fn cases() -> usize {
    if larder_testkit::full_run() { 100_000 } else { 2_000 }
}

fn seeded(own: u64) -> Rng {
    let seed = larder_testkit::seed(own);
    Rng::with_seed(seed)
}

/// A random JSON text, with blanks and escapes; arrays are not sparse.
fn json(rng: &mut Rng, depth: usize, out: &mut Vec<u8>) {
    if rng.u8(..8) == 0 {
        out.extend_from_slice(rng.choice([&b" "[..], b"\n", b"\t "]).unwrap_or(b" "));
    }
    let containers = if depth > 5 { 0 } else { 4 };
    match rng.u8(..7 + containers) {
        0 => out.extend_from_slice(b"null"),
        1 => out.extend_from_slice(if rng.bool() { b"true" } else { b"false" }),
        2 => out.extend_from_slice(rng.i32(-1000..1000).to_string().as_bytes()),
        3 => out.extend_from_slice(
            format!("{:e}", f64::from_bits(rng.u64(..)).clamp(-1e300, 1e300)).replace("NaN", "0").as_bytes(),
        ),
        4 => out.extend_from_slice(format!("{}", f64::from(rng.i32(..)) / 1000.0).as_bytes()),
        5 | 6 => json_string(rng, out),
        7 | 8 => {
            out.push(b'[');
            for index in 0..rng.usize(..6) {
                if index > 0 {
                    out.push(b',');
                }
                json(rng, depth + 1, out);
            }
            out.push(b']');
        }
        _ => {
            out.push(b'{');
            for index in 0..rng.usize(..6) {
                if index > 0 {
                    out.push(b',');
                }
                json_string(rng, out);
                out.push(b':');
                json(rng, depth + 1, out);
            }
            out.push(b'}');
        }
    }
}

fn json_string(rng: &mut Rng, out: &mut Vec<u8>) {
    out.push(b'"');
    for _ in 0..rng.usize(..12) {
        match rng.u8(..10) {
            0 => out.extend_from_slice(
                rng.choice([&b"\\n"[..], b"\\u00e9", b"\\\"", b"\\/", b"\\ud83d\\ude00"]).unwrap_or(b"x"),
            ),
            1 => out.extend_from_slice("\u{20ac}".as_bytes()),
            2 => out.push(rng.u8(128..)),
            _ => out.push(rng.u8(b'a'..=b'z')),
        }
    }
    out.push(b'"');
}

/// Changes some bytes.
fn damage(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..rng.usize(1..3) {
        if bytes.is_empty() {
            return;
        }
        let at = rng.usize(..bytes.len());
        match rng.u8(..4) {
            0 => bytes.truncate(at),
            1 => bytes[at] = rng.u8(..),
            2 => bytes[at] = rng.choice(*b"[]{},:\"\\u0 en.-").unwrap_or(b' '),
            _ => {
                bytes.remove(at);
            }
        }
    }
}

#[test]
fn random_json() {
    let mut pair = Pair::start();
    let mut rng = seeded(0x15_0A);
    for _ in 0..cases() {
        let mut text = Vec::new();
        json(&mut rng, 0, &mut text);
        pair.same_with("return cjson.decode(ARGV[1])", &[&text]);
        // Objects come out in the order of a hash table, which is not that of another interpreter.
        pair.same_with(
            "local v = cjson.decode(ARGV[1]) return cjson.decode(cjson.encode(v)), #cjson.encode(v)",
            &[&text],
        );
        pair.same_with("return cmsgpack.unpack(cmsgpack.pack(cjson.decode(ARGV[1])))", &[&text]);
        damage(&mut rng, &mut text);
        pair.same_with("return cjson.decode(ARGV[1])", &[&text]);
    }
}

#[test]
fn random_msgpack() {
    let mut pair = Pair::start();
    let mut rng = seeded(0x3A6);
    for _ in 0..cases() {
        let mut bytes: Vec<u8> = (0..rng.usize(..40)).map(|_| msgpack_byte(&mut rng)).collect();
        pair.same_with("return cmsgpack.unpack(ARGV[1])", &[&bytes]);
        pair.same_with("return cmsgpack.unpack_limit(ARGV[1], 2, 1)", &[&bytes]);
        damage(&mut rng, &mut bytes);
        pair.same_with("return cmsgpack.unpack_one(ARGV[1])", &[&bytes]);
    }
}

/// Tags and small lengths more often than other bytes.
fn msgpack_byte(rng: &mut Rng) -> u8 {
    match rng.u8(..6) {
        0 => rng.u8(0x80..0xA4),
        1 => rng.u8(0xC0..0xE0),
        2 => rng.u8(..),
        _ => rng.u8(..8),
    }
}

#[test]
fn random_formats() {
    let mut pair = Pair::start();
    let mut rng = seeded(0xF0);
    let options = b"bBhHlLTiIfdscxxxx<>! 0123456789";
    for _ in 0..cases() {
        let format: Vec<u8> = (0..rng.usize(..12)).map(|_| options[rng.usize(..options.len())]).collect();
        let data: Vec<u8> = (0..rng.usize(..60)).map(|_| rng.u8(..4) * rng.u8(..64)).collect();
        pair.same_with("return struct.unpack(ARGV[1], ARGV[2])", &[&format, &data]);
        pair.same_with(
            "return struct.pack(ARGV[1], 1, 2.5, '3', '44', -5, 6, 7, 8, 9, 10, 11, 12)",
            &[&format],
        );
        pair.same_with("return struct.size(ARGV[1])", &[&format]);
    }
}

#[test]
fn random_numbers_as_text() {
    let mut pair = Pair::start();
    let mut rng = seeded(0x9);
    for _ in 0..cases() {
        let number = match rng.u8(..4) {
            0 => f64::from_bits(rng.u64(..)),
            1 => f64::from(rng.i32(..)) / f64::from(rng.i32(1..1000)),
            2 => rng.f64() * 10_f64.powi(rng.i32(-20..20)),
            _ => rng.i64(..) as f64,
        };
        let text = format!("{number:e}");
        pair.same_with(
            "local n = cjson.decode(ARGV[1]) return n, cjson.encode(n), cmsgpack.pack(n)",
            &[text.as_bytes()],
        );
        let bits = number.to_bits().to_le_bytes();
        pair.same_with("local n = struct.unpack('d', ARGV[1]) return bit.tobit(n), bit.tohex(n), struct.pack('i8', n), struct.pack('I3', n)", &[&bits]);
    }
}
