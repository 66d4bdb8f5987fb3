//! Strings that are sent together: as one `MSETNX`, which sets all of its keys or none, or with `--replace` as one `MSET`.
//! What does not come to pass together is sent again, each key for itself, and its own reply tells why.

use crate::request::{Requests, Sent};
use foldhash::fast::RandomState;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// Keys and bytes of a command at most: others wait for the whole of it.
const KEYS_MAX: usize = 64;
const BYTES_MAX: usize = 64 << 10;

/// What is sent with one command: positions in a row of requests, more than one of strings that go together.
pub type Unit = Range<usize>;

/// Cuts a row of requests to one node into units. A key comes once in a unit: of two `SET .. NX` the first one counts.
pub fn units(requests: &Requests, row: &[usize]) -> Vec<Unit> {
    let (mut units, mut keys): (Vec<Unit>, HashSet<&[u8], RandomState>) = Default::default();
    let (mut bytes, mut is_open) = (0, false);
    for (at, &number) in row.iter().enumerate() {
        let sent = &requests.all[number];
        let Some(pair) = requests.pair(sent) else {
            is_open = false;
            units.push(at..at + 1);
            continue;
        };
        bytes += pair.len();
        let last = units.last_mut().filter(|unit| {
            is_open && unit.len() < KEYS_MAX && bytes <= BYTES_MAX && keys.insert(requests.key(sent))
        });
        if let Some(unit) = last {
            unit.end = at + 1;
            continue;
        }
        keys.clear();
        keys.insert(requests.key(sent));
        (bytes, is_open) = (pair.len(), true);
        units.push(at..at + 1);
    }
    units
}

/// Each request as a unit.
pub fn each(row: &[usize]) -> Vec<Unit> {
    (0..row.len()).map(|at| at..at + 1).collect()
}

/// The bytes of all units, one after the other.
pub fn bytes<'a>(requests: &'a Requests, row: &[usize], units: &[Unit], replace: bool) -> Cow<'a, [u8]> {
    if units.len() == requests.all.len() {
        // All of them, each for itself. A payload may be long.
        return Cow::Borrowed(&requests.bytes);
    }
    let mut to = Vec::with_capacity(requests.bytes.len());
    for unit in units {
        let all = row[unit.clone()].iter().map(|&number| &requests.all[number]);
        if unit.len() == 1 {
            all.for_each(|sent| to.extend_from_slice(requests.request(sent)));
            continue;
        }
        let name: &[u8] = if replace { b"$4\r\nMSET\r\n" } else { b"$6\r\nMSETNX\r\n" };
        to.push(b'*');
        to.extend_from_slice(itoa::Buffer::new().format(1 + 2 * unit.len()).as_bytes());
        to.extend_from_slice(b"\r\n");
        to.extend_from_slice(name);
        all.filter_map(|sent: &Sent| requests.pair(sent)).for_each(|pair| to.extend_from_slice(pair));
    }
    Cow::Owned(to)
}

