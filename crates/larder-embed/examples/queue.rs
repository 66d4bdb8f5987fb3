//! A queue of jobs that survives the program: a thread adds jobs, another one waits for them.
//!
//!     cargo run -p larder-embed --example queue -- FOLDER

use larder_embed::{Options, Reply, Result, Store};
use std::thread;

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "queue-data".to_owned());
    let store = Store::open(&Options::new().directory(folder))?;
    println!("{} jobs were left by the last run", store.llen("jobs")?);
    let worker = {
        let store = store.clone();
        thread::spawn(move || work(&store))
    };
    for number in 1..=3 {
        store.rpush("jobs", &[format!("job {number}")])?;
    }
    store.rpush("jobs", &["stop"])?;
    worker.join().expect("the worker does not panic")?;
    store.close()
}

/// Takes jobs until one says stop. BLMOVE keeps the job in a second list until it is done.
fn work(store: &Store) -> Result<()> {
    let mut connection = store.connect()?;
    loop {
        let reply = connection.command(&["BLMOVE", "jobs", "running", "LEFT", "RIGHT", "0"])?;
        let Reply::Bytes(job) = reply else { continue };
        store.command(&["LREM", "running", "1", &String::from_utf8_lossy(&job)])?;
        if job == b"stop" {
            return Ok(());
        }
        println!("done: {}", job.escape_ascii());
    }
}
