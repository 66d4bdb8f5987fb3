//! Access control across threads, and in files.

use larder_testkit::{Client, Kind, Port, Server, failed_start, temp_dir};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const NO_KEY: &str = "NOPERM No permissions to access a key";

/// Whether the server closes the connection; a wait in vain is an error, too, but another one.
fn is_closed(client: &mut Client) -> bool {
    client.read().is_err_and(|error| !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
}

/// Connections of both threads.
fn clients(server: &Server, login: &str) -> [Client; 4] {
    std::array::from_fn(|_| {
        let mut client = server.client();
        assert_eq!(client.ask(login).text(), "OK");
        client
    })
}

#[test]
fn changes_reach_the_connections_of_all_threads() {
    let server = Server::larder(&["--threads", "2"]);
    let mut admin = server.client();
    admin.ask("ACL SETUSER u on >pw ~a* +@all");
    let mut clients = clients(&server, "AUTH u pw");
    for round in 0..50 {
        let (rule, expected) = if round % 2 == 0 { ("resetkeys", NO_KEY) } else { ("~a*", "") };
        assert_eq!(admin.ask(&format!("ACL SETUSER u {rule}")).text(), "OK");
        for client in &mut clients {
            assert_eq!(client.ask("GET a").text(), expected, "round {round}");
        }
    }
}

/// A pair of keys may be read, now by one name, now by the other: never both, never none.
#[test]
fn rights_are_replaced_as_a_whole() {
    let server = Server::larder(&["--threads", "2"]);
    let mut admin = server.client();
    admin.ask("ACL SETUSER u on nopass ~a +@all");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for mut client in clients(&server, "AUTH u pw") {
            let done = &done;
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(client.ask("MGET a b").text(), NO_KEY);
                    assert_eq!(client.ask("PING").text(), "PONG");
                }
            });
        }
        for _ in 0..300 {
            admin.ask("ACL SETUSER u resetkeys ~b");
            admin.ask("ACL SETUSER u resetkeys ~a");
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn deleted_users_lose_their_connections() {
    let server = Server::larder(&["--threads", "2"]);
    let mut admin = server.client();
    admin.ask("ACL SETUSER u on nopass ~* +@all");
    admin.ask("ACL SETUSER v on nopass ~* +@all");
    let gone = clients(&server, "AUTH u pw");
    let mut stays = clients(&server, "AUTH v pw");
    let [mut blocked, ..] = clients(&server, "AUTH u pw");
    blocked.send(&["BLPOP", "list", "0"]);
    assert_eq!(admin.ask("CLIENT KILL USER nobody").text(), "ERR No such user 'nobody'");
    assert!(admin.ask("CLIENT LIST").text().contains(" user=u "));
    assert_eq!(admin.ask("ACL DELUSER u nobody").int(), 1);
    for mut client in gone.into_iter().chain([blocked]) {
        assert!(is_closed(&mut client), "the connection is closed");
    }
    for client in &mut stays {
        assert_eq!(client.ask("ACL WHOAMI").text(), "v");
    }
    assert!(!admin.ask("CLIENT LIST").text().contains(" user=u "));
    assert_eq!(admin.ask("CLIENT KILL USER v").int(), 4);
    // A user who deletes himself is answered.
    admin.ask("ACL SETUSER w on nopass ~* +@all");
    let [mut own, ..] = clients(&server, "AUTH w pw");
    assert_eq!(own.ask("ACL DELUSER w").int(), 1);
    assert!(is_closed(&mut own));
}

/// Loading a file closes the connections of users who are gone, and of subscribers who may not hear their channels any more.
/// The others stay, with the new rights: passwords are changed in this way while clients work.
#[test]
fn loading_users_closes_the_connections_of_those_who_are_gone() {
    const FILE: &str = "user default on nopass ~* &* +@all\nuser same on >p ~* &* +@all\n";
    for kind in [Kind::Larder, Kind::Valkey] {
        let dir = temp_dir();
        let path = dir.join("loaded.acl");
        let before = "user changed on >p ~* &* +@all\nuser hears on >p ~* &* +@all\nuser off on >p ~* &* +@all\nuser gone on >p ~* +@all\n";
        fs::write(&path, format!("{FILE}{before}")).unwrap();
        let server = Server::of(kind, &["--aclfile", path.to_str().unwrap()]);
        let login = |user: &str| {
            let mut client = server.client();
            assert_eq!(client.ask(&format!("AUTH {user} p")).text(), "OK");
            client
        };
        let [mut own, mut other, mut same, mut off] = ["gone", "changed", "same", "off"].map(login);
        let [mut gone, mut hears, mut still_hears] = ["gone", "hears", "changed"].map(login);
        let mut by_default = server.client();
        for client in [&mut hears, &mut still_hears] {
            assert!(!client.ask("SUBSCRIBE news").is_error());
        }
        let after = "user changed on >new ~k &news +@all\nuser hears on >p ~* &other +@all\nuser off off >p ~* &* +@all\n";
        fs::write(&path, format!("{FILE}{after}")).unwrap();
        assert_eq!(own.ask("ACL LOAD").text(), "OK");
        assert!(is_closed(&mut own), "{kind:?}: whoever asks is answered first");
        assert!(is_closed(&mut gone) && is_closed(&mut hears), "{kind:?}");
        assert_eq!(by_default.ask("PING").text(), "PONG", "{kind:?}");
        assert_eq!(same.ask("ACL WHOAMI").text(), "same", "{kind:?}");
        assert_eq!(off.ask("ACL WHOAMI").text(), "off", "{kind:?}");
        assert_eq!(other.ask("ACL WHOAMI").text(), "changed", "{kind:?}");
        assert_eq!(other.ask("SET k 1").text(), "OK", "{kind:?}");
        let refusal = other.ask("GET other").text();
        assert!(refusal.starts_with("NOPERM "), "{kind:?}: the new rights hold: {refusal}");
        assert_eq!(by_default.ask("PUBLISH news x").int(), 1, "{kind:?}");
        assert!(server.client().ask("AUTH changed p").is_error(), "{kind:?}");
        assert_eq!(server.client().ask("AUTH changed new").text(), "OK", "{kind:?}");
    }
}

/// Users come and go while connections become them: nobody stays who is not there any more.
#[test]
fn nobody_stays_a_deleted_user() {
    let server = Server::larder(&["--threads", "2"]);
    let mut admin = server.client();
    admin.ask("ACL SETUSER default resetpass >secret");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let sessions: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut sessions = 0;
                    while !done.load(Ordering::Relaxed) {
                        let mut client = server.client();
                        client.send(&["AUTH", "u", "pw"]);
                        // Ends with the user: every one of them is deleted.
                        while client.read().is_ok_and(|reply| !reply.is_error()) {
                            sessions += 1;
                            client.send(&["PING"]);
                        }
                    }
                    sessions
                })
            })
            .collect();
        for _ in 0..200 {
            admin.ask("ACL SETUSER u on nopass ~* +@all");
            admin.ask("ACL DELUSER u");
        }
        done.store(true, Ordering::Relaxed);
        let sessions: usize = sessions.into_iter().map(|thread| thread.join().expect("it ends")).sum();
        assert!(sessions > 0, "somebody came in");
    });
}

