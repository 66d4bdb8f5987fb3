//! What is written is read back, damage is an error, and golden bytes stay what they are.

use larder_collections::list::{Codec, Fill, Job, List, ListOptions, Popped};
use larder_collections::stream::{Group, Limits as StreamLimits, Pending, Stream, StreamId};
use larder_collections::value::Value;
use larder_rdb::read::{Checks, Content, Event, FileReader, KeyRecord, Loaded, Options, RawKeys, SlotImport};
use larder_rdb::write::{FileWriter, KeyHeader, KeyWriter};
use larder_rdb::{Crc64, Error, Version, dump};

fn list_options(depth: u32) -> ListOptions {
    ListOptions { fill: Fill::new(-1), compress_depth: depth, codec: Codec::Lzf }
}

fn options(depth: u32) -> Options {
    Options { list: list_options(depth), ..Options::default() }
}

/// Elements that are integers, short and long, compressible and not, empty, and too big for a block.
fn sample_list(count: usize, depth: u32) -> List {
    let (options, mut rng) = (list_options(depth), fastrand::Rng::with_seed(7));
    let mut list = List::new();
    for i in 0..count {
        let element = match i % 7 {
            0 => i.to_string().into_bytes(),
            1 => format!("-{}", rng.u64(1..)).into_bytes(),
            2 => vec![b'a'; rng.usize(..400)],
            3 => (0..rng.usize(..60)).map(|_| rng.u8(..)).collect(),
            4 if i % 350 == 4 => vec![b'z'; 20_000],
            _ => Vec::new(),
        };
        list.push_back(&element, &options);
    }
    while list.wants_compression(&options) {
        for done in list.compression_work(&options, 16).iter().map(Job::run) {
            list.apply(done, &options);
        }
    }
    list
}

fn elements(list: &List) -> Vec<Vec<u8>> {
    (0..list.len()).map(|i| list.get(i).map(Popped::into_vec).expect("it is inside")).collect()
}

fn restored_list(payload: &[u8], options: &Options) -> List {
    assert!(dump::verify(payload, Checks::ALL));
    match dump::restore(payload, options) {
        Ok(Some(Loaded::Value(Value::List(list)))) => {
            list.check_invariants();
            list
        }
        _ => panic!("a list was expected"),
    }
}

#[test]
fn lists_come_back_with_their_blocks() {
    for depth in [0, 1] {
        for count in [1, 2, 40, 3000] {
            let list = sample_list(count, depth);
            let payload = dump::of_value(&Value::List(list.clone()), Version::V10, true);
            let again = restored_list(&payload, &options(depth));
            assert_eq!(elements(&again), elements(&list), "{count} elements, depth {depth}");
            assert_eq!(again.node_count(), list.node_count());
            let packed = |list: &List| list.stats(&list_options(depth)).nodes_compressed;
            assert_eq!(packed(&again), packed(&list));
        }
    }
}

/// What links carry between two Larders: blocks stay what they are, and nobody else takes them.
#[test]
fn blocks_travel_as_they_are() {
    for (depth, codec) in [(0, Codec::Lzf), (1, Codec::Lzf), (1, Codec::Lz4), (1, Codec::Zstd)] {
        let here = ListOptions { codec, ..list_options(depth) };
        let mut list = List::new();
        (0..5000).for_each(|i| list.push_back(format!("element {i} of a list").as_bytes(), &here));
        (0..5000).for_each(|i| list.push_back(i.to_string().as_bytes(), &here));
        while list.wants_compression(&here) {
            for done in list.compression_work(&here, 16).iter().map(Job::run) {
                list.apply(done, &here);
            }
        }
        let mut writer = KeyWriter::new(Version::V80, true, true);
        writer.value(KeyHeader::default(), b"", &Value::List(list.clone())).unwrap();
        let [kind, 0, body @ ..] = &writer.bytes()[..] else { panic!("a type and an empty key come first") };
        let mut payload = [&[*kind][..], body, &Version::V80.number().to_le_bytes()].concat();
        payload.extend(Crc64::of(&payload).to_le_bytes());
        let there = Options { list: here, blocks: true, ..Options::default() };
        let again = restored_list(&payload, &there);
        assert_eq!(elements(&again), elements(&list));
        let of = |list: &List| (list.node_count(), list.stats(&here).nodes_compressed);
        assert_eq!(of(&again), of(&list), "{codec:?}");
        let without = Options { blocks: false, ..there };
        assert!(matches!(dump::restore(&payload, &without), Err(Error::UnknownType(_))));
        // Where nothing is to be compressed, nothing stays so.
        let plain = Options { list: list_options(0), ..there };
        let again = restored_list(&payload, &plain);
        assert_eq!((of(&again).1, elements(&again)), (0, elements(&list)));
    }
}

