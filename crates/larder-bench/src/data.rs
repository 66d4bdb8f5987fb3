//! The data of the workloads: made in memory, from a seed, so that every server gets the same bytes.

use fastrand::Rng;
use std::fmt::Write;
use std::sync::OnceLock;

/// The seed of all generators.
pub const SEED: u64 = 7;
/// A dictionary with fewer words than this is not used.
const WORDS_AT_LEAST: usize = 50_000;
/// Bytes of a document, about.
const DOCUMENT_BYTES: usize = 2480;

/// The system's dictionary in its own order, or made-up words when there is none.
pub fn words() -> &'static [String] {
    static WORDS: OnceLock<Vec<String>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let text = std::fs::read_to_string("/usr/share/dict/words").unwrap_or_default();
        let words: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
        if words.len() < WORDS_AT_LEAST { made_up_words(300_000) } else { words }
    })
}

fn made_up_words(count: usize) -> Vec<String> {
    const SYLLABLES: [&str; 25] = [
        "ba", "con", "de", "er", "fi", "gra", "ho", "in", "ju", "ka", "lo", "men", "no", "op", "pre", "qui",
        "re", "sta", "tion", "un", "ver", "wa", "xi", "ya", "zo",
    ];
    let mut rng = Rng::with_seed(SEED);
    let mut word = || (0..rng.usize(2..=5)).map(|_| SYLLABLES[rng.usize(..SYLLABLES.len())]).collect();
    (0..count).map(|_| word()).collect()
}

/// Words drawn at random, each as likely.
pub fn random_words(count: usize) -> impl Iterator<Item = &'static str> {
    let mut rng = Rng::with_seed(SEED);
    (0..count).map(move |_| pick(&mut rng, words()))
}

/// JSON documents of 2.5 KB: records of people with a text of words, frequent ones often.
pub fn documents(count: usize) -> impl Iterator<Item = String> {
    let mut rng = Rng::with_seed(SEED);
    (0..count).map(move |id| document(&mut rng, id))
}

/// A pool of values of one size: letters at random, or text of words, which compresses as text does.
pub fn values(size: usize, count: usize, text: bool) -> Vec<Vec<u8>> {
    let mut rng = Rng::with_seed(SEED + size as u64);
    let letters = |rng: &mut Rng| (0..size).map(|_| rng.lowercase() as u8).collect();
    let prose = |rng: &mut Rng| {
        let mut out = Vec::with_capacity(size + 32);
        while out.len() < size {
            out.extend_from_slice(frequent_word(rng).as_bytes());
            out.push(b' ');
        }
        out.truncate(size);
        out
    };
    (0..count).map(|_| if text { prose(&mut rng) } else { letters(&mut rng) }).collect()
}

fn document(rng: &mut Rng, id: usize) -> String {
    let mut out = String::with_capacity(DOCUMENT_BYTES + 64);
    head(&mut out, rng, id);
    place(&mut out, rng);
    friends(&mut out, rng);
    out.push_str(", \"about\": \"");
    let mut first = true;
    while out.len() < DOCUMENT_BYTES {
        if !std::mem::take(&mut first) {
            out.push(' ');
        }
        escape(&mut out, frequent_word(rng));
    }
    out.push_str("\"}");
    out
}

fn head(out: &mut String, rng: &mut Rng, id: usize) {
    let (active, guid) = (id & 1 == 1, rng.u128(..));
    let (balance, age) = (rng.f64() * 4000.0, rng.u32(18..=90));
    let (first, last, mail) = (pick(rng, &FIRST), pick(rng, &FIRST), rng.u32(..=10_000_000));
    let _ = write!(
        out,
        "{{\"id\": {id}, \"guid\": \"{guid:032x}\", \"isActive\": {active}, \"balance\": {balance:.2}, \
         \"age\": {age}, \"name\": {{\"first\": \"{first}\", \"last\": \"{last}sen\"}}, \
         \"email\": \"user{mail}@example.org\""
    );
}

