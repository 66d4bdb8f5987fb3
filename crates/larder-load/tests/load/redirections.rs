//! Nodes of a cluster that send a key on to others, and do not come to an end.

use crate::support::options_for;
use larder_load::load::load;
use larder_load::mapping::Draft;
use larder_load::options::{Report, Source};
use larder_load::reader::{Format, Layout};
use larder_testkit::temp_dir;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The next command of a client; none at its end.
fn command(from: &mut impl BufRead) -> Option<Vec<Vec<u8>>> {
    fn number(from: &mut impl BufRead) -> Option<usize> {
        let mut line = String::new();
        from.read_line(&mut line).ok()?;
        line.get(1..)?.trim_end().parse().ok()
    }
    let count = number(from)?;
    let word = |_| {
        let mut bytes = vec![0; number(from)? + 2];
        from.read_exact(&mut bytes).ok()?;
        bytes.truncate(bytes.len() - 2);
        Some(bytes)
    };
    (0..count).map(word).collect()
}

/// A node that has all slots, as it says. It answers so many times `SET` by `sent_on`, and then by `last`.
#[derive(Clone, Copy)]
struct Node {
    sent_on: &'static str,
    times: usize,
    last: &'static str,
}

impl Node {
    /// Its port, and how many `SET` it gets.
    fn start(self) -> (u16, Arc<AtomicUsize>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counter = Arc::clone(&counter);
                std::thread::spawn(move || self.serve(stream, port, &counter));
            }
        });
        (port, seen)
    }

    fn serve(self, mut stream: TcpStream, port: u16, counter: &AtomicUsize) {
        let mut from = BufReader::new(stream.try_clone().unwrap());
        while let Some(words) = command(&mut from) {
            let reply = match words[0].as_slice() {
                b"INFO" => {
                    let info = "valkey_version:9.1.2\r\ncluster_enabled:1\r\n";
                    format!("${}\r\n{info}\r\n", info.len())
                }
                b"CLUSTER" => {
                    format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n")
                }
                b"SET" if counter.fetch_add(1, Ordering::Relaxed) < self.times => {
                    format!("-{}\r\n", self.sent_on.replace("PORT", &port.to_string()))
                }
                b"SET" => format!("{}\r\n", self.last),
                _ => "+OK\r\n".to_owned(),
            };
            if stream.write_all(reply.as_bytes()).is_err() {
                return;
            }
        }
    }

    /// Loads one key into it; returns what came of it, and how often the key was sent.
    fn load(self) -> (Report, usize) {
        let folder = temp_dir();
        let path = folder.join("rows");
        fs::write(&path, "k,v\na key,1\n").unwrap();
        let mapping = "key = '{k}'\ntype = 'string'\nvalue = '{v}'";
        let mapping = Draft::parse(mapping).unwrap().finish().unwrap();
        let (port, seen) = self.start();
        let report =
            load(&options_for(&path, Source::Table(Layout::of(Format::Csv), mapping), port)).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        (report, seen.load(Ordering::Relaxed))
    }
}

#[test]
fn a_key_that_is_sent_on_for_ever_is_named() {
    for sent_on in ["MOVED 7 127.0.0.1:PORT", "MOVED 7 :PORT", "ASK 7 127.0.0.1:PORT"] {
        for last in ["+OK", "$-1", "-OOM no memory"] {
            for times in 0..10 {
                let (report, sent) = Node { sent_on, times, last }.load();
                let what = format!("{sent_on} {times} times, then {last}: {report:?}");
                // It is sent six times at most, and every answer counts.
                assert_eq!(sent, 6.min(times + 1), "{what}");
                let failure = report.failure.unwrap_or_default();
                let kind = sent_on.split(' ').next().unwrap();
                if times > 5 {
                    assert_eq!((report.keys, report.rejected), (0, 0), "{what}");
                    assert!(failure.contains(kind) && failure.contains("after 5 redirections"), "{what}");
                    assert!(failure.contains("(line 2, key 'a key')"), "{what}");
                } else if last == "-OOM no memory" {
                    assert!(failure.contains("OOM no memory (line 2, key 'a key')"), "{what}");
                } else {
                    let expected = if last == "+OK" { (1, 0, "") } else { (0, 1, "") };
                    assert_eq!((report.keys, report.rejected, failure.as_str()), expected, "{what}");
                }
            }
        }
    }
    // A node that cannot be reached.
    let (report, _) = Node { sent_on: "MOVED 7 127.0.0.1:1", times: 1, last: "+OK" }.load();
    let failure = report.failure.unwrap();
    assert!(failure.contains("127.0.0.1:1: ") && failure.contains("key 'a key'"), "{failure}");
}
