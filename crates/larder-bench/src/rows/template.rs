//! Commands as text with places for what varies: `SET key:{some:100000} {v:20}`.
//!
//! Blanks separate words. A word `10*field:{all},{v:16}` stands for ten pairs of arguments. In braces:
//!
//! | place | becomes |
//! |---|---|
//! | `{c}`, `{c%8}` | the number of the command in its row, from 0; the same modulo 8 |
//! | `{i}` | the number of the repetition within a word, from 0 |
//! | `{all}` | a number that no other repetition of the row has |
//! | `{any:N}` | a number below N, at random |
//! | `{some:N}` | the same, but N is scaled as the data is |
//! | `{int:N}` | a number below N, at random, without leading zeros |
//! | `{score}` | a number below 100,000 with two digits after the point |
//! | `{v:N}` | N letters |
//! | `{word}` | a word of the dictionary |
//! | `{n:N}` | N by the scale |
//! | `{x:N}` | this many letters by the scale, all the same |
//! | `{get}`, `{copy}`, `{sort}` and others | a script |
//!
//! The number of repetitions is scaled, too, where a `~` stands before it: `~500000*member:{all}`.
//!
//! All numbers but those of `{int}`, `{n}` and `{score}` have eight digits, so that commands of a row are equally long. The same seed makes
//! the same commands, so that every server gets the same bytes.

use crate::data::{self, SEED};
use crate::resp;
use fastrand::Rng;
use std::io::Write;

/// Values that a place `{v:N}` draws from.
const VALUES: usize = 256;
/// No scaled number is below this, or below itself where it is smaller.
const LEAST: u64 = 1000;

/// The scripts, by the names of their places.
const SCRIPTS: &[(&str, &str)] = &[
    ("get", "return redis.call('GET', KEYS[1])"),
    ("copy", "return redis.call('RESTORE', KEYS[2], 0, redis.call('DUMP', KEYS[1]), 'REPLACE')"),
    ("sort", "return redis.call('SORT', KEYS[1], 'BY', 'nosort', 'STORE', KEYS[2])"),
    ("increments", "for i = 1, ARGV[1] do redis.call('INCR', KEYS[1]) end return 1"),
    (
        "pushes",
        "for i = 1, ARGV[1] do redis.call('RPUSH', KEYS[1], i) end return redis.call('LLEN', KEYS[1])",
    ),
    ("loop", "local sum = 0 for i = 1, ARGV[1] do sum = sum + i % 7 end return 1"),
    ("members", "return redis.call('SMEMBERS', KEYS[1])"),
    ("count", "return #redis.call('SMEMBERS', KEYS[1])"),
    (
        "each",
        "local fields = redis.call('HKEYS', KEYS[1]) \
         for i = 1, #fields do redis.call('HGET', KEYS[1], fields[i]) end return #fields",
    ),
    ("sorted", "local words = redis.call('LRANGE', KEYS[1], 0, ARGV[1] - 1) table.sort(words) return #words"),
    ("union", "return redis.call('SUNIONSTORE', KEYS[3], KEYS[1], KEYS[2])"),
    ("delete", "return redis.call('DEL', KEYS[1])"),
];

/// A number by the scale, in whole thousands.
pub fn scaled(full: u64, scale: f64) -> u64 {
    let exact = (full as f64 * scale).round() as u64;
    exact.next_multiple_of(LEAST).clamp(LEAST.min(full), full.max(exact))
}

/// Writes the commands of a template one after the other.
#[derive(Clone)]
pub struct Commands {
    words: Vec<Word>,
    arguments: usize,
    rng: Rng,
    written: u64,
    argument: Vec<u8>,
}

#[derive(Clone)]
struct Word {
    times: u64,
    arguments: Vec<Vec<Piece>>,
}

#[derive(Clone)]
enum Piece {
    Text(Vec<u8>),
    Command,
    CommandModulo(u64),
    Repetition,
    Unique,
    Below(u64),
    Integer(u64),
    Score,
    Value(Vec<Vec<u8>>),
    DictionaryWord,
}

