//! A directory is open once.

use super::{Dir, ask};
use larder_embed::{Error, Options, Store};
use larder_testkit::{Server, failed_start};
use std::os::unix::fs::symlink;
use std::path::Path;

fn is_in_use(dir: &Path) -> bool {
    match Store::open(&Options::new().directory(dir)).map(|store| store.close()) {
        Ok(closed) => {
            closed.expect("it closes");
            false
        }
        Err(Error::InUse(_)) => true,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn of_two_stores_one_is_refused() {
    let (dir, other) = (Dir::new(), Dir::new());
    let store = dir.open();
    symlink(&dir.0, other.path("link")).unwrap();
    assert!(is_in_use(&dir.0) && is_in_use(&other.path("link")) && is_in_use(&dir.path(".")));
    assert!(!is_in_use(&other.0));
    let text = Store::open(&dir.options()).err().expect("it is refused").to_string();
    assert!(
        text.contains("another store or a server has it open") && text.contains(&*dir.0.to_string_lossy())
    );
    let clone = store.clone();
    drop(store);
    assert!(is_in_use(&dir.0), "a handle is left");
    drop(clone);
    assert!(!is_in_use(&dir.0));
    let store = dir.open();
    store.close().unwrap();
    assert!(!is_in_use(&dir.0), "it is closed");
}

#[test]
fn a_store_and_a_server_do_not_share() {
    let mut server = Server::larder(&["--enable-protected-configs", "yes"]);
    assert!(is_in_use(server.dir()));
    let dir = Dir::new();
    let store = dir.open();
    let (code, log, _) = failed_start(&dir.0, &["--port", "0"]);
    assert!(code == Some(1) && log.contains("an embedded store has the directory open"), "{code:?}\n{log}");
    let mut client = server.client();
    let before = client.ask("CONFIG GET dir");
    let set = format!("CONFIG SET dir {}", dir.0.display());
    let reply = client.ask(&set);
    assert!(reply.is_error() && reply.text().contains("has the directory open"), "{}", reply.text());
    assert_eq!(client.ask("CONFIG GET dir"), before);
    assert!(is_in_use(server.dir()), "it is where it was");
    drop(store);
    assert_eq!(client.ask(&set).text(), "OK");
    assert!(is_in_use(&dir.0) && !is_in_use(server.dir()));
    // Servers share, as they always could.
    let at = dir.0.to_string_lossy().into_owned();
    let second = Server::larder(&["--dir", &at, "--dbfilename", "second.rdb"]);
    drop(client);
    server.stop();
    assert!(is_in_use(&dir.0));
    drop(second);
    let store = dir.open();
    ask(&store, "SAVE");
}
