//! A payload of every type and encoding: those that are written, and those that were written once.

use fastrand::Rng;
use larder_collections::hash::{FieldExpiry, Hash, HashLimits};
use larder_collections::list::{Codec, Fill, Job, List, ListOptions};
use larder_collections::set::{Set, SetLimits};
use larder_collections::sorted_set::{Limits, SortedSet};
use larder_collections::stream::{Group, Limits as StreamLimits, Pending, Stream, StreamId};
use larder_collections::value::Value;
use larder_rdb::read::Options;
use larder_rdb::{Version, dump};

/// The first of Larder's own types.
const LIST_BLOCKS: u8 = 200;

/// Options under which things are read: the usual ones, compressed lists, everything small, everything large.
pub fn options(which: usize) -> Options {
    let list =
        |fill, compress_depth| ListOptions { fill: Fill::new(fill), compress_depth, codec: Codec::Lzf };
    let options = match which {
        0 => Options::default(),
        1 => Options { list: list(-1, 1), ..Options::default() },
        2 => Options {
            hash: HashLimits { count_max: 0, bytes_max: 0 },
            list: list(3, 0),
            set: SetLimits { intset_count_max: 0, listpack_count_max: 0, listpack_bytes_max: 0 },
            sorted_set: Limits { entries: 0, member_len: 0 },
            blocks: true,
        },
        _ => Options {
            hash: HashLimits { count_max: 1 << 20, bytes_max: 1 << 20 },
            list: list(-5, 2),
            set: SetLimits {
                intset_count_max: 1 << 20,
                listpack_count_max: 1 << 20,
                listpack_bytes_max: 1 << 20,
            },
            sorted_set: Limits { entries: 1 << 20, member_len: 1 << 20 },
            blocks: true,
        },
    };
    Options { blocks: true, ..options }
}

/// All of them, with their footers.
pub fn payloads() -> Vec<Vec<u8>> {
    let mut rng = Rng::with_seed(11);
    let mut all = Vec::new();
    for compress in [false, true] {
        for text in [&b""[..], b"hello", b"-1234", &[b'x'; 3000]] {
            all.push(dump::of_string(text, Version::V11, compress));
        }
        for version in [Version::V10, Version::V11, Version::V80] {
            for count in [1, 5, 60, 700] {
                let values = values(count, &mut rng);
                all.extend(values.iter().map(|value| dump::of_value(value, version, compress)));
                all.extend(values.iter().filter_map(blocks));
            }
        }
    }
    all.extend(old());
    for payload in &all {
        assert!(dump::restore(payload, &options(0)).is_ok_and(|loaded| loaded.is_some()));
    }
    all
}

/// A payload of Larder's own types, with the footer of the others.
fn blocks(value: &Value) -> Option<Vec<u8>> {
    let own = dump::of_blocks(value)?;
    assert!(own[0] >= LIST_BLOCKS && dump::is_own(&own));
    Some(super::with_footer(own[..own.len() - 10].to_vec()))
}

fn text(rng: &mut Rng) -> Vec<u8> {
    match rng.u8(..5) {
        0 => rng.i64(..).to_string().into_bytes(),
        1 => rng.u8(..).to_string().into_bytes(),
        2 => vec![b'a'; rng.usize(..90)],
        _ => (0..rng.usize(..20)).map(|_| rng.u8(..)).collect(),
    }
}

/// Values of every collection with about this many elements.
pub fn values(count: u64, rng: &mut Rng) -> Vec<Value> {
    let usual = Options::default();
    let (mut plain, mut expiring, mut list) = (Hash::new(), Hash::new(), List::new());
    let (mut integers, mut mixed, mut scores) = (Set::new(), Set::new(), SortedSet::new());
    for number in 0..count {
        let (name, value) = (text(rng), text(rng));
        plain.set(&name, &value, FieldExpiry::Clear, usual.hash, 0);
        let expiry = if rng.bool() { FieldExpiry::At(1 << 41) } else { FieldExpiry::Clear };
        expiring.set(&name, &value, expiry, usual.hash, 0);
        list.push_back(&value, &usual.list);
        if number % 40 == 3 {
            list.push_back(&vec![b'z'; 9000], &usual.list);
        }
        if number % 50 == 4 {
            let long = [&number.to_le_bytes()[..], &vec![b'l'; rng.usize(100..400)]].concat();
            plain.set(&long, &value, FieldExpiry::Clear, usual.hash, 0);
            plain.set(&[b'0', number as u8], &long, FieldExpiry::Clear, usual.hash, 0);
            expiring.set(&long, &long, expiry, usual.hash, 0);
            mixed.insert(&long, &usual.set);
        }
        integers.insert((number * number * 1000).to_string().as_bytes(), &usual.set);
        mixed.insert(&name, &usual.set);
        scores.add(&name, rng.f64() * 100.0, &usual.sorted_set);
    }
    let lists = [Codec::Lzf, Codec::Lz4, Codec::Zstd].map(|codec| Value::List(compressed(&list, codec)));
    let collections = [Value::Hash(plain), Value::Hash(expiring), Value::List(list), Value::Set(integers)];
    let others = [Value::Set(mixed), Value::SortedSet(scores), Value::Stream(stream(count, rng))];
    collections.into_iter().chain(others).chain(lists).collect()
}