impl Commands {
    /// Reads a template; an error says which place is none.
    pub fn new(template: &str, scale: f64) -> Result<Self, String> {
        let words: Vec<Word> =
            template.split_whitespace().map(|text| Word::new(text, scale)).collect::<Result<_, _>>()?;
        let arguments = words.iter().map(|word| word.times as usize * word.arguments.len()).sum();
        Ok(Commands { words, arguments, rng: Rng::with_seed(SEED), written: 0, argument: Vec::new() })
    }

    /// Appends the next command.
    pub fn write(&mut self, out: &mut Vec<u8>) {
        resp::array(out, self.arguments);
        for word in &self.words {
            for repetition in 0..word.times {
                let at = Place { command: self.written, repetition, times: word.times };
                for pieces in &word.arguments {
                    self.argument.clear();
                    pieces.iter().for_each(|piece| piece.write(at, &mut self.rng, &mut self.argument));
                    resp::bulk(out, &self.argument);
                }
            }
        }
        self.written += 1;
    }
}

/// Where in a row an argument stands.
#[derive(Clone, Copy)]
struct Place {
    command: u64,
    repetition: u64,
    times: u64,
}

impl Word {
    fn new(text: &str, scale: f64) -> Result<Self, String> {
        let times = |text: &str| match text.strip_prefix('~') {
            Some(full) => Some(scaled(full.parse().ok()?, scale)),
            None => text.parse().ok(),
        };
        let repeated = text.split_once('*').and_then(|(before, rest)| Some((times(before)?, rest)));
        let (times, rest) = repeated.unwrap_or((1, text));
        let arguments = match repeated {
            Some(_) => rest.split(',').map(|text| pieces(text, scale)).collect::<Result<_, _>>()?,
            None => vec![pieces(rest, scale)?],
        };
        Ok(Word { times, arguments })
    }
}

fn pieces(mut text: &str, scale: f64) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    while let Some((before, rest)) = text.split_once('{') {
        let (place, after) = rest.split_once('}').ok_or_else(|| format!("no }} in {text}"))?;
        if !before.is_empty() {
            pieces.push(Piece::Text(before.as_bytes().to_vec()));
        }
        pieces.push(Piece::new(place, scale).ok_or_else(|| format!("no place is named {place}"))?);
        text = after;
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text.as_bytes().to_vec()));
    }
    Ok(pieces)
}

impl Piece {
    fn new(place: &str, scale: f64) -> Option<Self> {
        if let Some((_, script)) = SCRIPTS.iter().find(|(name, _)| *name == place) {
            return Some(Piece::Text(script.as_bytes().to_vec()));
        }
        if let Some(modulus) = place.strip_prefix("c%") {
            return modulus.parse().ok().filter(|n| *n > 0).map(Piece::CommandModulo);
        }
        if let Some((name, number)) = place.split_once(':') {
            let number: u64 = number.parse().ok().filter(|n| *n > 0)?;
            return match name {
                "any" => Some(Piece::Below(number)),
                "some" => Some(Piece::Below(scaled(number, scale))),
                "int" => Some(Piece::Integer(number)),
                "n" => Some(Piece::Text(scaled(number, scale).to_string().into_bytes())),
                "x" => Some(Piece::Text(vec![b'x'; scaled(number, scale) as usize])),
                "v" => Some(Piece::Value(data::values(number as usize, VALUES, false))),
                _ => None,
            };
        }
        match place {
            "c" => Some(Piece::Command),
            "i" => Some(Piece::Repetition),
            "all" => Some(Piece::Unique),
            "score" => Some(Piece::Score),
            "word" => Some(Piece::DictionaryWord),
            _ => None,
        }
    }

    fn write(&self, at: Place, rng: &mut Rng, out: &mut Vec<u8>) {
        match self {
            Piece::Text(text) => out.extend_from_slice(text),
            Piece::Command => padded(at.command, out),
            Piece::CommandModulo(modulus) => padded(at.command % modulus, out),
            Piece::Repetition => padded(at.repetition, out),
            Piece::Unique => padded(at.command * at.times + at.repetition, out),
            Piece::Below(limit) => padded(rng.u64(..limit), out),
            Piece::Integer(limit) => {
                out.extend_from_slice(itoa::Buffer::new().format(rng.u64(..limit)).as_bytes());
            }
            Piece::Score => {
                let _ = write!(out, "{}.{:02}", rng.u32(..100_000), rng.u32(1..100));
            }
            Piece::Value(values) => out.extend_from_slice(&values[rng.usize(..values.len())]),
            Piece::DictionaryWord => {
                let words = data::words();
                out.extend_from_slice(words[rng.usize(..words.len())].as_bytes());
            }
        }
    }
}