/// DUMP of redis-server 7.0.15 after SET hello, SET -1234, and RPUSH of a, 12, and 100 times b.
const STRING: &str = "000568656c6c6f0a006372df766534200a";
const INTEGER: &str = "00c12efb0a009dab25f0f753e9b6";
const LIST: &str = "120102c31540730d7300000003008161020c01e06462e05a000166ff0a0051c3272454732b73";

fn unhex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).map(digit).collect()
}

#[test]
fn golden_payloads_of_redis() {
    for (payload, value) in [(STRING, &b"hello"[..]), (INTEGER, b"-1234")] {
        assert_eq!(dump::of_string(value, Version::V10, true), unhex(payload));
        let loaded = dump::restore(&unhex(payload), &options(0));
        assert!(
            dump::verify(&unhex(payload), Checks::ALL)
                && matches!(loaded, Ok(Some(Loaded::String(s))) if s == value)
        );
    }
    let list = restored_list(&unhex(LIST), &options(0));
    assert_eq!(elements(&list), [b"a".to_vec(), b"12".to_vec(), vec![b'b'; 100]]);
    assert_eq!(dump::of_value(&Value::List(list), Version::V10, true), unhex(LIST));
}

#[test]
fn damaged_payloads_are_errors() {
    let mut rng = fastrand::Rng::with_seed(3);
    let good = dump::of_value(&Value::List(sample_list(60, 1)), Version::V11, true);
    assert!(dump::verify(&good, Checks::ALL));
    for len in 0..good.len() {
        assert!(!dump::verify(&good[..len], Checks::ALL), "cut to {len}");
        assert!(
            dump::restore(&good[..len], &options(1)).is_err() || len + 1 > good.len() - 10,
            "cut to {len}"
        );
    }
    for _ in 0..20_000 {
        let mut bad = good.clone();
        for _ in 0..rng.usize(1..4) {
            let at = rng.usize(..bad.len());
            bad[at] = rng.u8(..);
        }
        if bad != good {
            assert!(!dump::verify(&bad, Checks::ALL));
        }
        if let Ok(Some(Loaded::Value(Value::List(list)))) = dump::restore(&bad, &options(1)) {
            list.check_invariants();
            elements(&list);
        }
    }
}

fn sample_stream() -> Stream {
    let (mut stream, mut rng) = (Stream::new(), fastrand::Rng::with_seed(5));
    for ms in 1..250_u64 {
        let value = vec![b'v'; rng.usize(..30)];
        let field: &[u8] = if rng.u8(..5) == 0 { b"other" } else { b"field" };
        stream.append(StreamId::new(ms, ms % 2), [(field, &value[..])].into_iter(), &StreamLimits::default());
    }
    for ms in 1..40 {
        assert!(stream.delete(StreamId::new(ms * 6, 0)));
    }
    for name in ["a", "b"] {
        let mut group = Group::new(name.as_bytes(), StreamId::new(100, 0), Some(7));
        let consumers: Vec<_> = (0..3).filter_map(|i| group.create(&[b'c', b'0' + i], 1000)).collect();
        for ms in 1..100 {
            let consumer = consumers[rng.usize(..2)];
            group.put(Pending { id: StreamId::new(ms, 1), consumer, time_ms: rng.u64(..5000), count: ms });
        }
        assert!(stream.add_group(group));
    }
    stream
}