/// The reply to a unit of strings that are all set.
pub fn all_set(replace: bool) -> &'static [u8] {
    if replace { b"+OK\r\n" } else { b":1\r\n" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::Form;
    use crate::group::Group;
    use crate::options::Source;
    use crate::request::Maker;
    use crate::shared::{Content, Shared};
    use crate::target::{Facts, Target};
    use larder_resp::{Limits, Parsed, Parser};

    /// Requests for groups of one string each, as a file of commands makes them.
    fn requests(keys: &[(&str, usize, bool)], replace: bool) -> Requests {
        let element = |value: &str, expires: bool| {
            let mut words = vec![b"SET".to_vec(), b"k".to_vec(), value.into()];
            if expires {
                words.extend([b"PXAT".to_vec(), b"4102444800000".to_vec()]);
            }
            let (args, mut room, mut element): (larder_resp::OwnedArgs, _, _) =
                (words.iter().map(Vec::as_slice).collect(), Vec::new(), Vec::new());
            let known = crate::understand::understand(args.as_args(), (0, 0), &mut room, &mut |_, bytes| {
                element.extend_from_slice(bytes);
            });
            assert!(known);
            element
        };
        let groups = keys.iter().map(|&(key, len, expires)| {
            Group::new(0, key.as_bytes(), &element(&"v".repeat(len), expires), None, 0)
        });
        let form = Form {
            version: larder_rdb::Version::V11,
            newest: larder_rdb::Version::V11,
            own: false,
            measures: false,
        };
        let facts = Facts { name: String::new(), form, slots: None };
        let security = crate::security::Security::default();
        let target = Target { host: String::new(), port: 0, user: None, password: None, security };
        let shared = Shared {
            source: &Source::Resp,
            target: &target,
            facts: &facts,
            owners: Default::default(),
            replace,
            dry_run: false,
            now_ms: 0,
            counts: Default::default(),
            rejects: std::sync::Mutex::new(crate::reject::Rejects::new(None, "offset").unwrap()),
            notes: Default::default(),
            state: std::sync::Mutex::new(crate::state::State::open(None, 0).unwrap()),
        };
        let mut requests = Requests::default();
        Maker { shared: &shared }.make(Content::Groups(groups.collect()), &mut requests).unwrap();
        assert_eq!(requests.all.len(), keys.len());
        requests
    }

    /// The commands of some bytes: names, keys and lengths of values.
    fn commands(mut bytes: &[u8]) -> Vec<String> {
        let limits = Limits { bulk_bytes_max: 1 << 20, authenticated: true };
        let (mut parser, mut all) = (Parser::new(), Vec::new());
        while !bytes.is_empty() {
            let Ok(Parsed::Command { args, consumed }) = parser.next(bytes, &limits) else { panic!("cut") };
            let name = String::from_utf8(args.at(0).to_vec()).unwrap();
            let pairs = (1..args.len()).step_by(2).map(|at| {
                let (key, value) = (args.at(at).escape_ascii(), args.iter().nth(at + 1));
                value.map_or(format!("{key}"), |value| format!("{key}={}", value.len()))
            });
            all.push(std::iter::once(name).chain(pairs).collect::<Vec<_>>().join(" "));
            bytes = &bytes[consumed..];
        }
        all
    }

    fn joined(keys: &[(&str, usize, bool)], replace: bool) -> Vec<String> {
        let requests = requests(keys, replace);
        let row: Vec<usize> = (0..keys.len()).collect();
        let units = units(&requests, &row);
        assert_eq!(units.iter().map(ExactSizeIterator::len).sum::<usize>(), keys.len());
        commands(&bytes(&requests, &row, &units, replace))
    }

    #[test]
    fn strings_that_do_not_expire_go_together() {
        let keys = [("a", 1, false), ("b", 20, false), ("c", 0, true), ("d", 0, false), ("ee", 300, false)];
        let expected = ["MSETNX a=1 b=20", "SET c=0 PXAT=13 NX", "MSETNX d=0 ee=300"];
        assert_eq!(joined(&keys, false), expected);
        assert_eq!(joined(&keys, true), ["MSET a=1 b=20", "SET c=0 PXAT=13", "MSET d=0 ee=300"]);
        assert_eq!(joined(&keys[..1], false), ["SET a=1 NX"]);
    }

    #[test]
    fn a_key_comes_once_in_a_command() {
        let keys = ["a", "b", "a", "a", "b"].map(|key| (key, 1, false));
        assert_eq!(joined(&keys, false), ["MSETNX a=1 b=1", "SET a=1 NX", "MSETNX a=1 b=1"]);
    }

    #[test]
    fn commands_have_limits() {
        let names: Vec<String> = (0..150).map(|n| n.to_string()).collect();
        let of_len = |len| names.iter().map(|name| (name.as_str(), len, false)).collect::<Vec<_>>();
        let counts =
            |keys: &[_]| joined(keys, false).iter().map(|c| c.split(' ').count() - 1).collect::<Vec<_>>();
        assert_eq!(counts(&of_len(9)), [64, 64, 22]);
        assert_eq!(counts(&of_len(30_000))[..3], [2, 2, 2]);
        assert_eq!(joined(&of_len(BYTES_MAX), false)[..2], ["SET 0=65536 NX", "SET 1=65536 NX"]);
    }
}