#[test]
fn subscribers_are_dropped_when_their_channels_are() {
    let server = Server::larder(&["--threads", "2"]);
    let mut admin = server.client();
    admin.ask("ACL SETUSER u on nopass &news.* &other +@all");
    for (subscribe, rules, drops) in [
        ("SUBSCRIBE news.1", "resetchannels &news.*", false),
        ("SUBSCRIBE news.1", "resetchannels &news.2", true),
        ("PSUBSCRIBE news.*", "resetchannels &news.* &more", false),
        ("PSUBSCRIBE news.*", "resetchannels &news.1", true),
        ("SSUBSCRIBE news.1", "resetchannels (&news.*)", false),
        ("SSUBSCRIBE news.1", "resetchannels (&news.2)", true),
        ("SUBSCRIBE news.1", "-subscribe", false),
    ] {
        for mut client in clients(&server, "AUTH u pw") {
            admin.ask("ACL SETUSER u resetchannels clearselectors &news.* &other +@all");
            assert_eq!(
                client.ask(subscribe).items()[0].text(),
                subscribe.split(' ').next().unwrap().to_lowercase()
            );
            admin.ask(&format!("ACL SETUSER u {rules}"));
            if drops {
                assert!(is_closed(&mut client), "{subscribe} after {rules}");
            } else {
                assert_eq!(client.ask("PING").items()[0].text(), "pong");
            }
        }
    }
}