#[test]
fn streams_come_back_and_damage_is_an_error() {
    let stream = Value::Stream(sample_stream());
    for version in [Version::V10, Version::V11, Version::V80] {
        let good = dump::of_value(&stream, version, true);
        let Ok(Some(again)) = dump::restore(&good, &options(0)) else { panic!("a stream was expected") };
        let Loaded::Value(again) = again else { panic!("a stream was expected") };
        assert_eq!(dump::of_value(&again, version, true), good);
        for len in (0..good.len() - 10).step_by(7) {
            assert!(dump::restore(&good[..len], &options(0)).is_err(), "cut to {len}");
        }
        let mut rng = fastrand::Rng::with_seed(9);
        let mut accepted = 0;
        let plain = dump::of_value(&stream, version, false);
        for _ in 0..800 {
            let mut bad = plain.clone();
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(..bad.len());
                bad[at] = rng.u8(..);
            }
            if let Ok(Some(Loaded::Value(Value::Stream(mut stream)))) = dump::restore(&bad, &options(0)) {
                stream.check_invariants();
                accepted += 1;
                if let Some(next) = stream.last_id().next() {
                    stream.append(next, [(&b"f"[..], &b"v"[..])].into_iter(), &StreamLimits::default());
                    stream.check_invariants();
                }
            }
        }
        assert!(accepted > 0);
    }
}

/// A file with two databases, expiries and all that stands between keys.
fn sample_file(checksum: bool) -> Vec<u8> {
    let mut file = FileWriter::new(Vec::new(), Version::V11, true, checksum).unwrap();
    file.aux("redis-ver", "7.2.0").unwrap();
    file.function(b"#!lua name=lib").unwrap();
    file.database(0, 2, 1).unwrap();
    let header = KeyHeader { expire_at_ms: Some(1_900_000_000_123), ..KeyHeader::default() };
    file.string(header, b"greeting", b"hello").unwrap();
    file.value(KeyHeader::default(), b"list", &Value::List(sample_list(300, 0))).unwrap();
    file.database(9, 1, 0).unwrap();
    let header = KeyHeader { idle_s: Some(100), frequency: Some(7), ..KeyHeader::default() };
    file.string(header, b"12345", &[b'x'; 500]).unwrap();
    file.finish().unwrap()
}

/// A key that stays.
struct Kept {
    key: Vec<u8>,
    expire_at_ms: Option<i64>,
    idle_s: Option<u64>,
    frequency: Option<u8>,
    value: Option<Loaded>,
}

impl Kept {
    fn of(record: KeyRecord<'_>) -> Self {
        let KeyRecord { key, expire_at_ms, idle_s, frequency, value } = record;
        let value = value.map(|value| match value {
            Content::String(bytes) => Loaded::String(bytes.to_vec()),
            Content::Value(value) => Loaded::Value(value),
        });
        Kept { key: key.to_vec(), expire_at_ms, idle_s, frequency, value }
    }
}

fn read_all(bytes: &[u8], verify: bool) -> Result<(Vec<Event>, Vec<Kept>), Error> {
    let mut reader = FileReader::new(bytes, options(0), Checks { sum: verify, version: false })?;
    let (mut events, mut keys, mut records) = (Vec::new(), RawKeys::default(), Vec::new());
    while let Some(event) = reader.next_event(&mut keys)? {
        events.push(event);
    }
    assert_eq!(reader.position(), bytes.len() as u64);
    keys.read(&options(0), |record| records.push(Kept::of(record)))?;
    Ok((events, records))
}

/// The next key, which the next event must speak of.
fn record(event: &Event, records: &mut impl Iterator<Item = Kept>) -> Kept {
    assert!(matches!(event, Event::Key));
    records.next().expect("there is one for each event")
}

