//! Random sequences over the whole command table.

use super::rules::{LEX_KEY, Rule, lex_key, rule_of, subscribes};
use super::step::Step;
use fastrand::Rng;
use larder_testkit::syntax::{self, Generator, Vocabulary};
use larder_testkit::words;
use sha1::{Digest as _, Sha1};
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

const LIBRARIES: &[&str] = &[
    "#!lua name=one\nserver.register_function('call', function(_, args) return server.call(unpack(args)) end)
    server.register_function{function_name = 'read', callback = function(_, args) return server.call(unpack(args)) end,
        flags = {'no-writes'}}",
    "#!lua name=two\nserver.register_function('try', function(_, args) return server.pcall(unpack(args)) end)",
];

/// What a sequence is like.
#[derive(Clone, Debug)]
pub struct Style {
    /// How many commands it has.
    pub len: Range<usize>,
    /// After how many commands, on average, another connection goes on.
    pub stretch: u32,
    /// In how many of a thousand steps time passes.
    pub advances: u32,
    /// In how many of a thousand a connection is told to wait no longer.
    pub unblocks: u32,
    /// How many keys there are for each name of a key, 0: the name is the key.
    pub variants: u32,
}

/// Commands that sequences with many keys leave out: they would take all of them away, work on others, or come by each of them at every
/// step of the comparison.
const NOT_WITH_MANY_KEYS: [&str; 9] =
    ["FLUSHALL", "FLUSHDB", "SWAPDB", "SELECT", "SCAN", "HEXPIRE", "HPEXPIRE", "HSETEX", "HGETEX"];

/// Commands of as many keys as one likes: how many arguments come with each key, and what keys.
const SEVERAL: &[(&str, usize, &[&str])] = &[
    ("MGET", 0, &["s1", "n1", "none", "t1"]),
    ("MSET", 1, &["s1", "n1", "none", "t1"]),
    ("MSETNX", 1, &["none"]),
    ("DEL", 0, &["s1", "l1", "h1", "x1", "z2", "none"]),
    ("UNLINK", 0, &["s2", "l2", "h2", "t4", "z1", "none"]),
    ("EXISTS", 0, &["s1", "l1", "h1", "x1", "z1", "none"]),
    ("TOUCH", 0, &["s1", "l1", "h1", "x1", "z1", "none"]),
    ("WATCH", 0, &["s1", "l1", "h1", "none"]),
    ("SUNION", 0, &["t1", "t2", "t4", "none"]),
    ("SINTERSTORE", 0, &["t1", "t2", "t4"]),
    ("SDIFFSTORE", 0, &["t1", "t2", "none"]),
    ("PFCOUNT", 0, &["p1", "p2"]),
    ("BLPOP", 0, &["l1", "l2", "none"]),
];
/// Of how many variants of a name half of the keys are.
const OFTEN: u32 = 40;
/// The most keys of one of them: usually few, sometimes more than are loaded ahead at once.
const SEVERAL_MAX: [usize; 3] = [4, 20, 200];

/// The name of one of the keys that a name stands for.
pub fn variant(name: &[u8], number: u32) -> Vec<u8> {
    [name, b":", number.to_string().as_bytes()].concat()
}

/// Names of keys in a command become keys, of as many as there are for each.
pub fn spread(args: &mut [Vec<u8>], mut number: impl FnMut() -> u32) {
    for arg in args.iter_mut().skip(1).filter(|arg| Vocabulary::is_key(arg)) {
        *arg = variant(arg, number());
    }
}

/// Where a call stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// By itself.
    Free,
    /// In a transaction or a script.
    Within,
    /// In the arguments of a command that does not run it.
    Named,
}

/// Makes sequences of commands that can be compared.
pub struct Sequences {
    commands: Vec<syntax::Command>,
    vocabulary: Vocabulary,
    style: Style,
}

impl Sequences {
    /// Over the commands that a server documents.
    pub fn of(mut commands: Vec<syntax::Command>, style: &Style) -> Sequences {
        commands.retain(|command| {
            let name: Vec<Vec<u8>> = command.name.iter().map(|word| word.clone().into_bytes()).collect();
            let is_left_out = style.variants > 0 && NOT_WITH_MANY_KEYS.contains(&&*command.name[0]);
            rule_of(&name) != Rule::Never && !subscribes(&name) && !is_left_out
        });
        assert!(commands.len() > 200, "most commands can be compared: {}", commands.len());
        let vocabulary = Vocabulary { near: true, ..Vocabulary::default() };
        Sequences { commands, vocabulary, style: style.clone() }
    }