fn place(out: &mut String, rng: &mut Rng) {
    let (number, street, code) = (rng.u32(1..=999), pick(rng, &STREETS), rng.u32(10_000..=99_999));
    let (year, month, day) = (rng.u32(0..=25), rng.u32(1..=12), rng.u32(1..=28));
    let (hour, minute, second) = (rng.u32(0..=23), rng.u32(0..=59), rng.u32(0..=59));
    let (latitude, longitude) = (rng.f64() * 180.0 - 90.0, rng.f64() * 360.0 - 180.0);
    let _ = write!(
        out,
        ", \"address\": \"{number} {street} Street, Springfield, {code}\", \
         \"registered\": \"20{year:02}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z\", \
         \"latitude\": {latitude:.6}, \"longitude\": {longitude:.6}"
    );
}

fn friends(out: &mut String, rng: &mut Rng) {
    let tags: Vec<String> = (0..7).map(|_| format!("\"{}\"", pick(rng, &TAGS))).collect();
    let mut friend = |id| {
        let (first, last, score) = (pick(rng, &FIRST), pick(rng, &FIRST), rng.u32(..=10_000));
        format!("{{\"id\": {id}, \"name\": \"{first} {last}sen\", \"score\": {score}}}")
    };
    let friends: Vec<String> = (0..3).map(&mut friend).collect();
    let _ = write!(out, ", \"tags\": [{}], \"friends\": [{}]", tags.join(", "), friends.join(", "));
}

/// A word whose place in the dictionary follows Pareto's law, as words in texts do.
fn frequent_word(rng: &mut Rng) -> &'static str {
    let rank = (1.0 - rng.f64()).powf(-1.0 / 0.6);
    &words()[(rank as usize).min(words().len() - 1)]
}

/// Appends text to a JSON string in ASCII.
fn escape(out: &mut String, text: &str) {
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte @ (b'"' | b'\\')) => out.extend(['\\', char::from(byte)]),
            Ok(byte @ b' '..=b'~') => out.push(char::from(byte)),
            _ => drop(write!(out, "\\u{unit:04x}")),
        }
    }
}

fn pick<'a, T: AsRef<str>>(rng: &mut Rng, from: &'a [T]) -> &'a str {
    from[rng.usize(..from.len())].as_ref()
}

const FIRST: [&str; 8] = ["Ana", "Bo", "Chidi", "Dana", "Eli", "Fatima", "Goro", "Hana"];
const TAGS: [&str; 8] = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"];
const STREETS: [&str; 8] = ["Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Eta", "Theta"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_every_time() {
        assert!(documents(20).eq(documents(20)));
        assert!(random_words(1000).eq(random_words(1000)));
        assert_eq!(values(40, 8, true), values(40, 8, true));
    }

    #[test]
    fn documents_have_their_shape() {
        for document in documents(50) {
            assert!((DOCUMENT_BYTES..DOCUMENT_BYTES + 80).contains(&document.len()), "{document}");
            assert!(document.is_ascii() && document.starts_with("{\"id\": ") && document.ends_with("\"}"));
            let depth = |open, close| document.matches(open).count() == document.matches(close).count();
            assert!(depth('{', '}') && depth('[', ']'), "{document}");
        }
    }

    #[test]
    fn words_and_values() {
        assert!(words().len() >= WORDS_AT_LEAST);
        let made_up = made_up_words(100);
        assert!(made_up.iter().all(|word| word.len() >= 4) && made_up == made_up_words(100));
        assert!(values(1024, 4, false).iter().chain(&values(1024, 4, true)).all(|value| value.len() == 1024));
    }

    #[test]
    fn text_is_escaped() {
        let mut out = String::new();
        escape(&mut out, "a\"\u{e9}\u{1f600}");
        assert_eq!(out, "a\\\"\\u00e9\\ud83d\\ude00");
    }
}
