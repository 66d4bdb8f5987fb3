//! The `redis` crate in cluster mode: it writes while a primary is killed and while slots move, and nothing is lost that a replica had.

use redis::cluster::{ClusterClient, ClusterClientBuilder, ClusterConnection};
use redis::{ConnectionLike, RedisResult, Value, cmd, pipe};
use std::io::{BufRead, BufReader};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Whether a write was acknowledged, and a replica had it then: both are asked of one connection, that of the first command's key.
fn write(connection: &mut ClusterConnection, number: u32) -> bool {
    let mut both = pipe();
    both.cmd("SET").arg(format!("key:{number}")).arg(number).cmd("WAIT").arg(1).arg(1000);
    matches!(
        connection.req_packed_commands(&both.get_packed_pipeline(), 0, 2).as_deref(),
        Ok([Value::Okay, Value::Int(1)])
    )
}

fn connect(client: &ClusterClient) -> ClusterConnection {
    let deadline = Instant::now() + Duration::from_secs(40);
    loop {
        match client.get_connection() {
            Ok(connection) => {
                let _ = connection.set_read_timeout(Some(Duration::from_secs(2)));
                return connection;
            }
            Err(error) => assert!(Instant::now() < deadline, "nobody is there: {error}"),
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Two lines, when they have come.
fn happened(mut output: BufReader<ChildStdout>) -> mpsc::Receiver<Vec<String>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = (0..2).map(|_| {
            let mut line = String::new();
            let _ = output.read_line(&mut line);
            line.trim().to_owned()
        });
        let _ = sender.send(lines.collect());
    });
    receiver
}

fn nothing_is_lost() {
    let program = std::env::var("CLUSTERS_PROGRAM").expect("run.py says where it is");
    let mut process = Command::new("python3")
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is installed");
    let mut output = BufReader::new(process.stdout.take().expect("it has an output"));
    let mut line = String::new();
    output.read_line(&mut line).expect("it says its ports");
    let start: serde_json::Value = serde_json::from_str(&line).expect("the cluster starts");
    let ports = start["ports"].as_array().expect("there are ports");
    let addresses = ports.iter().map(|port| format!("redis://127.0.0.1:{port}/"));
    let client = ClusterClientBuilder::new(addresses).retries(3).build().expect("these are addresses");
    let mut connection = connect(&client);
    let over = happened(output);
    let (mut kept, mut count) = (Vec::new(), 0);
    let lines = loop {
        count += 1;
        if write(&mut connection, count) {
            kept.push(count);
        } else {
            // It follows redirections, and learns of them.
            let set: RedisResult<()> = cmd("SET").arg(format!("key:{count}")).arg(count).query(&mut connection);
            if set.is_err() {
                connection = connect(&client);
            }
        }
        if let Ok(lines) = over.try_recv() {
            break lines;
        }
    };
    assert_eq!(lines, ["killed", "resharded"]);
    assert!(kept.len() > 100, "{} of {count} were acknowledged", kept.len());
    for number in kept {
        let value: Option<u32> = cmd("GET").arg(format!("key:{number}")).query(&mut connection).expect("it answers");
        assert_eq!(value, Some(number));
    }
    for number in 0..200 {
        let set: RedisResult<()> = cmd("SET").arg(format!("after:{number}")).arg(1).query(&mut connection);
        set.expect("writes go on");
    }
    drop(process.stdin.take());
    process.wait().expect("it ends");
}

fn main() {
    let begun = Instant::now();
    let name = "the redis crate on a cluster: nothing_is_lost";
    match thread::spawn(nothing_is_lost).join() {
        Ok(()) => println!("ok   {name} ({} ms)", begun.elapsed().as_millis()),
        Err(_) => {
            println!("FAIL {name}: see above");
            std::process::exit(1);
        }
    }
}
