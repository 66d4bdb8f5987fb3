//! The filters of CLIENT LIST and CLIENT KILL: each of them with good and bad values, negated, repeated and combined.

use super::ORACLE;
use larder_testkit::{Client, Kind, Server};
use std::net::Ipv6Addr;

/// The values that each filter is tried with, parted by commas.
const FILTERS: &[(&str, &str)] = &[
    ("ID", "@a,@b,@b @c,@b @b,0,-1,x,1.5,@b x,@b 0,@b -1,99999999,9223372036854775808,"),
    ("TYPE", "normal,NORMAL,pubsub,replica,slave,master,primary,x,"),
    ("USER", "u,U,default,nosuch,"),
    ("ADDR", "1.2.3.4:5,[::1]:5,x,"),
    ("LADDR", "127.0.0.1:1,x,"),
    ("SKIPME", "yes,no,x,"),
    ("MAXAGE", "0,-1,x,1000000,9223372036854775807,9223372036854775808,"),
    ("IDLE", "0,-1,x,1000000,"),
    ("NAME", "a,b,nosuch,a*,"),
    ("FLAGS", "N,x,P,S,M,t,tN,PN,b,O,e,T,i,I,E,u,U,A,r,R,B,d,c,Q,NQ,!,"),
    ("LIB-NAME", "lib1,nosuch,"),
    ("LIB-VER", "1.2,x,"),
    ("DB", "0,3,15,16,-1,x,99999999999999999999,"),
    ("CAPA", "r,rr,x,"),
    ("IP", "127.0.0.1,127.0.0,::1,x,"),
];

const COMBINED: &[&str] = &[
    "NAME a NAME b",
    "NAME b NAME a",
    "ID @a ID @b",
    "ID @a @b ID @c",
    "ID @a NOT-ID @a",
    "NOT-ID @a NOT-ID @b",
    "ID @a @b NOT-ID @b",
    "NOT-ID @a @b",
    "TYPE normal TYPE pubsub",
    "TYPE pubsub TYPE normal",
    "NOT-TYPE normal NOT-TYPE pubsub",
    "NOT-TYPE pubsub NOT-TYPE normal",
    "USER u USER default",
    "NOT-USER u NOT-USER default",
    "DB 0 DB 3",
    "NOT-DB 3 NOT-DB 0",
    "FLAGS N FLAGS x",
    "FLAGS x FLAGS N",
    "NOT-FLAGS N NOT-FLAGS x",
    "LIB-NAME lib1 LIB-NAME x",
    "NOT-LIB-NAME lib1 NOT-LIB-NAME x",
    "NOT-NAME a NOT-NAME b",
    "NAME a NOT-NAME a",
    "MAXAGE 1000000 MAXAGE 2000000",
    "IP 127.0.0.1 IP ::1",
    "IP ::1 IP 127.0.0.1",
    "NOT-IP ::1 NOT-IP 127.0.0.1",
    "NAME a ID x",
    "ID @a NAME",
    "ID @a NAME a",
    "id @a name a",
    "ID @a WRONG x",
    "WRONG",
    "WRONG x",
    "SKIPME yes SKIPME no",
    "SKIPME no SKIPME yes",
    "SKIPME yes ID @a",
    "ID @b SKIPME no",
    "USER u DB 3 NAME b",
    "USER u DB 0",
    "not-name a not-type pubsub",
    "NOT-NOT-NAME a",
    "NOT- a",
    "NOT-WRONG x",
    "TYPE pubsub NOT-FLAGS P",
    "TYPE normal ID @a @b",
];

/// A server and its clients: `a`, who asks, one of another user in another database, a subscriber, one in a transaction,
/// one that tracks keys, and one without a name.
struct Side {
    server: Server,
    clients: Vec<Client>,
    ids: Vec<String>,
}

impl Side {
    fn start(kind: Kind) -> Side {
        let server = Server::of(kind, &[]);
        server.client().ask("ACL SETUSER u on nopass ~* &* +@all");
        let mut side = Side { server, clients: Vec::new(), ids: Vec::new() };
        side.connect();
        side
    }

