//! Stores that are dropped leave nothing behind.

use larder_embed::Store;
use std::fs;
use std::time::{Duration, Instant};

fn thread_count() -> usize {
    fs::read_dir("/proc/self/task").expect("the kernel tells of threads").count()
}

#[test]
fn the_threads_of_a_store_end_with_it() {
    let before = thread_count();
    for _ in 0..20 {
        let store = Store::in_memory().expect("threads start");
        store.set("k", "v".repeat(1 << 20)).expect("it is set");
        store.command(&["EVAL", "return 1", "0"]).expect("it runs");
        let events = store.events::<&str>(&[], 10).expect("the thread starts");
        store.set("k", "w").expect("it is set");
        assert!(events.next_within(Duration::from_secs(20)).is_some());
        // What is left of it does not keep it.
        drop(store);
        assert!(events.try_next().is_none());
    }
    // Those that free memory end when they have done so.
    let deadline = Instant::now() + Duration::from_secs(20);
    while thread_count() > before {
        assert!(Instant::now() < deadline, "{} threads, {before} before", thread_count());
        std::thread::sleep(Duration::from_millis(5));
    }
}
