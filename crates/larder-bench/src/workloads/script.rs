//! Scripts and functions: what a call costs, beside the commands that it makes.

use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::data::SEED;
use crate::figure::Target;
use crate::resp;
use fastrand::Rng;
use std::io;

const KEYS: usize = 10_000;
const CALLS: usize = 200_000;

/// Five lines, two keys: counts, and at every second call sets the other key.
const BODY: &str = "local count = redis.call('INCR', KEYS[1])
if count % 2 == 0 then
  redis.call('SET', KEYS[2], ARGV[1])
end
return count";

/// The same, with the second key made up by the script.
const UNDECLARED: &str = "local count = redis.call('INCR', KEYS[1])
if count % 2 == 0 then
  redis.call('SET', KEYS[1] .. ':last', ARGV[1])
end
return count";

/// A loop of calls in one script.
const LOOP: &str = "for i = 1, 100 do redis.call('INCR', KEYS[1]) end return 100";

/// What clients send.
struct Call {
    row: &'static str,
    verb: &'static [u8],
    name: Vec<u8>,
    keys: usize,
    calls: usize,
}

/// Measures one depth of pipeline.
pub fn run(context: &mut Context, pipeline: usize) -> io::Result<()> {
    let mut session = context.start()?;
    let mut pool = session.pool(CONNECTIONS)?;
    let mut load =
        |script: &str| Ok::<_, io::Error>(session.ask_words(&["SCRIPT", "LOAD", script])?.bytes().to_vec());
    let (body, undeclared, long) = (load(BODY)?, load(UNDECLARED)?, load(LOOP)?);
    let function = BODY.replace("KEYS", "keys").replace("ARGV", "args");
    let library =
        format!("#!lua name=bench\nredis.register_function('bench', function(keys, args)\n{function}\nend)");
    session.ask_words(&["FUNCTION", "LOAD", &library])?;
    let calls = [
        Call { row: "EVALSHA of 5 lines, 2 keys", verb: b"EVALSHA", name: body, keys: 2, calls: CALLS },
        Call {
            row: "FCALL of 5 lines, 2 keys",
            verb: b"FCALL",
            name: b"bench".to_vec(),
            keys: 2,
            calls: CALLS,
        },
        Call {
            row: "EVALSHA with an undeclared key",
            verb: b"EVALSHA",
            name: undeclared,
            keys: 1,
            calls: CALLS / 2,
        },
        Call { row: "EVALSHA of 100 INCR", verb: b"EVALSHA", name: long, keys: 1, calls: CALLS / 20 },
    ];
    let keys = context.scaled(KEYS, 100);
    for call in &calls {
        context.stage(call.row);
        let mut rng = Rng::with_seed(SEED);
        let rounds = pool.rounds(context.scaled(call.calls, 500), pipeline);
        let mut send = |out: &mut Vec<u8>| {
            let n = rng.usize(..keys);
            let names = [format!("count:{n}"), format!("last:{n}")];
            let count = call.keys.to_string();
            let mut words: Vec<&[u8]> = vec![call.verb, &call.name, count.as_bytes()];
            words.extend(names[..call.keys].iter().map(|name| name.as_bytes()));
            words.push(b"an argument");
            resp::command(out, &words);
        };
        pool.run(rounds.div_ceil(20), pipeline, &mut send)?;
        let (cost, _) = timed(&mut session, &mut pool, rounds, pipeline, &mut send)?;
        context.cost(format!("{}, pipeline {pipeline}", call.row), cost, Target::OfRedis(0.9));
    }
    Ok(())
}