#[test]
fn files_come_back() {
    for checksum in [false, true] {
        let (events, records) = read_all(&sample_file(checksum), true).unwrap();
        let (mut events, mut records) = (events.into_iter(), records.into_iter());
        let mut next = || events.next().expect("there are eight events");
        assert!(matches!(next(), Event::Aux(name, value) if name == b"redis-ver" && value == b"7.2.0"));
        assert!(matches!(next(), Event::Function(source) if source == b"#!lua name=lib"));
        assert!(matches!(next(), Event::SelectDb(0)));
        assert!(matches!(next(), Event::ResizeDb(2, 1)));
        let Kept { key, expire_at_ms, value: Some(Loaded::String(value)), .. } =
            record(&next(), &mut records)
        else {
            panic!("a string was expected");
        };
        assert_eq!(
            (key, expire_at_ms, value),
            (b"greeting".to_vec(), Some(1_900_000_000_123), b"hello".to_vec())
        );
        let Kept { value: Some(Loaded::Value(Value::List(list))), .. } = record(&next(), &mut records) else {
            panic!("a list was expected");
        };
        assert_eq!(elements(&list), elements(&sample_list(300, 0)));
        assert!(matches!(next(), Event::SelectDb(9)));
        assert!(matches!(next(), Event::ResizeDb(1, 0)));
        let Kept { key, idle_s, frequency, .. } = record(&next(), &mut records);
        assert_eq!((key, idle_s, frequency), (b"12345".to_vec(), Some(100), Some(7)));
        assert!(events.next().is_none());
    }
}

/// Slots that are on their way to the node that wrote a file, as Valkey 9.1.2 writes them.
#[test]
fn imports_of_slots_come_back() {
    let of = |version| {
        let mut file = FileWriter::new(Vec::new(), version, true, false).unwrap();
        file.slot_import(&[b'a'; 40], &[(0, 100), (300, 400)]).unwrap();
        file.finish().unwrap()
    };
    let ours = of(Version::V80);
    let theirs = [
        &b"VALKEY080"[..],
        b"\xf3\xc3\x09\x28\x01aa\xe0\x1b\x00\x01aa\x02\x00\x40\x64\x41\x2c\x41\x90\xff",
        &[0; 8],
    ]
    .concat();
    for file in [&ours, &theirs] {
        let (events, _) = read_all(file, false).unwrap();
        let [Event::SlotImport(SlotImport { name, ranges })] = &events[..] else {
            panic!("an import was expected")
        };
        assert_eq!((&name[..], &ranges[..]), (&[b'a'; 40][..], &[(0, 100), (300, 400)][..]));
        (0..file.len() - 8).for_each(|len| assert!(read_all(&file[..len], false).is_err(), "cut to {len}"));
    }
    let (older, _) = read_all(&of(Version::V11), false).unwrap();
    assert!(older.is_empty(), "older versions have no place for it");
    for ranges in [&b"\x01\x02\x01"[..], b"\x01\x00\x80\x00\x00\x40\x00", b"\x80\xff\xff\xff\xff\x00\x00"] {
        let bad = [&b"VALKEY080\xf3\x28"[..], &[b'a'; 40], ranges, b"\xff", &[0; 8]].concat();
        assert!(read_all(&bad, false).is_err(), "{ranges:?}");
    }
    for len in [0, 1, 39, 40, 41] {
        let named =
            [&b"VALKEY080\xf3"[..], &[len], &vec![b'a'; usize::from(len)], b"\x01\x00\x01\xff", &[0; 8]];
        assert_eq!(read_all(&named.concat(), false).is_ok(), len == 40, "a name of {len} characters");
    }
}

#[test]
fn damaged_files_are_errors() {
    let good = sample_file(true);
    for len in 0..good.len() {
        assert!(read_all(&good[..len], true).is_err(), "cut to {len}");
    }
    for at in 9..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        // A checksum of zero would not be compared; one bit does not make one.
        assert!(read_all(&bad, true).is_err(), "byte {at}");
    }
    assert!(matches!(read_all(b"REDIS0099", true), Err(Error::Version(99))));
    assert!(matches!(read_all(b"REDIS0000", true), Err(Error::Version(0))));
    assert!(matches!(read_all(b"RIDES0011", true), Err(Error::NotRdb)));
    assert!(matches!(read_all(b"REDIS0075\xfe\x00\x63\x01k", true), Err(Error::Version(75))));
    assert!(matches!(read_all(b"REDIS0011\xfe\x00\x63\x01k", true), Err(Error::UnknownType(0x63))));
}
