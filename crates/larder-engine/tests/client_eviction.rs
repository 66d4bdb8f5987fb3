//! Connections make room before keys do, whichever thread looks, and whenever.

mod support;

use larder_engine::{Session, Worker};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::time::Duration;
use support::{Client, TestHost, connect, engine_on};

const READERS: usize = 20;
const READER_BYTES: usize = 2 << 20;

/// A connection has this many bytes of replies, which its socket does not take.
fn hold(worker: &Worker, reader: &Session, bytes: usize) {
    reader.shared().set_output(bytes, 1);
    worker.recount(reader);
}

/// A thread finds too much in use while another one is closing connections, which it says in the log one by one: no key is evicted.
#[test]
fn no_key_goes_while_another_thread_closes_connections() {
    let host: Arc<TestHost> = Arc::default();
    let engine = engine_on(Arc::clone(&host), 2);
    let mut client = Client::new(&engine, 0);
    (0..50).for_each(|n| assert_eq!(client.ask(&format!("SET key:{n} v")), "+OK"));
    client.ask("CONFIG SET maxmemory-policy allkeys-random maxmemory-clients 1mb");
    let readers: Vec<Session> = (0..READERS).map(|_| connect(&mut client.worker)).collect();
    readers.iter().for_each(|reader| hold(&client.worker, reader, READER_BYTES));
    let ((go, asked), (done, answer)) = (mpsc::channel(), mpsc::channel());
    let other = Arc::clone(&engine);
    let other = std::thread::spawn(move || {
        let mut other = Client::new(&other, 1);
        asked.recv().unwrap();
        done.send(other.ask("SET key:0 other")).unwrap();
    });
    let mut lines = 0;
    *host.on_log.lock().unwrap() = Some(Box::new(move |line| {
        lines += usize::from(line.starts_with("Evicting client"));
        if line.starts_with("Evicting client") && lines == 1 {
            go.send(()).unwrap();
            assert_eq!(answer.recv_timeout(Duration::from_secs(30)).as_deref(), Ok("+OK"));
        }
    }));
    host.used.store(100 << 20, Relaxed);
    // 30 MB too much, of which connections are to give back 40.
    assert_eq!(client.ask("CONFIG SET maxmemory 70mb"), "+OK");
    other.join().unwrap();
    *host.on_log.lock().unwrap() = None;
    let info = client.ask("INFO stats");
    assert!(info.contains("evicted_keys:0 "), "{info}");
    assert!(info.contains(&format!("evicted_clients:{READERS} ")), "{info}");
    assert_eq!(client.ask("DBSIZE"), ":50");
}

/// A connection that is to be closed is served meanwhile: what it holds more is about to go as well.
#[test]
fn no_key_makes_room_for_who_is_about_to_go() {
    let host: Arc<TestHost> = Arc::default();
    let engine = engine_on(Arc::clone(&host), 1);
    let mut client = Client::new(&engine, 0);
    (0..50).for_each(|n| assert_eq!(client.ask(&format!("SET key:{n} v")), "+OK"));
    client.ask("CONFIG SET maxmemory-policy allkeys-random maxmemory-clients 1mb");
    let reader = connect(&mut client.worker);
    hold(&client.worker, &reader, READER_BYTES);
    client.worker.limit_clients();
    assert_eq!(client.mail(), ["kill"]);
    hold(&client.worker, &reader, 40 << 20);
    host.used.store(100 << 20, Relaxed);
    client.ask("CONFIG SET maxmemory 70mb");
    assert!(client.ask("INFO stats").contains("evicted_keys:0 "));
    // When it is gone, and the memory is not, keys have to go.
    client.worker.disconnect(reader);
    client.ask("SET key:0 v");
    assert!(!client.ask("INFO stats").contains("evicted_keys:0 "));
}