#[test]
fn users_are_kept_in_a_file() {
    let dir = temp_dir();
    let file = dir.join("users.acl");
    fs::write(&file, "user default on nopass ~* &* +@all\nuser u on >pw ~a* +get (~b +set)\n").unwrap();
    let path = file.to_str().unwrap();
    let server = Server::larder(&["--threads", "2", "--aclfile", path]);
    let mut admin = server.client();
    let mut user = server.client();
    assert_eq!(user.ask("AUTH u pw").text(), "OK");
    assert_eq!(user.ask("GET b").text(), NO_KEY);
    // What was changed is written, and read again.
    admin.ask("ACL SETUSER u ~b");
    admin.ask("ACL SETUSER v on nopass");
    let users = admin.ask("ACL LIST");
    assert_eq!(admin.ask("ACL SAVE").text(), "OK");
    let text: String = users.items().iter().map(|line| line.text() + "\n").collect();
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    admin.ask("ACL SETUSER u resetkeys");
    admin.ask("ACL SETUSER w on nopass +@all");
    let mut gone = server.client();
    gone.ask("AUTH w x");
    assert_eq!(user.ask("GET b").text(), NO_KEY);
    assert_eq!(admin.ask("ACL LOAD").text(), "OK");
    assert_eq!(admin.ask("ACL LIST"), users);
    assert!(is_closed(&mut gone));
    assert_eq!(user.ask("GET b").text(), "");
    // A file with errors changes nothing.
    fs::write(&file, "user a on +nosuch\nnonsense\nuser b foo\nuser b\n").unwrap();
    let expected = format!(
        "ERR {path}:1: Error in applying operation '+nosuch': Unknown command or category name in ACL. {path}:2 \
         should start with user keyword followed by the username. {path}:3: Syntax error. WARNING: Duplicate user 'b' \
         found on line 4. WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
    );
    assert_eq!(admin.ask("ACL LOAD").text(), expected);
    assert_eq!(admin.ask("ACL LIST"), users);
    fs::remove_file(&file).unwrap();
    let expected = format!("ERR Error loading ACLs, opening file '{path}': No such file or directory");
    assert_eq!(admin.ask("ACL LOAD").text(), expected);
    fs::create_dir(&file).unwrap();
    let expected =
        "ERR There was an error trying to save the ACLs. Please check the server logs for more information";
    assert_eq!(admin.ask("ACL SAVE").text(), expected);
    fs::remove_dir_all(dir).unwrap();
}

fn refused(dir: &Path, args: &[&str]) -> String {
    let (code, stdout, stderr) = failed_start(dir, &[args, &["--bind", "127.0.0.1"]].concat());
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    stdout + &stderr
}

