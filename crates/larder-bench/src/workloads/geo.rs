//! Server CPU of the geo commands on a million places in central Europe.

use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::data::SEED;
use crate::figure::Target;
use crate::resp;
use fastrand::Rng;
use std::io;

const PIPELINE: usize = 16;
/// Members at full scale.
const MEMBERS: usize = 1_000_000;
/// Kilometers around a place within which there are about a hundred, at full scale.
const RADIUS_KM: f64 = 5.3;

/// Measures the commands.
pub fn run(context: &mut Context) -> io::Result<()> {
    let mut session = context.start()?;
    let members = context.scaled(MEMBERS, 2000);
    let mut rng = Rng::with_seed(SEED);
    let mut loader = session.loader()?;
    for member in 0..members {
        if member.is_multiple_of(50_000) {
            context.progress("loading", member, members);
        }
        let ([x, y], name) = (place(&mut rng), name(member));
        loader.send(&[b"GEOADD", b"geo", x.as_bytes(), y.as_bytes(), name.as_bytes()])?;
    }
    loader.finish()?;
    let radius = format!("{:.3}", RADIUS_KM * (MEMBERS as f64 / members as f64).sqrt());
    let mut pool = session.pool(CONNECTIONS)?;
    for (verb, operations) in [
        ("GEOADD", 200_000),
        ("GEODIST", 400_000),
        ("GEOPOS", 400_000),
        ("GEOSEARCH of 100", 20_000),
        ("GEOSEARCH of 100, sorted, with distances", 20_000),
    ] {
        context.stage(verb);
        let rounds = pool.rounds(context.scaled(operations, 800), PIPELINE);
        let mut command = |out: &mut Vec<u8>| {
            let [x, y] = place(&mut rng);
            let (x, y) = (x.as_bytes(), y.as_bytes());
            let (a, b) = (name(rng.usize(..members)), name(rng.usize(..members)));
            let (a, b) = (a.as_bytes(), b.as_bytes());
            let search: [&[u8]; 8] =
                [b"GEOSEARCH", b"geo", b"FROMLONLAT", x, y, b"BYRADIUS", radius.as_bytes(), b"km"];
            match verb {
                "GEOADD" => resp::command(out, &[b"GEOADD", b"geo", x, y, a]),
                "GEODIST" => resp::command(out, &[b"GEODIST", b"geo", a, b]),
                "GEOPOS" => resp::command(out, &[b"GEOPOS", b"geo", a]),
                "GEOSEARCH of 100" => resp::command(out, &search),
                _ => resp::command(out, &[&search[..], &[b"ASC" as &[u8], b"WITHDIST"]].concat()),
            }
        };
        pool.run(rounds.div_ceil(20), PIPELINE, &mut command)?;
        let (cost, _) = timed(&mut session, &mut pool, rounds, PIPELINE, command)?;
        context.cost(format!("{verb}, 1 set of {members}"), cost, Target::OfRedis(0.9));
    }
    Ok(())
}

/// Longitude and latitude.
fn place(rng: &mut Rng) -> [String; 2] {
    [5.0, 40.0].map(|least| format!("{:.6}", least + 10.0 * rng.f64()))
}

fn name(member: usize) -> String {
    format!("place:{member:08}")
}
