//! Server CPU of SET and GET by TLS, session set-up not counted. All servers get certificates of P-256 made alike, and AES-256-GCM of
//! TLS 1.3, which the processor's instructions do on both sides.

use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::data::SEED;
use crate::figure::Target;
use crate::pool::ConnectionPool;
use crate::resp;
use crate::session::Session;
use fastrand::Rng;
use larder_testkit::Port;
use larder_testkit::tls::{Authority, config};
use std::io;

const KEYS: usize = 10_000;

/// Measures both commands with values of this many bytes.
pub fn run(context: &mut Context, pipeline: usize, bytes: usize) -> io::Result<()> {
    let authority = Authority::new("larder-bench");
    let identity = authority.issue("server");
    let port = Port::reserve();
    let (number, ca) = (port.number().to_string(), authority.certificate());
    let files = [
        "--tls-cert-file",
        &identity.certificate,
        "--tls-key-file",
        &identity.key,
        "--tls-ca-cert-file",
        &ca,
    ];
    let args = [&["--tls-port", &number, "--tls-auth-clients", "no"][..], &files].concat();
    let mut session = Session::start_pinned(context.peer, &args)?;
    session.configure(&[("tls-ciphersuites", "TLS_AES_256_GCM_SHA384")])?;
    let client = config(&authority, None, &[&rustls::version::TLS13]);
    let mut pool = ConnectionPool::connect_tls(port.number(), CONNECTIONS, &client)?;
    let operations = if pipeline == 1 { 100_000 } else { 1_000_000 };
    let rounds = pool.rounds(context.scaled(operations, 2000), pipeline);
    let value = vec![b'v'; bytes];
    let mut rng = Rng::with_seed(SEED);
    let mut next = 0;
    pool.run(KEYS.div_ceil(CONNECTIONS), 1, |out| {
        resp::command(out, &[b"SET", key(next % KEYS).as_bytes(), &value]);
        next += 1;
    })?;
    for verb in ["SET", "GET"] {
        context.stage(verb);
        let mut command = |out: &mut Vec<u8>| {
            let key = key(rng.usize(..KEYS));
            match verb {
                "SET" => resp::command(out, &[b"SET", key.as_bytes(), &value]),
                _ => resp::command(out, &[b"GET", key.as_bytes()]),
            }
        };
        pool.run(rounds.div_ceil(20), pipeline, &mut command)?;
        let (cost, nulls) = timed(&mut session, &mut pool, rounds, pipeline, &mut command)?;
        // Redis 7.0 is the peer that targets refer to; the one to beat by a tenth is Valkey, in the same table.
        context.cost(format!("{verb} of {bytes} bytes, pipeline {pipeline}"), cost, Target::OfRedis(0.9));
        if nulls > 0 {
            return Err(io::Error::other(format!("{verb}: {nulls} null replies")));
        }
    }
    Ok(())
}

fn key(number: usize) -> String {
    format!("key:{number:010}")
}
