//! Lines of the log that scripts wait for and alert on: they are there, at the level that Valkey gives them.

use crate::{ok, wait_for};
use larder_testkit::{Kind, Server};

/// The sign of the level of the first line that has this text: it stands after the process, the date and the time.
fn level(log: &str, text: &str) -> Option<char> {
    let line = log.lines().find(|line| line.contains(text))?;
    line.split(' ').nth(5)?.chars().next()
}

#[test]
fn saving_and_ending_say_what_valkey_says() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let mut server = Server::of(kind, &["--save", "3600 1"]);
        let mut client = server.client();
        client.ask("SET a 1");
        client.ask("BGSAVE");
        wait_for(&mut client, "INFO persistence", "rdb_bgsave_in_progress:0");
        client.ask("BGREWRITEAOF");
        server.wait_for_log("Background AOF rewrite finished successfully");
        assert_eq!(client.ask("CONFIG SET appendonly yes"), ok());
        server.wait_for_log("Removing the history file");
        wait_for(&mut client, "INFO persistence", "aof_rewrite_in_progress:0");
        assert!(server.stop().success());
        let log = server.log();
        for (text, sign) in [
            ("is starting oO0Oo", '*'),
            (", just started", '*'),
            ("Configuration loaded", '*'),
            ("Server initialized", '*'),
            ("Ready to accept connections tcp", '*'),
            ("Background saving started by pid ", '*'),
            ("DB saved on disk", '*'),
            ("Background saving terminated with success", '*'),
            ("Background append only file rewriting started by pid ", '*'),
            ("Background AOF rewrite terminated with success", '*'),
            ("Background AOF rewrite finished successfully", '*'),
            ("Removing the history file appendonly.aof.1.base.rdb", '*'),
            ("User requested shutdown...", '*'),
            ("Saving the final RDB snapshot before exiting.", '*'),
            (" is now ready to exit, bye bye...", '#'),
        ] {
            assert_eq!(level(&log, text), Some(sign), "{text:?} of {kind:?} in\n{log}");
        }
    }
}

#[test]
fn a_save_that_fails_says_so() {
    let server = Server::larder(&[]);
    let mut client = server.client();
    std::fs::create_dir(server.dir().join("dump.rdb")).expect("it is writable");
    client.ask("BGSAVE");
    wait_for(&mut client, "INFO persistence", "rdb_last_bgsave_status:err");
    assert_eq!(level(&server.wait_for_log("Background saving error"), "Background saving error"), Some('#'));
}

/// Who asks whether the log is being rewritten, right after switching it on, is told that it is.
#[test]
fn switching_the_log_on_begins_at_once() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let server = Server::of(kind, &[]);
        let mut client = server.client();
        client.ask("DEBUG POPULATE 20 key");
        client.ask("CONFIG SET rdb-key-save-delay 50000");
        assert_eq!(client.ask("CONFIG SET appendonly yes"), ok());
        let info = client.ask("INFO persistence").text();
        for field in ["aof_enabled:1", "aof_rewrite_in_progress:1", "aof_rewrite_scheduled:0"] {
            assert!(info.contains(field), "{field} of {kind:?} in\n{info}");
        }
        client.ask("CONFIG SET rdb-key-save-delay 0");
        wait_for(&mut client, "INFO persistence", "aof_rewrite_in_progress:0");
    }
}
