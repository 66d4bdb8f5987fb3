//! Many threads on one store.

use super::store;
use larder_embed::Reply;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

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
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        let commands: [&[&str]; 2] = [&["INCRBY", "a", "1"], &["INCRBY", "b", "-1"]];
                        store.transaction(&commands).unwrap();
                    }
                })
            })
            .collect();
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut seen = 0;
                    while !done.load(Relaxed) {
                        let found = store.mget(&["a", "b"]).unwrap();
                        let number = |at: usize| -> i64 {
                            let bytes: &Vec<u8> = found[at].as_ref().unwrap();
                            std::str::from_utf8(bytes).unwrap().parse().unwrap()
                        };
                        assert_eq!(number(0), -number(1));
                        seen += 1;
                    }
                    seen
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Relaxed);
        for reader in readers {
            assert!(reader.join().unwrap() > 0, "a reader has read");
        }
    });
    assert_eq!(store.command(&["GET", "a"]).unwrap(), Reply::Bytes(b"4000".to_vec()));
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