    /// The sequence of a seed.
    pub fn sequence(&self, seed: u64) -> Vec<Step> {
        let style = &self.style;
        let mut rng = Rng::with_seed(seed);
        let mut steps = Vec::new();
        let mut is_resp3 = [false; CONNECTIONS];
        for (connection, is_resp3) in is_resp3.iter_mut().enumerate() {
            *is_resp3 = rng.bool();
            if *is_resp3 {
                steps.push(Step::Send { connection, args: words("HELLO 3") });
            }
        }
        // All events of the keyspace, and their order.
        if rng.u8(..3) == 0 {
            let connection = CONNECTIONS - 1;
            steps.push(Step::Send { connection, args: words("HELLO 3") });
            is_resp3[connection] = true;
            steps.push(Step::Send { connection, args: words("PSUBSCRIBE __key*") });
        }
        // A few commands that are used much, so that their data meets.
        let favourites: Vec<usize> = (0..6).map(|_| rng.usize(..self.commands.len())).collect();
        for line in Vocabulary::data().iter().chain(&["ZADD zl 0 a 0 b 0 m1 0 m2 0 m3"]) {
            if rng.u8(..3) > 0 {
                steps.push(Step::Send { connection: 0, args: words(line) });
            }
        }
        let len = rng.usize(style.len.clone());
        let (mut connection, mut in_multi) = (0, 0);
        for _ in 0..len {
            if in_multi == 0 && rng.u32(..style.stretch) == 0 {
                connection = rng.usize(..CONNECTIONS);
            }
            if rng.u32(..1000) < style.advances {
                steps.push(Step::Advance { ms: [1, 10, 100, 1000, 100_000][rng.usize(..5)] });
                continue;
            }
            if rng.u32(..1000) < style.unblocks {
                steps.push(Step::Unblock { connection: rng.usize(..CONNECTIONS) });
                continue;
            }
            let args = match rng.u8(..100) {
                0..=3 if in_multi == 0 => {
                    in_multi = rng.usize(1..6);
                    words("MULTI")
                }
                4 if in_multi == 0 => words(["WATCH s1 l1", "WATCH h1", "UNWATCH"][rng.usize(..3)]),
                11..=13 => self.about(&mut rng),
                15..=29 if style.variants > 0 && in_multi != 1 => {
                    in_multi = in_multi.saturating_sub(1);
                    several(&mut rng)
                }
                14 if in_multi == 0 => {
                    listen(connection, is_resp3[connection], &mut rng, &mut steps);
                    continue;
                }
                5..=10 => self.script(&mut rng),
                _ if in_multi == 1 => {
                    in_multi = 0;
                    words(if rng.u8(..8) == 0 { "DISCARD" } else { "EXEC" })
                }
                _ => {
                    in_multi = in_multi.saturating_sub(1).max(usize::from(in_multi > 0));
                    let favourite = favourites[rng.usize(..favourites.len())];
                    let at = if rng.u8(..3) == 0 { favourite } else { rng.usize(..self.commands.len()) };
                    self.call(at, if in_multi > 0 { Place::Within } else { Place::Free }, &mut rng)
                }
            };
            if args[0].eq_ignore_ascii_case(b"RESET") {
                is_resp3[connection] = false;
            }
            steps.push(Step::Send { connection, args });
        }
        if style.variants > 0 {
            for step in &mut steps {
                if let Step::Send { args, .. } = step {
                    // Half of them meet often.
                    spread(args, || if rng.bool() { rng.u32(..style.variants) } else { rng.u32(..OFTEN) });
                }
            }
        }
        steps
    }

    /// A call of a command. Within something, not one of SCAN: it deletes overdue keys, in each server those that its step
    /// comes by.
    fn call(&self, at: usize, place: Place, rng: &mut Rng) -> Vec<Vec<u8>> {
        let mut command = &self.commands[at];
        for tries in 0.. {
            assert!(tries < 10_000, "no call of {:?} can be compared", command.name);
            let nearly = rng.u8(..4) == 0 && place != Place::Named;
            if place != Place::Free && command.name == ["SCAN"] {
                command = &self.commands[rng.usize(..self.commands.len())];
                continue;
            }
            let mut generator = Generator::new(&self.vocabulary, rng);
            let mut call = if nearly { generator.nearly_valid(command) } else { generator.valid(command) };
            if let Some(key) = lex_key(&call).and_then(|at| call.get_mut(at)) {
                *key = LEX_KEY.to_vec();
            }
            if rule_of(&call) != Rule::Never {
                return call;
            }
        }
        unreachable!("it tries until it has one")
    }