#[test]
fn bad_users_keep_the_server_from_starting() {
    let dir = temp_dir();
    let reserved = Port::reserve();
    let port = reserved.number().to_string();
    fs::write(dir.join("bad.acl"), "user a on +get\nuser b off +nosuch\n").unwrap();
    let output = refused(&dir, &["--port", &port, "--aclfile", "bad.acl"]);
    let expected = "Aborting Larder startup because of ACL errors: bad.acl:2: Error in applying operation '+nosuch': \
                    Unknown command or category name in ACL. WARNING: ACL errors detected";
    assert!(output.contains(expected), "{output}");
    let output = refused(&dir, &["--port", &port, "--aclfile", "none.acl"]);
    assert!(output.contains("opening file 'none.acl': No such file or directory"), "{output}");
    let output = refused(&dir, &["--port", &port, "--aclfile", "bad.acl", "--user", "a", "on"]);
    assert!(output.contains("please define either an ACL file or declare users directly"), "{output}");
    for (lines, message) in [
        (
            "user a on +nosuch\n",
            "Error in user declaration '+nosuch': Unknown command or category name in ACL",
        ),
        (
            "user a on\nuser a off\n",
            "Error in user declaration 'a': Duplicate user found. A user can only be defined",
        ),
        ("user a (+get\n", "Error in user declaration '(+get'"),
        ("user \"a b\" on\n", "Spaces not allowed in ACL usernames"),
    ] {
        fs::write(dir.join("l.conf"), lines).unwrap();
        let output = refused(&dir, &["l.conf", "--port", &port]);
        assert!(output.contains(message), "{output}");
    }
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn users_survive_a_rewrite_of_the_configuration() {
    let dir = temp_dir();
    let file = dir.join("l.conf");
    fs::write(&file, format!("dir {}\nuser u on >pw ~a* +get\nuser v off\n", dir.display())).unwrap();
    let users = {
        let server = Server::larder_with_file(&file);
        let mut admin = server.raw_client();
        admin.ask(&["ACL", "SETUSER", "u", "~b", "(+set", "~c)"]);
        admin.ask(&["ACL", "DELUSER", "v"]);
        assert_eq!(admin.ask(&["CONFIG", "REWRITE"]), "+OK\r\n");
        admin.ask(&["ACL", "GETUSER", "u"])
    };
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\nuser u on #") && !text.contains("user v"), "{text}");
    let server = Server::larder_with_file(&file);
    assert_eq!(server.raw_client().ask(&["ACL", "GETUSER", "u"]), users);
    assert_eq!(server.raw_client().ask(&["ACL", "GETUSER", "v"]), "$-1\r\n");
    fs::remove_dir_all(dir).unwrap();
}

/// Rights to databases are checked against the database that a transaction has selected by then. As in Valkey.
#[test]
fn transactions_are_checked_in_the_database_that_they_select() {
    const TRANSACTIONS: &[&str] = &[
        "MULTI|SELECT 2|GET k|SELECT 0|SET k 1|EXEC",
        "MULTI|GET k|SELECT 2|GET k|EXEC",
        "MULTI|SELECT x|GET k|EXEC",
        "MULTI|SELECT 99|GET k|EXEC",
        "SELECT 2|MULTI|GET k|SELECT 0|GET k|EXEC",
        "MULTI|SELECT 2|DISCARD|GET k",
        "MULTI|SWAPDB 0 2|GET k|EXEC",
        "MULTI|COPY k k2 DB 2|EXEC",
        "MULTI|SELECT 2|MOVE k 0|EXEC",
    ];
    let answers = |kind: Kind| {
        let server = Server::of(kind, &[]);
        let mut admin = server.client();
        let mut answers = Vec::new();
        for rule in ["db=2", "db=0", "db=0,2", "db=3"] {
            admin.ask("ACL SETUSER u reset");
            assert_eq!(admin.ask(&format!("ACL SETUSER u on nopass ~* +@all {rule}")).text(), "OK");
            for lines in TRANSACTIONS {
                let mut client = server.client();
                client.ask("AUTH u p");
                let replies: Vec<String> =
                    lines.split('|').map(|line| client.ask(line).to_string()).collect();
                answers.push(format!("{rule}: {lines}: {replies:?}"));
            }
        }
        answers
    };
    let (found, expected) = (answers(Kind::Larder), answers(Kind::Valkey));
    for (found, wanted) in found.iter().zip(&expected) {
        assert_eq!(found, wanted);
    }
}