/// The list with its inner blocks compressed.
fn compressed(list: &List, codec: Codec) -> List {
    let options = ListOptions { fill: Fill::new(-1), compress_depth: 1, codec };
    let mut list = list.clone();
    while list.wants_compression(&options) {
        for done in list.compression_work(&options, 16).iter().map(Job::run) {
            list.apply(done, &options);
        }
    }
    list
}

fn stream(count: u64, rng: &mut Rng) -> Stream {
    let mut stream = Stream::new();
    for ms in 1..=count {
        let (value, field) = (text(rng), if rng.u8(..5) == 0 { &b"other"[..] } else { b"field" });
        stream.append(StreamId::new(ms, ms % 2), [(field, &value[..])].into_iter(), &StreamLimits::default());
    }
    for ms in (1..count).step_by(5) {
        stream.delete(StreamId::new(ms, ms % 2));
    }
    let mut group = Group::new(b"group", StreamId::new(count, 0), Some(2));
    let consumers: Vec<_> = [b"c0", b"c1"].iter().filter_map(|name| group.create(*name, 1000)).collect();
    for ms in 1..=count / 2 {
        let consumer = consumers[rng.usize(..2)];
        group.put(Pending { id: StreamId::new(ms, ms % 2), consumer, time_ms: rng.u64(..5000), count: ms });
    }
    assert!(stream.add_group(group));
    stream
}

/// Encodings that no server writes any more.
fn old() -> Vec<Vec<u8>> {
    let entries: Vec<&[u8]> = vec![b"field", b"1", b"other", b"20", b"third", b"-3"];
    let (ziplist, zipmap) = (ziplist(&entries), zipmap(&entries));
    let quicklist = [&[2][..], &string(&ziplist), &string(&ziplist)].concat();
    let plain = |count: u8| -> Vec<u8> {
        [count].into_iter().chain(entries.iter().flat_map(|entry| string(entry))).collect()
    };
    let text_scores: Vec<u8> =
        [3].into_iter().chain(b"\x01a\x011\x01b\x042.25\x01c\xfe".iter().copied()).collect();
    let intset = [&[2, 0, 0, 0, 3, 0, 0, 0][..], &[1, 0, 2, 0, 0xff, 0x7f]].concat();
    let bodies: [(u8, Vec<u8>); 10] = [
        (1, plain(6)),
        (2, plain(6)),
        (3, text_scores),
        (4, plain(3)),
        (9, string(&zipmap)),
        (10, string(&ziplist)),
        (11, string(&intset)),
        (12, string(&ziplist)),
        (13, string(&ziplist)),
        (14, quicklist),
    ];
    let payload = |(kind, body): (u8, Vec<u8>)| super::with_footer([&[kind][..], &body].concat());
    bodies.into_iter().map(payload).collect()
}

/// A string of less than 64 bytes as it is stored.
fn string(bytes: &[u8]) -> Vec<u8> {
    assert!(bytes.len() < 64);
    [&[bytes.len() as u8][..], bytes].concat()
}

/// Short strings, and numbers of one byte, as a ziplist.
fn ziplist(entries: &[&[u8]]) -> Vec<u8> {
    let (mut body, mut previous, mut tail) = (Vec::new(), 0, 10);
    for entry in entries {
        let start = body.len();
        body.push(previous as u8);
        match std::str::from_utf8(entry).ok().and_then(|text| text.parse::<i8>().ok()) {
            Some(number) => body.extend([0xfe, number as u8]),
            None => body.extend(string(entry)),
        }
        (tail, previous) = (10 + start, body.len() - start);
    }
    let mut bytes = (body.len() as u32 + 11).to_le_bytes().to_vec();
    bytes.extend((tail as u32).to_le_bytes());
    bytes.extend((entries.len() as u16).to_le_bytes());
    bytes.extend(body);
    bytes.push(0xff);
    bytes
}

/// Pairs as a zipmap.
fn zipmap(entries: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![(entries.len() / 2) as u8];
    for pair in entries.chunks(2) {
        bytes.extend(string(pair[0]));
        bytes.extend([pair[1].len() as u8, 0]);
        bytes.extend(pair[1]);
    }
    bytes.push(0xff);
    bytes
}