    /// Waits until all clients of before are gone, and connects new ones.
    fn connect(&mut self) {
        self.clients.clear();
        let mut asks = self.server.client();
        while asks.ask("CLIENT LIST").text().lines().count() > 1 {}
        let lines: [&[&str]; 6] = [
            &["CLIENT SETNAME a"],
            &["CLIENT SETNAME b", "AUTH u x", "SELECT 3", "CLIENT SETINFO LIB-NAME lib1"],
            &["CLIENT SETNAME c", "CLIENT SETINFO LIB-VER 1.2", "SUBSCRIBE ch"],
            &["CLIENT SETNAME d", "CLIENT CAPA redirect", "MULTI"],
            &["CLIENT SETNAME e", "CLIENT SETINFO LIB-NAME lib1", "CLIENT TRACKING on"],
            &["PING"],
        ];
        self.ids.clear();
        for lines in lines {
            let mut client = self.server.client();
            self.ids.push(client.ask("CLIENT ID").int().to_string());
            lines.iter().for_each(|line| assert!(!client.ask(line).is_error(), "{line}"));
            self.clients.push(client);
        }
        drop(asks);
        while self.clients[0].ask("CLIENT LIST").text().lines().count() > 6 {}
    }

    /// The names of the clients that the reply lists, or the reply; `None` when the server has closed the connection.
    fn ask(&mut self, command: &str, filter: &str) -> Option<String> {
        let id = |word: &str| match word.strip_prefix('@') {
            Some(name) => self.ids[usize::from(name.as_bytes()[0] - b'a')].clone(),
            None => word.to_owned(),
        };
        let words: Vec<String> = ["CLIENT", command].into_iter().chain(filter.split(' ')).map(id).collect();
        self.clients[0].send(&words);
        let reply = self.clients[0].read().ok()?;
        let mut names: Vec<String> = reply
            .text()
            .lines()
            .filter_map(|line| line.split(' ').find_map(|field| field.strip_prefix("name=")))
            .map(str::to_owned)
            .collect();
        names.sort();
        Some(if reply.is_error() || command == "KILL" { reply.to_string() } else { names.join(",") })
    }
}

/// Clients by IPv4, by IPv6 and by the unix socket.
#[test]
fn of_addresses() {
    let args = ["--bind", "127.0.0.1", "::1", "--unixsocket", "s"];
    let [ours, theirs] = [Kind::Larder, ORACLE].map(|kind| {
        let server = Server::of(kind, &args);
        let six = Client::connect_to(Ipv6Addr::LOCALHOST.into(), server.port()).expect("it listens there");
        let unix = Client::connect_unix(&server.dir().join("s")).expect("it listens there");
        let mut side = Side { clients: vec![server.client(), six, unix], ids: Vec::new(), server };
        for (client, name) in side.clients.iter_mut().zip(["four", "six", "unix"]) {
            client.ask(&format!("CLIENT SETNAME {name}"));
        }
        let port = side.server.port();
        let locals = [format!("LADDR [::1]:{port}"), format!("NOT-LADDR 127.0.0.1:{port}")];
        [
            "IP ::1",
            "IP [::1]",
            "IP 127.0.0.1",
            "NOT-IP ::1",
            "NOT-IP 127.0.0.1",
            "IP s",
            "NOT-IP s",
            "FLAGS U",
        ]
        .into_iter()
        .chain(locals.iter().map(String::as_str))
        .map(|filter| side.ask("LIST", filter))
        .collect::<Vec<_>>()
    });
    assert_eq!(ours, theirs);
    assert_eq!(ours[0].as_deref(), Some("six"));
}

fn lines() -> impl Iterator<Item = String> {
    let single = FILTERS.iter().flat_map(|(name, values)| {
        let with = move |value: &str| [format!("{name} {value}"), format!("NOT-{name} {value}")];
        [(*name).to_owned(), format!("NOT-{name}")].into_iter().chain(values.split(',').flat_map(with))
    });
    single.chain(COMBINED.iter().map(|&line| line.to_owned()))
}

fn compare(command: &str) -> usize {
    let [mut ours, mut theirs] = [Kind::Larder, ORACLE].map(Side::start);
    let mut differences = String::new();
    let mut compared = 0;
    for line in lines() {
        let (mine, other) = (ours.ask(command, &line), theirs.ask(command, &line));
        if mine != other {
            differences += &format!("CLIENT {command} {line}\n  larder: {mine:?}\n  peer:   {other:?}\n");
        }
        compared += 1;
        let is_error = other.is_some_and(|reply| reply.starts_with('-') || reply == ":0");
        if command == "KILL" && !is_error {
            for side in [&mut ours, &mut theirs] {
                side.connect();
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
    compared
}

#[test]
fn of_list() {
    assert!(compare("LIST") > 200);
}

#[test]
fn of_kill() {
    assert!(compare("KILL") > 200);
}
