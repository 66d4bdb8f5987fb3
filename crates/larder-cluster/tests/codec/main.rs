//! Packets: those of the real servers are read and written again byte for byte, all types go through, and damaged ones are
//! refused or read without harm.

mod samples;

use fastrand::Rng;
use larder_cluster::packet::{
    Extensions, Gossip, Greeting, HEADER_BYTES, Header, Malformed, Message, MessageFlags, NodeFlags, Packet,
    Slots, decode, encode, encode_greeting, encode_light, packet_len,
};
use larder_cluster::{BITMAP_BYTES, NodeId, SLOTS, SlotSet};
use larder_testkit::mutate::damage;
use samples::samples;

fn id(digit: char) -> NodeId {
    NodeId::parse(digit.to_string().repeat(40).as_bytes()).expect("it is a name")
}

fn header(slots: &SlotSet) -> Header<'_> {
    Header {
        port: 7000,
        other_port: 7001,
        bus_port: 17_000,
        current_epoch: 12,
        config_epoch: 11,
        offset: u64::MAX - 3,
        sender: id('a'),
        slots: Slots::Set(slots),
        primary: Some(id('b')),
        ip: "fe80::1%eth0",
        flags: NodeFlags::REPLICA | NodeFlags::NOFAILOVER,
        is_down: true,
        message_flags: MessageFlags::FORCE_ACK | MessageFlags::PAUSED,
    }
}

fn gossip() -> [Gossip<'static>; 2] {
    let one = Gossip {
        id: id('c'),
        ping_sent: 1,
        pong_received: 2,
        ip: "10.0.0.1",
        port: 3,
        bus_port: 4,
        flags: NodeFlags::PFAIL,
        other_port: 5,
    };
    [one, Gossip { id: id('d'), ip: "", ..one }]
}

fn extensions() -> Extensions<'static> {
    Extensions {
        hostname: "a.example",
        node_name: "n-1",
        forgotten: vec![(id('e'), 60), (id('f'), 1)],
        shard: Some(id('9')),
        client_ipv4: "1.2.3.4",
        client_ipv6: "::1",
        client_port: 80,
        client_tls_port: 443,
        zone: "zone/1",
    }
}

/// A packet of each type.
fn packets() -> Vec<Vec<u8>> {
    let slots: SlotSet = [0, 1, 77, SLOTS - 1].into_iter().collect();
    let header = header(&slots);
    let messages = [
        Message::Fail(id('c')),
        Message::Publish { channel: b"ch", payload: &[0, 255, b'\n'], is_sharded: false },
        Message::Publish { channel: b"", payload: b"", is_sharded: true },
        Message::AuthRequest,
        Message::AuthAck,
        Message::Update { config_epoch: 9, owner: id('c'), slots: Slots::Set(&slots) },
        Message::ManualFailoverStart,
        Message::Module,
        Message::Unknown(99),
    ];
    let mut packets: Vec<Vec<u8>> = messages.iter().map(|message| encode(&header, message)).collect();
    for greeting in [Greeting::Ping, Greeting::Pong, Greeting::Meet] {
        packets.push(encode_greeting(&header, greeting, gossip().into_iter(), &extensions()));
        packets.push(encode_greeting(&header, greeting, [].into_iter(), &Extensions::default()));
    }
    packets.push(encode_light(b"hello", b"world", false));
    packets.push(encode_light(b"hello", b"", true));
    packets
}

/// Writes a packet that was read.
fn again(packet: &Packet<'_>) -> Vec<u8> {
    match (&packet.header, &packet.message) {
        (Some(header), message) => encode(header, message),
        (None, Message::Publish { channel, payload, is_sharded }) => {
            encode_light(channel, payload, *is_sharded)
        }
        (None, other) => panic!("{other:?} has no light header"),
    }
}

