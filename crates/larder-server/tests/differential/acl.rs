//! Access control: rules, what they are described as, and what they refuse.

use crate::{Pair, compare, run_script, words};
use larder_testkit::{Client, Kind, Server, Value};

#[test]
fn rules() {
    run_script(
        r##"
        ACL LIST
        ACL USERS
        ACL WHOAMI
        ACL GETUSER default
        ACL GETUSER nobody
        ACL SETUSER bob
        ACL LIST
        ACL GETUSER bob
        ACL SETUSER bob on >x >y #2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881
        ACL GETUSER bob
        ACL SETUSER bob <x
        ACL GETUSER bob
        ACL SETUSER bob <x
        ACL SETUSER bob !2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881
        ACL SETUSER bob nopass
        ACL LIST
        ACL SETUSER bob skip-sanitize-payload
        ACL LIST
        ACL SETUSER bob sanitize-payload
        ACL LIST
        ACL SETUSER bob >z resetpass OFF
        ACL GETUSER bob
        ACL SETUSER bob %R~a* %W~b %RW~c %rw~c2 ~d ~d %R~b
        ACL SETUSER bob &x &x &y*
        ACL GETUSER bob
        ACL SETUSER bob allkeys allchannels
        ACL GETUSER bob
        ACL SETUSER bob ~x
        ACL SETUSER bob %R~x
        ACL SETUSER bob &x
        ACL SETUSER bob resetkeys resetchannels
        ACL SETUSER bob ~* &*
        ACL LIST
        ACL SETUSER bob RESETKEYS ~a %
        ACL SETUSER bob resetkeys %R
        ACL LIST
        ACL SETUSER bob %RW
        ACL SETUSER bob %RR~x
        ACL SETUSER bob %~x
        ACL SETUSER bob %X~x
        ACL SETUSER bob "~a b"
        ACL SETUSER bob resetchannels "&a b"
        ACL LIST
        ACL SETUSER bob reset
        ACL LIST
        ACL SETUSER bob +get -get +@read
        ACL LIST
        ACL SETUSER bob +@all -config +config|get
        ACL LIST
        ACL SETUSER bob -@all +select|0 +select|1 +SELECT|0
        ACL GETUSER bob
        ACL SETUSER bob -select
        ACL LIST
        ACL SETUSER bob +select|0 -@connection
        ACL GETUSER bob
        ACL SETUSER bob nocommands
        ACL SETUSER bob allcommands
        ACL GETUSER bob
        ACL SETUSER bob +@ALL -@DANGEROUS
        ACL GETUSER bob
        ACL SETUSER bob +@nosuch
        ACL SETUSER bob +nosuch
        ACL SETUSER bob -nosuch
        ACL SETUSER bob -config|nosuch
        ACL SETUSER bob +config|nosuch
        ACL SETUSER bob +config|get|x
        ACL SETUSER bob +get|
        ACL SETUSER bob +nosuch|x
        ACL SETUSER bob -get|x
        ACL SETUSER bob +|
        ACL SETUSER bob +
        ACL SETUSER bob -
        ACL SETUSER bob @all
        ACL SETUSER bob <nosuch
        ACL SETUSER bob !nosuch
        ACL SETUSER bob #nosuch
        ACL SETUSER bob #2D711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881
        ACL SETUSER bob foo
        ACL SETUSER bob ""
        ACL SETUSER bob reset on ~a foo
        ACL LIST
        ACL SETUSER bob reset
        ACL SETUSER bob (+get ~x) ( ~y &z +set ) () ( ) (~*)
        ACL GETUSER bob
        ACL LIST
        ACL SETUSER bob (
        ACL SETUSER bob (+get
        ACL SETUSER bob on (+get ~x
        ACL SETUSER bob (+get ~x (a b)
        ACL SETUSER bob (on)
        ACL SETUSER bob "(~\"q\")"
        ACL SETUSER bob "(+get \"~x)"
        ACL LIST
        ACL SETUSER bob clearselectors
        ACL LIST
        ACL SETUSER "a b" on
        ACL SETUSER "" on
        ACL USERS
        ACL SETUSER
        ACL DELUSER "" nobody bob
        ACL DELUSER default nobody
        ACL DELUSER nobody
        ACL DELUSER
        ACL LIST
        ACL SETUSER wide +@all +@read -@write
        ACL GETUSER wide
        ACL SETUSER wide on -@all +@string +@list -lpush
        ACL GETUSER wide
        ACL SETUSER wide +@all -@admin -@keyspace -@connection +client|setname
        ACL GETUSER wide
        CONFIG SET acl-pubsub-default allchannels
        ACL SETUSER fresh (+get)
        ACL LIST
        ACL SETUSER fresh reset
        ACL LIST
        CONFIG SET acl-pubsub-default resetchannels
        ACL SETUSER fresh reset
        ACL LIST
        ACL DELUSER wide fresh
        "##,
        &[],
    );
}

/// What a refusal names when the selectors of a user refuse a command for several reasons, and how ACL LOG writes it.
#[test]
fn causes_of_refusals() {
    const CASES: &[(&str, &str)] = &[
        ("+get ~* db=0 (+set ~* db=1)", "SET k 1"),
        ("+set ~* db=1 (+get ~* db=0)", "SET k 1"),
        ("+get ~* db=1", "SET k 1"),
        ("+set ~a db=0 (+set ~* db=1)", "SET k 1"),
        ("+set ~* db=1 (+set ~* db=2)", "sEt k 1"),
        ("+set ~* db=1 (+set ~a db=0) (+get)", "SET k 1"),
        ("+publish resetchannels db=0 (+publish &x db=1)", "PUBLISH k 1"),
        ("+get ~* (+set ~a)", "SET k 1"),
        ("+mset ~a (+mset ~a ~b)", "MSET a 1 b 1 c 1"),
        ("+select +get ~* db=0", "SELECT 3"),
        ("+select ~* db=1 (+get ~* db=0)", "SELECT 3"),
        ("+get ~* db=0 (+select ~* db=1)", "SELECT 3"),
        ("+move ~* db=0 (+get)", "MOVE k 3"),
        ("+move ~a db=0 (+move ~* db=0)", "MOVE k 3"),
        ("+get (+copy ~* db=0)", "COPY k k2 DB 3"),
        ("+copy ~k db=0,3 (+copy ~* db=0)", "COPY k k2 DB 3"),
        ("+swapdb db=0 (+get)", "swapdb 0 1"),
        ("+swapdb db=0,1 (+swapdb db=0,2) (+swapdb db=3)", "swapdb 0 3"),
        ("+flushall db=0 (+get)", "FlushAll"),
        ("+keys ~* db=1 (+get)", "KEYS *"),
        ("+config|set", "ConFig gEt x"),
        ("+ping db=1 (+get)", "PING"),
    ];
    let [ours, theirs] = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = Server::of(kind, &[]);
        let mut admin = server.client();
        let of_case = |&(rules, command): &(&str, &str)| {
            let mut client = server.client();
            assert_eq!(admin.ask(&format!("ACL SETUSER u reset on nopass {rules}")).text(), "OK", "{rules}");
            assert_eq!(admin.ask("ACL LOG RESET").text(), "OK");
            assert_eq!(client.ask("AUTH u p").text(), "OK");
            let reply = client.ask(command).to_string();
            // Without what differs by the moment: the age, the client, the id and the times.
            let entries = admin
                .ask("ACL LOG")
                .items()
                .iter()
                .map(|entry| format!("{:?}", &entry.items()[..10]))
                .collect::<Vec<_>>();
            format!("{rules} | {command}: {reply} {entries:?}")
        };
        CASES.iter().map(of_case).collect::<Vec<_>>()
    });
    assert_eq!(ours, theirs);
}

#[test]
fn what_administrators_ask() {
    run_script(
        r##"
        ACL CAT
        ACL CAT nosuch
        ACL CAT a b
        ACL GENPASS 0
        ACL GENPASS -1
        ACL GENPASS 4097
        ACL GENPASS abc
        ACL GENPASS 1 2
        ACL SAVE
        ACL LOAD
        ACL LOG RESET
        ACL LOG
        ACL LOG x
        ACL LOG -1
        ACL NOSUCH
        ACL
        ACL WHOAMI x
        ACL SETUSER u on nopass ~a* resetchannels &c* +@all -config +config|get -debug +debug|object (+get)
        ACL DRYRUN u get b
        ACL DRYRUN u get a
        ACL DRYRUN u GET a
        ACL DRYRUN u publish x y
        ACL DRYRUN u publish c y
        ACL DRYRUN u spublish x y
        ACL DRYRUN u subscribe c c1 x
        ACL DRYRUN u ssubscribe c x
        ACL DRYRUN u psubscribe c*
        ACL DRYRUN u psubscribe c1*
        ACL DRYRUN u unsubscribe x
        ACL DRYRUN u config set a b
        ACL DRYRUN u config get a
        ACL DRYRUN u config
        ACL DRYRUN u config nosuch
        ACL DRYRUN u config|get a
        ACL DRYRUN u debug sleep 1
        ACL DRYRUN u debug object a
        ACL DRYRUN u mset a 1 b 2
        ACL DRYRUN u mget a a2 b c
        ACL DRYRUN u sort a by b*
        ACL DRYRUN u sort a store b
        ACL DRYRUN u sort a get x store a2
        ACL DRYRUN u georadius a 0 0 1 m store b
        ACL DRYRUN u georadius a 0 0 1 m
        ACL DRYRUN u migrate h 1 b 0 1
        ACL DRYRUN u migrate h 1 a 0 1
        ACL DRYRUN u migrate h 1 "" 0 1 keys a b
        ACL DRYRUN u migrate h 1 "" 0 1 auth keys keys a1 a2
        ACL DRYRUN u xread streams a b 0 0
        ACL DRYRUN u xreadgroup group g c streams a a2 0 0
        ACL DRYRUN u zunionstore a 2 a2 b
        ACL DRYRUN u lmpop 2 a b left
        ACL DRYRUN u object encoding b
        ACL DRYRUN u auth x
        ACL DRYRUN u ping
        ACL DRYRUN u nosuch
        ACL DRYRUN u get
        ACL DRYRUN nobody get x
        ACL SETUSER u reset +@all %R~r %W~w %R~rw %W~rw
        ACL DRYRUN u set w 1
        ACL DRYRUN u set r 1
        ACL DRYRUN u set w 1 get
        ACL DRYRUN u set w 1 ex 1 get
        ACL DRYRUN u set rw 1 get
        ACL DRYRUN u get w
        ACL DRYRUN u get r
        ACL DRYRUN u append w x
        ACL DRYRUN u incr w
        ACL DRYRUN u exists w
        ACL DRYRUN u type r
        ACL DRYRUN u copy r w
        ACL DRYRUN u copy w r
        ACL DRYRUN u lmove r w left left
        ACL DRYRUN u lmove rw w left left
        ACL DRYRUN u bitfield r get u8 0
        ACL DRYRUN u bitfield r overflow sat get u8 0
        ACL DRYRUN u bitfield r get u8 0 set u8 0 1
        ACL DRYRUN u bitfield w set u8 0 1
        ACL DRYRUN u bitop and w r r
        ACL DRYRUN u bitop and w r w
        ACL DRYRUN u sort r store w
        ACL DRYRUN u sort w
        ACL DRYRUN u rename w w
        ACL DRYRUN u rename rw w
        ACL DRYRUN u del w
        ACL DRYRUN u getdel w
        ACL DRYRUN u getdel rw
        ACL DRYRUN u expire w 1
        ACL DRYRUN u lpush w 1
        ACL DRYRUN u lpop w
        ACL DRYRUN u xadd w * a b
        ACL DRYRUN u pfcount r
        ACL DRYRUN u pfmerge w r
        ACL SETUSER u reset (+get ~a) (+set ~b) (+publish &c)
        ACL DRYRUN u get b
        ACL DRYRUN u set a 1
        ACL DRYRUN u set b 1
        ACL DRYRUN u publish d x
        ACL DRYRUN u lpush a 1
        ACL DELUSER u
        "##,
        &[],
    );
}

#[test]
fn refusals() {
    run_script(
        r##"
        ACL SETUSER u on >pw ~a* resetchannels &c* +@all -config +config|get -select +select|2 -acl +acl|whoami
        SET a 1
        SET b 2
        RPUSH al 1 2 3
        AUTH u wrong
        AUTH nobody pw
        AUTH default whatever
        ACL WHOAMI
        AUTH u pw
        ACL WHOAMI
        ACL LIST
        CLIENT KILL USER nobody
        GET a
        GET b
        MGET a b
        SET b 1
        CONFIG GET port2
        CONFIG SET port 1
        CONFIG
        CONFIG FOO
        NOSUCH
        SELECT 0
        SELECT 2
        SELECT 1
        SUBSCRIBE c x
        PSUBSCRIBE c1*
        SSUBSCRIBE x
        UNSUBSCRIBE
        PUBLISH x y
        PUBLISH c y
        SPUBLISH x y
        SORT al BY b* LIMIT 0 1
        SORT al BY nosort GET #
        SORT al GET b*
        SORT al BY nosort
        SORT al STORE b
        SORT al STORE a9
        MULTI
        GET b
        GET a
        EXEC
        MULTI
        GET a
        EXEC
        AUTH default x
        SELECT 0
        ACL SETUSER u ~b
        AUTH u pw
        GET b
        HELLO 2 AUTH u wrong
        AUTH default x
        ACL WHOAMI
        RESET
        ACL SETUSER u off
        AUTH u pw
        ACL DELUSER u
        AUTH u pw
        "##,
        &[],
    );
}

#[test]
fn rights_that_shrink_within_a_transaction() {
    run_script(
        r##"
        SET a 1
        ACL SETUSER u on nopass ~* &* +@all
        AUTH u x
        MULTI
        GET a
        ACL SETUSER u -get
        GET a
        ACL SETUSER u +get resetkeys
        GET a
        ACL SETUSER u allkeys resetchannels
        PUBLISH c x
        SET a 2
        EXEC
        PUBLISH c x
        AUTH default x
        GET a
        MULTI
        ACL SETUSER v on nopass ~* +@all
        AUTH v x
        ACL WHOAMI
        PUBLISH c x
        EXEC
        ACL WHOAMI
        AUTH default x
        ACL DELUSER u v
        "##,
        &[],
    );
}

#[test]
fn the_password_of_the_default_user() {
    run_script(
        r##"
        AUTH x
        AUTH pw
        ACL GETUSER default
        CONFIG SET requirepass other
        GET a
        RESET
        GET a
        PING
        AUTH pw
        AUTH other
        ACL GETUSER default
        ACL SETUSER default nopass
        CONFIG GET requirepass
        RESET
        GET a
        AUTH whatever
        AUTH default whatever
        ACL SETUSER default resetpass >more
        RESET
        GET a
        AUTH more
        ACL SETUSER default off
        AUTH more
        GET a
        ACL SETUSER default on nopass
        CONFIG SET requirepass ""
        ACL GETUSER default
        RESET
        GET a
        CONFIG SET requirepass pw
        ACL LIST
        "##,
        &["--requirepass", "pw"],
    );
}

#[test]
fn users_of_the_command_line() {
    let script =
        "ACL LIST\nAUTH u pw\nACL WHOAMI\nRESET\nAUTH def\nACL GETUSER default\nRESET\nGET a\nAUTH def";
    let options = "--user u on >pw ~a* (+get ~b) --user default on >def ~* &* +@all --requirepass not-this";
    run_script(script, &options.split(' ').collect::<Vec<_>>());
}

/// What ACL LOG says that does not depend on the server.
fn log_of(client: &mut Client) -> Vec<Vec<String>> {
    let reply = client.ask("ACL LOG 100");
    reply.items().iter().map(|entry| entry.items()[..10].iter().map(Value::text).collect()).collect()
}

#[test]
fn the_log_of_refusals() {
    let mut pair = Pair::start(1, &[]);
    pair.reset("2");
    let script = r##"
        ACL SETUSER u on nopass ~a* +@all -config
        AUTH u wrong
        AUTH nobody x
        auth nobody x
        AUTH nobody y
        HELLO 2 AUTH nobody x
        GET b
        GET b
        MSET a 1 b 2 c 3
        CONFIG GET x
        PUBLISH c x
        MULTI
        GET b
        DISCARD
        GET b
        GET b2
        MULTI
        ACL SETUSER u -get
        GET a
        EXEC
        "##;
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let both = pair.both(&words(line));
        assert_eq!(compare(line, &both), None);
    }
    assert_eq!(log_of(&mut pair.larder), log_of(&mut pair.peer));
    let entry = pair.larder.ask("ACL LOG 1").items()[0].clone();
    let fields: Vec<String> = entry.items().iter().step_by(2).map(Value::text).collect();
    let expected = "count reason context object username age-seconds client-info entry-id timestamp-created \
                    timestamp-last-updated";
    assert_eq!(fields.join(" "), expected);
    assert!(entry.items()[13].text().contains(" user=u "), "{entry}");
    let stats = pair.larder.ask("INFO stats").text();
    for line in ["denied_auth:4", "denied_cmd:2", "denied_key:6", "denied_channel:1"] {
        assert!(stats.contains(&format!("acl_access_{line}\r\n")), "{line} in {stats}");
    }
}

#[test]
fn what_commands_do_with_keys() {
    run_script(
        r##"
        COMMAND GETKEYSANDFLAGS get k
        COMMAND GETKEYSANDFLAGS set k v IFEQ old
        COMMAND GETKEYSANDFLAGS mset a 1 b 2
        COMMAND GETKEYSANDFLAGS lmove a b left left
        COMMAND GETKEYSANDFLAGS rename a b
        COMMAND GETKEYSANDFLAGS pfmerge a b
        COMMAND GETKEYSANDFLAGS getex k
        COMMAND GETKEYSANDFLAGS xadd k * a b
        "##,
        &[],
    );
}

/// A HELLO that is refused has let nobody in, and an EXEC that is refused says so, with and without MULTI.
#[test]
fn what_is_refused_is_refused_as_a_whole() {
    run_script(
        r##"
        EXEC
        EXEC x
        HELLO 3 AUTH default pw SETNAME "a b"
        PING
        HELLO 4 AUTH default pw
        PING
        HELLO 3 AUTH default bad SETNAME "a b"
        HELLO 3 AUTH default pw SETNAME
        PING
        HELLO 3 AUTH default pw FOO
        PING
        HELLO 3 SETNAME ok AUTH default bad
        AUTH pw
        CLIENT GETNAME
        EXEC
        EXEC x
        MULTI
        EXEC x
        EXEC
        ACL SETUSER u on >p +@all -exec ~*
        AUTH u p
        EXEC
        EXEC x
        MULTI
        EXEC
        DISCARD
        INFO errorstats
        "##,
        &["--requirepass", "pw"],
    );
}
