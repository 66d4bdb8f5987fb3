//! Random sequences over the whole command table.

use super::rules::{LEX_KEY, Rule, lex_key, rule_of};
use super::step::Step;
use fastrand::Rng;
use larder_testkit::syntax::{self, Generator, Vocabulary};
use larder_testkit::words;
use std::ops::Range;

/// Connections of a sequence.
pub const CONNECTIONS: usize = 3;

const SCRIPTS: &[&str] = &[
    "return redis.call(unpack(ARGV))",
    "return redis.pcall(unpack(ARGV))",
    "redis.setresp(3) return redis.call(unpack(ARGV))",
    "redis.call(unpack(ARGV)) return redis.call('DBSIZE')",
    "#!lua flags=no-writes\nreturn redis.call(unpack(ARGV))",
];

/// Makes sequences of commands that can be compared.
pub struct Sequences {
    commands: Vec<syntax::Command>,
    vocabulary: Vocabulary,
}

impl Sequences {
    /// Over the commands that a server documents.
    pub fn of(mut commands: Vec<syntax::Command>) -> Sequences {
        commands.retain(|command| {
            let name: Vec<Vec<u8>> = command.name.iter().map(|word| word.clone().into_bytes()).collect();
            rule_of(&name) != Rule::Never
        });
        assert!(commands.len() > 200, "most commands can be compared: {}", commands.len());
        Sequences { commands, vocabulary: Vocabulary { near: true, ..Vocabulary::default() } }
    }

    /// The sequence of a seed, with so many commands.
    pub fn sequence(&self, seed: u64, len: Range<usize>) -> Vec<Step> {
        let mut rng = Rng::with_seed(seed);
        let mut steps = Vec::new();
        for connection in 0..CONNECTIONS {
            if rng.bool() {
                steps.push(Step::Send { connection, args: words("HELLO 3") });
            }
        }
        // A few commands that are used much, so that their data meets.
        let favourites: Vec<usize> = (0..6).map(|_| rng.usize(..self.commands.len())).collect();
        for line in Vocabulary::data().iter().chain(&["ZADD zl 0 a 0 b 0 m1 0 m2 0 m3"]) {
            if rng.u8(..3) > 0 {
                steps.push(Step::Send { connection: 0, args: words(line) });
            }
        }
        let len = rng.usize(len);
        let (mut connection, mut in_multi) = (0, 0);
        for _ in 0..len {
            if in_multi == 0 && rng.u8(..3) == 0 {
                connection = rng.usize(..CONNECTIONS);
            }
            let args = match rng.u8(..100) {
                0..=4 => {
                    steps.push(Step::Advance { ms: [1, 10, 100, 1000, 100_000][rng.usize(..5)] });
                    continue;
                }
                5..=8 if in_multi == 0 => {
                    in_multi = rng.usize(1..6);
                    words("MULTI")
                }
                9 if in_multi == 0 => words(["WATCH s1 l1", "WATCH h1", "UNWATCH"][rng.usize(..3)]),
                10..=15 => self.script(&mut rng),
                _ if in_multi == 1 => {
                    in_multi = 0;
                    words(if rng.u8(..8) == 0 { "DISCARD" } else { "EXEC" })
                }
                _ => {
                    in_multi = in_multi.saturating_sub(1).max(usize::from(in_multi > 0));
                    let favourite = favourites[rng.usize(..favourites.len())];
                    let at = if rng.u8(..3) == 0 { favourite } else { rng.usize(..self.commands.len()) };
                    self.call(at, &mut rng)
                }
            };
            steps.push(Step::Send { connection, args });
        }
        steps
    }

    fn call(&self, at: usize, rng: &mut Rng) -> Vec<Vec<u8>> {
        loop {
            let nearly = rng.u8(..4) == 0;
            let mut generator = Generator::new(&self.vocabulary, rng);
            let command = &self.commands[at];
            let mut call = if nearly { generator.nearly_valid(command) } else { generator.valid(command) };
            if let Some(key) = lex_key(&call).and_then(|at| call.get_mut(at)) {
                *key = LEX_KEY.to_vec();
            }
            if rule_of(&call) != Rule::Never {
                return call;
            }
        }
    }

    /// A script that calls a command.
    fn script(&self, rng: &mut Rng) -> Vec<Vec<u8>> {
        let call = self.call(rng.usize(..self.commands.len()), rng);
        let name = if rng.u8(..6) == 0 { "EVAL_RO" } else { "EVAL" };
        let mut args = vec![name.into(), SCRIPTS[rng.usize(..SCRIPTS.len())].into(), b"0".to_vec()];
        args.extend(call);
        args
    }
}
