//! Many threads on one store.

use super::store;
use larder_embed::Reply;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

#[test]
fn no_increment_is_lost() {
    const THREADS: usize = 16;
    const EACH: i64 = 2000;
    let store = store();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = store.clone();
            scope.spawn(move || {
                for i in 0..EACH {
                    store.incrby("sum", 1).unwrap();
                    store.hincrby("hash", format!("{}", i % 7), 1).unwrap();
                    store.set(format!("own:{thread}"), i.to_string()).unwrap();
                    let own = store.get(format!("own:{thread}")).unwrap();
                    assert_eq!(own.as_deref(), Some(i.to_string().as_bytes()));
                }
            });
        }
    });
    let total = THREADS as i64 * EACH;
    assert_eq!(store.incrby("sum", 0).unwrap(), total);
    let fields = store.hgetall("hash").unwrap();
    let sum: i64 = fields.iter().map(|(_, n)| std::str::from_utf8(n).unwrap().parse::<i64>().unwrap()).sum();
    assert_eq!((fields.len(), sum), (7, total));
}

#[test]
fn nobody_sees_half_of_a_transaction() {
    let store = store();
    store.mset(&[("a", "0"), ("b", "0")]).unwrap();
    let done = AtomicBool::new(false);
    // Writers go on until each reader has had its turn.
    let reads = [const { AtomicU64::new(0) }; 2];
    let all_have_read = || reads.iter().all(|reads| reads.load(Relaxed) > 0);
    let written = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut written = 0;
                    while written < 2000 || written < 1_000_000 && !all_have_read() {
                        written += 1;
                        let commands: [&[&str]; 2] = [&["INCRBY", "a", "1"], &["INCRBY", "b", "-1"]];
                        store.transaction(&commands).unwrap();
                    }
                    written
                })
            })
            .collect();
        let readers: Vec<_> = reads
            .iter()
            .map(|reads| {
                scope.spawn(|| {
                    while !done.load(Relaxed) {
                        let found = store.mget(&["a", "b"]).unwrap();
                        let number = |at: usize| -> i64 {
                            let bytes: &Vec<u8> = found[at].as_ref().unwrap();
                            std::str::from_utf8(bytes).unwrap().parse().unwrap()
                        };
                        assert_eq!(number(0), -number(1));
                        reads.fetch_add(1, Relaxed);
                    }
                })
            })
            .collect();
        let written: u64 = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
        done.store(true, Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        written
    });
    assert!(all_have_read(), "each reader has read");
    assert_eq!(store.command(&["GET", "a"]).unwrap(), Reply::Bytes(written.to_string().into_bytes()));
}

#[test]
fn scripts_and_commands_of_many_threads() {
    let store = store();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    store.command(&["EVAL", "return redis.call('INCR', KEYS[1])", "1", "n"]).unwrap();
                    store.incrby("n", 1).unwrap();
                }
            });
        }
    });
    assert_eq!(store.incrby("n", 0).unwrap(), 1600);
}