#[test]
fn every_type_is_read_as_it_was_written() {
    for bytes in packets() {
        assert_eq!(packet_len(&bytes), Ok(Some(bytes.len())));
        let packet = decode(&bytes).expect("it is a packet");
        assert_eq!(again(&packet), bytes);
    }
    let slots: SlotSet = [5].into_iter().collect();
    let bytes = encode_greeting(&header(&slots), Greeting::Meet, gossip().into_iter(), &extensions());
    let packet = decode(&bytes).expect("it is a packet");
    assert_eq!(packet.header, Some(header(&slots)));
    let Message::Greet { greeting, gossip: entries, extensions: read } = packet.message else {
        panic!("it is a greeting");
    };
    assert_eq!((greeting, entries.len(), read), (Greeting::Meet, 2, extensions()));
    assert!(entries.iter().eq(gossip()));
}

#[test]
fn packets_of_the_servers_are_read_and_written_again() {
    let samples = samples();
    assert_eq!(samples.len(), 17);
    for (name, bytes) in &samples {
        let packet = decode(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(again(&packet) == *bytes, "{name}: {packet:?}");
    }
}

#[test]
fn packets_of_the_servers_say_what_they_said() {
    let samples = samples();
    let of = |name: &str| decode(&samples[name]).expect("it is a packet");
    let names = of("valkey91_ping_names");
    let Message::Greet { gossip, extensions, .. } = &names.message else { panic!("a PING") };
    assert!(names.header.is_some_and(|header| header.primary.is_some()), "it was a replica");
    assert!(
        gossip.len() == 2 && gossip.iter().all(|entry| entry.ip == "127.0.0.1" && entry.pong_received > 0)
    );
    assert_eq!(
        (extensions.node_name, extensions.client_ipv4, extensions.client_ipv6),
        ("nd2", "1.2.3.4", "::5")
    );
    assert_eq!((extensions.client_tls_port, extensions.client_port, extensions.zone), (77, 0, ""));
    assert!(extensions.shard.is_some() && extensions.forgotten.len() == 1);
    let paused = of("valkey91_ping_paused").header.expect("a full header");
    assert!(paused.message_flags.has(MessageFlags::PAUSED) && paused.primary.is_none() && !paused.is_down);
    assert_eq!((paused.port, paused.bus_port, paused.flags.0), (21_001, 32_001, 0x1d11));
    let redis = of("redis70_ping");
    let Message::Greet { extensions, .. } = &redis.message else { panic!("a PING") };
    assert_eq!(extensions, &Extensions { hostname: "r.example", ..Extensions::default() });
    assert!(of("valkey91_auth_request").header.expect("full").message_flags.has(MessageFlags::FORCE_ACK));
    assert!(matches!(of("valkey91_fail").message, Message::Fail(_)));
    assert_eq!(
        of("valkey91_publish_light").message,
        Message::Publish { channel: b"hello", payload: b"world", is_sharded: false }
    );
}

#[test]
fn a_packet_has_exactly_its_length() {
    for bytes in packets() {
        for len in 0..bytes.len() {
            let mut cut = bytes[..len].to_vec();
            assert!(decode(&cut).is_err(), "cut to {len}");
            // A length that tells the truth, but not that of the type.
            if let Some(field) = cut.get_mut(4..8) {
                field.copy_from_slice(&(len as u32).to_be_bytes());
                let is_unknown =
                    matches!(decode(&bytes).map(|packet| packet.message), Ok(Message::Unknown(_)));
                assert!(is_unknown || decode(&cut).is_err(), "cut to {len} and says so");
            }
        }
        let mut longer = bytes.clone();
        longer.extend_from_slice(&[0; 8]);
        assert!(decode(&longer).is_err());
    }
}

#[test]
fn lying_counts_and_lengths_are_refused() {
    let slots = SlotSet::new();
    let greeting = encode_greeting(&header(&slots), Greeting::Ping, gossip().into_iter(), &extensions());
    let publish = encode(
        &header(&slots),
        &Message::Publish { channel: b"channel", payload: b"payload", is_sharded: false },
    );
    let first_extension = HEADER_BYTES + 2 * 104;
    let lies: [(&[u8], usize, &[u8], Malformed); 12] = [
        (&greeting, 14, &[0xff, 0xff], Malformed::Length),
        (&greeting, 14, &[0, 3], Malformed::Length),
        (&greeting, 2214, &[0xff, 0xff], Malformed::Length),
        (&greeting, 2214, &[0, 0], Malformed::Length),
        (&greeting, first_extension, &[0, 0, 0, 0], Malformed::Extension),
        (&greeting, first_extension, &[0, 0, 0, 7], Malformed::Extension),
        (&greeting, first_extension, &[0xff, 0xff, 0xff, 0xf8], Malformed::Length),
        (&greeting, 8, &[0, 2], Malformed::Version),
        (&greeting, 40, b"\n", Malformed::Name),
        (&greeting, 2168, b"a b", Malformed::Text),
        (&publish, HEADER_BYTES, &[0xff, 0xff, 0xff, 0xff], Malformed::Length),
        (&publish, HEADER_BYTES + 4, &[0, 0, 0, 8], Malformed::Length),
    ];
    for (bytes, at, lie, error) in lies {
        let mut bytes = bytes.to_vec();
        bytes[at..at + lie.len()].copy_from_slice(lie);
        assert_eq!(decode(&bytes), Err(error), "{lie:?} at {at}");
    }
    let mut light = encode_light(b"a", b"b", false);
    light[13] = 1;
    assert_eq!(decode(&light), Err(Malformed::Type));
}

#[test]
fn the_start_of_a_stream_says_where_the_packet_ends() {
    assert_eq!(packet_len(b""), Ok(None));
    assert_eq!(packet_len(b"RCm"), Ok(None));
    assert_eq!(packet_len(b"RCx"), Err(Malformed::Signature));
    assert_eq!(packet_len(b"RCmb\0\0\x08"), Ok(None));
    assert_eq!(packet_len(b"RCmb\0\0\x08\xd0"), Ok(Some(HEADER_BYTES)));
    assert_eq!(packet_len(b"RCmb\0\0\0\x0f"), Err(Malformed::Length));
    assert_eq!(packet_len(b"RCmb\xff\xff\xff\xff"), Ok(Some(u32::MAX as usize)));
}

/// Reads bytes, and all that they say.
fn read_all(bytes: &[u8]) -> bool {
    let _ = packet_len(bytes);
    let Ok(packet) = decode(bytes) else { return false };
    if let Some(header) = &packet.header {
        assert!(header.slots.to_set().len() <= SLOTS && header.ip.len() < 46);
    }
    if let Message::Greet { gossip, extensions, .. } = &packet.message {
        assert!(gossip.iter().count() <= gossip.len() && gossip.len() * 104 <= bytes.len());
        assert!(extensions.forgotten.len() * 48 <= bytes.len());
        let texts = [extensions.hostname, extensions.node_name, extensions.zone, extensions.client_ipv4];
        assert!(texts.iter().all(|text| !text.contains([' ', ',', '\n', '=', '\0'])));
    }
    assert!(!format!("{packet:?}").is_empty());
    true
}

#[test]
fn damaged_packets_do_no_harm() {
    let mut whole = packets();
    whole.extend(samples().into_values());
    let mut read = 0;
    larder_testkit::fuzz::for_seeds(0, if larder_testkit::full_run() { 1_000_000 } else { 6000 }, |seed| {
        let mut rng = Rng::with_seed(seed);
        let mut bytes = whole[rng.usize(..whole.len())].clone();
        let other = rng.usize(..whole.len());
        damage(&mut rng, &mut bytes, &whole[other]);
        if rng.u8(..4) > 0 && bytes.len() >= 8 {
            let len = bytes.len() as u32;
            bytes[4..8].copy_from_slice(&len.to_be_bytes());
        }
        read += u32::from(read_all(&bytes));
    });
    assert!(read > 500 || larder_testkit::given_seed().is_some(), "only {read} were read");
}

#[test]
fn one_bit_does_no_harm() {
    for bytes in packets() {
        let mut rng = Rng::with_seed(bytes.len() as u64);
        for at in 0..bytes.len() {
            // All bits of fields, one of each byte of the bitmap.
            let bits = if (80..80 + BITMAP_BYTES).contains(&at) { 0..1 } else { 0..8 };
            for bit in bits {
                if rng.u8(..4) > 0 {
                    continue;
                }
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                read_all(&damaged);
            }
        }
    }
}