    /// A command that has another one in its arguments, and does not run it; or that changes what there is of scripts.
    fn about(&self, rng: &mut Rng) -> Vec<Vec<u8>> {
        let head = match rng.u8(..12) {
            0..=2 => words("COMMAND GETKEYS"),
            3 | 4 => words("COMMAND GETKEYSANDFLAGS"),
            5..=7 => words("ACL DRYRUN default"),
            8 | 9 => {
                let replace = if rng.bool() { "REPLACE " } else { "" };
                let mut load = words(&format!("FUNCTION LOAD {replace}"));
                load.push(LIBRARIES[rng.usize(..LIBRARIES.len())].into());
                return load;
            }
            10 => {
                return words(
                    ["FUNCTION DELETE one", "FUNCTION DELETE two", "FUNCTION LIST"][rng.usize(..3)],
                );
            }
            _ => {
                let script = SCRIPTS[rng.usize(..SCRIPTS.len())];
                return vec![b"SCRIPT".to_vec(), b"LOAD".to_vec(), script.into()];
            }
        };
        let call = self.call(rng.usize(..self.commands.len()), Place::Named, rng);
        head.into_iter().chain(call).collect()
    }

    /// A script that calls a command.
    fn script(&self, rng: &mut Rng) -> Vec<Vec<u8>> {
        let call = self.call(rng.usize(..self.commands.len()), Place::Within, rng);
        let script = SCRIPTS[rng.usize(..SCRIPTS.len())];
        let hash = || format!("{:x}", Sha1::digest(script));
        let (name, what): (&str, Vec<u8>) = match rng.u8(..12) {
            0 => ("EVAL_RO", script.into()),
            1 => ("EVALSHA", hash().into()),
            2 => ("EVALSHA_RO", hash().into()),
            3 | 4 => ("FCALL", ["call", "try", "read"][rng.usize(..3)].into()),
            5 => ("FCALL_RO", ["call", "read"][rng.usize(..2)].into()),
            _ => ("EVAL", script.into()),
        };
        let mut args = vec![name.into(), what, b"0".to_vec()];
        args.extend(call);
        args
    }
}

/// A command of several keys.
fn several(rng: &mut Rng) -> Vec<Vec<u8>> {
    if rng.u8(..16) == 0 {
        // While it waits, commands that write hold all shards.
        return words("BLMOVE none l2 LEFT RIGHT 50000");
    }
    let (name, values, keys) = SEVERAL[rng.usize(..SEVERAL.len())];
    let mut args = words(name);
    let most = SEVERAL_MAX[rng.usize(..SEVERAL_MAX.len())];
    for _ in 0..rng.usize(1..most) {
        args.push(keys[rng.usize(..keys.len())].into());
        args.extend((0..values).map(|_| b"v".to_vec()));
    }
    if name == "BLPOP" {
        args.push(b"50".to_vec());
    }
    args
}

/// A connection begins to listen, or listens no more. In the older protocol it can do little else while it listens, so that
/// does not last.
fn listen(connection: usize, is_resp3: bool, rng: &mut Rng, steps: &mut Vec<Step>) {
    const BEGINS: [&str; 5] =
        ["SUBSCRIBE c1 c2", "PSUBSCRIBE c*", "SSUBSCRIBE c1", "SUBSCRIBE c1 c1", "PSUBSCRIBE __key*@0__:*"];
    const ENDS: [&str; 6] = [
        "UNSUBSCRIBE",
        "PUNSUBSCRIBE",
        "SUNSUBSCRIBE",
        "UNSUBSCRIBE c2 none",
        "PUNSUBSCRIBE c* *",
        "SUNSUBSCRIBE c1 c3",
    ];
    let other = rng.usize(..CONNECTIONS);
    let mut send = |connection: usize, line: &str| steps.push(Step::Send { connection, args: words(line) });
    if is_resp3 && rng.bool() {
        return send(connection, ENDS[rng.usize(..ENDS.len())]);
    }
    send(connection, BEGINS[rng.usize(..BEGINS.len())]);
    if !is_resp3 {
        ["PUBLISH c1 hello", "SPUBLISH c1 there", "INCR s1", "PING"]
            .iter()
            .for_each(|line| send(other, line));
        ENDS[..3].iter().for_each(|line| send(connection, line));
    }
}
