//! `nodes.conf` that cannot be written, read or had: full disks, folders that are gone, another process. Beside Valkey.

use crate::node::text;
use larder_testkit::{Client, FaultyDisk, Kind, Port, Server, failed_start, temp_dir};
use std::fs::File;

const KINDS: [Kind; 2] = [Kind::Larder, Kind::Valkey];

/// A node on a disk that fails when it is told to.
fn start(disk: &FaultyDisk, kind: Kind, bus: &Port) -> Server {
    let port = bus.number().to_string();
    disk.start(kind, &["--enable-debug-command", "yes", "--cluster-enabled", "yes", "--cluster-port", &port])
}

/// The reply, or that there is none because the server has ended.
fn reply(client: &mut Client, line: &str) -> String {
    match client.send_raw(format!("{line}\r\n").as_bytes()).and_then(|()| client.read()) {
        Ok(reply) => text(&reply),
        Err(_) => "(ended)".to_owned(),
    }
}

/// On a disk with a fault: what is said, whether the node lives, and whether the file is whole.
fn with_fault(kind: Kind, fault: &str, behavior: &str) -> (Vec<String>, bool) {
    let (disk, bus) = (FaultyDisk::default(), Port::reserve());
    let mut server = start(&disk, kind, &bus);
    let mut client = server.client();
    let mut said = vec![reply(&mut client, &format!("CONFIG SET cluster-config-save-behavior {behavior}"))];
    said.push(reply(&mut client, "CLUSTER ADDSLOTS 1"));
    let file = server.dir().join("nodes.conf");
    let before = std::fs::read_to_string(&file).expect("it is there");
    disk.fail(fault);
    said.push(reply(&mut client, "CLUSTER SAVECONFIG"));
    // What it had is still there.
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), before, "{kind:?} {fault}");
    said.push(reply(&mut client, "CLUSTER ADDSLOTS 2"));
    let lives = reply(&mut client, "PING") == "PONG";
    if lives {
        disk.heal();
        said.push(reply(&mut client, "CLUSTER SAVECONFIG"));
        let after = std::fs::read_to_string(&file).expect("it is there");
        assert!(after.contains(" 1-2\n"), "{kind:?} {fault}: {after}");
    } else {
        assert_eq!(server.wait().code(), Some(1));
        assert!(server.log().contains("Fatal: can't update cluster config file."));
    }
    (said, lives)
}

#[test]
fn a_disk_that_is_full_ends_a_node_unless_it_may_go_on() {
    for behavior in ["sync", "best-effort"] {
        for fault in ["write nodes.conf.tmp 28", "write nodes.conf.tmp 5 short"] {
            let [ours, theirs] = KINDS.map(|kind| with_fault(kind, fault, behavior));
            assert_eq!(ours, theirs, "{fault}");
            assert_eq!(ours.1, behavior == "best-effort", "{fault}");
        }
    }
}

/// A folder that is gone, or was never there, or cannot be written.
#[test]
fn a_folder_that_is_gone_is_said() {
    let said = KINDS.map(|kind| {
        let bus = Port::reserve();
        let port = bus.number().to_string();
        let folder = temp_dir();
        let path = folder.join("nodes.conf");
        let args = ["--cluster-enabled", "yes", "--cluster-port", &port];
        let server =
            Server::of(kind, &[&args[..], &["--cluster-config-file", &path.to_string_lossy()]].concat());
        std::fs::remove_dir_all(&folder).expect("it is there");
        let mut client = server.client();
        let lines = [
            "CLUSTER SAVECONFIG",
            "CONFIG SET cluster-config-save-behavior best-effort",
            "CLUSTER ADDSLOTS 1",
            "CLUSTER SAVECONFIG",
            "CONFIG SET cluster-config-save-behavior sync",
            "CLUSTER ADDSLOTS 2",
        ];
        lines.map(|line| reply(&mut client, line))
    });
    assert_eq!(said[0], said[1]);
    let (dir, port) = (temp_dir(), Port::reserve().number().to_string());
    let (code, out, err) = failed_start(
        &dir,
        &["--port", &port, "--cluster-enabled", "yes", "--cluster-config-file", "no/nodes.conf"],
    );
    assert_eq!(code, Some(1));
    assert!((out + &err).contains("Can't open no/nodes.conf in order to acquire a lock"));
}

/// A process that is no node has the lock.
#[test]
fn a_file_that_somebody_has_locked_is_not_taken() {
    let dir = temp_dir();
    let file = File::create(dir.join("nodes.conf")).expect("it is writable");
    file.lock().expect("nobody has it");
    let port = Port::reserve().number().to_string();
    let (code, out, err) = failed_start(&dir, &["--port", &port, "--cluster-enabled", "yes"]);
    assert_eq!(code, Some(1));
    assert!((out + &err).contains("is already used by a different Cluster node"));
    drop(file);
    // Nobody has it any more.
    let path = dir.join("nodes.conf").to_string_lossy().into_owned();
    let server = Server::larder(&[
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        &port,
        "--cluster-config-file",
        &path,
    ]);
    assert_eq!(text(&server.client().ask("CLUSTER SAVECONFIG")), "OK");
}