/// Eight digits, or more where eight are too few.
fn padded(mut number: u64, out: &mut Vec<u8>) {
    if number >= 100_000_000 {
        out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        return;
    }
    let mut digits = [b'0'; 8];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arguments of the first commands, without their framing.
    fn written(template: &str, commands: usize) -> Vec<String> {
        let mut writer = Commands::new(template, 1.0).expect("the template is right");
        let one = |_| {
            let mut out = Vec::new();
            writer.write(&mut out);
            let text = String::from_utf8(out).expect("it is text");
            let lines: Vec<&str> = text.split("\r\n").collect();
            assert_eq!(lines[0], format!("*{}", (lines.len() - 2) / 2), "{text:?}");
            lines[2..].iter().step_by(2).copied().collect::<Vec<_>>().join(" ")
        };
        (0..commands).map(one).collect()
    }

    #[test]
    fn places_are_filled() {
        assert_eq!(
            written("MSET k:{c%2} x 2*key:{all},{i}", 3),
            [
                "MSET k:00000000 x key:00000000 00000000 key:00000001 00000001",
                "MSET k:00000001 x key:00000002 00000000 key:00000003 00000001",
                "MSET k:00000000 x key:00000004 00000000 key:00000005 00000001",
            ]
        );
        assert_eq!(written("XADD s * 1{c}-0 a,b", 2)[1], "XADD s * 100000001-0 a,b");
    }

    #[test]
    fn what_is_random_is_the_same_every_time_and_within_its_limits() {
        let template = "X {any:5} {int:7} {score} {v:20} {word}";
        let lines = written(template, 200);
        assert_eq!(lines, written(template, 200));
        for line in &lines {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(words[1].len() == 8 && words[1].parse::<u64>().is_ok_and(|n| n < 5), "{line}");
            assert!(words[2].len() == 1 && words[2].parse::<u64>().is_ok_and(|n| n < 7), "{line}");
            assert!(words[3].parse::<f64>().is_ok_and(|n| n < 100_000.0), "{line}");
            assert_eq!(words[4].len(), 20, "{line}");
        }
        assert!(lines.iter().collect::<std::collections::HashSet<_>>().len() > 190);
    }

    #[test]
    fn counts_and_lengths_are_scaled() {
        let line = |scale| {
            let (mut commands, mut out) = (
                Commands::new("X {n:2000} -{n:20000} {x:3000} ~2000*a,{i}", scale).expect("it is right"),
                vec![],
            );
            commands.write(&mut out);
            String::from_utf8(out).expect("it is text")
        };
        let full = line(1.0);
        assert!(full.starts_with("*4004\r\n") && full.contains("$4\r\n2000\r\n$6\r\n-20000\r\n"), "{full}");
        assert!(full.contains(&format!("$3000\r\n{}\r\n", "x".repeat(3000))));
        let small = line(0.1);
        assert!(small.starts_with("*2004\r\n") && small.contains("$4\r\n1000\r\n$5\r\n-2000\r\n"), "{small}");
    }

    #[test]
    fn numbers_are_scaled_in_thousands() {
        let numbers = [(100_000, 1.0), (1_000_000, 0.0123), (1_000_000, 0.0001), (100, 0.5), (1_000, 3.0)];
        assert_eq!(numbers.map(|(full, scale)| scaled(full, scale)), [100_000, 13_000, 1000, 100, 3000]);
    }

    #[test]
    fn nonsense_is_refused() {
        for template in ["GET {", "GET {none}", "GET {any:0}", "GET {any:x}", "GET {c%0}"] {
            assert!(Commands::new(template, 1.0).is_err(), "{template}");
        }
    }
}
