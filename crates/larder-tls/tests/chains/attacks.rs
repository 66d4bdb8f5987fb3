//! Hostile chains: what a peer cannot gain, and how much work it can cause.

use super::Prepared;
use super::cases::Case;
use super::certificate::{Fields, NOW_S, UNKNOWN, attribute, tlv};
use der::asn1::ObjectIdentifier;
use larder_tls::pem::{StoredCertificate, TrustSettings};
use larder_tls::verify::{Authorities, Purpose, verify};
use larder_tls::{Certificate, provider};
use rustls::pki_types::{CertificateDer, UnixTime};
use std::time::{Duration, Instant};

/// A verification may take this long on a slow machine, in a build for development. Without bounds
/// those below take minutes.
const PATIENCE: Duration = Duration::from_secs(2);

fn root() -> Fields {
    Fields::authority("root", 0, "root", 0)
}

fn case(peer: Fields, sent: Vec<Fields>, trusted: Vec<Fields>) -> Prepared {
    Prepared::of(&Case { purpose: Purpose::Client, peer, sent, trusted, oddities: Vec::new() })
}

/// The verdict, which comes soon.
fn is_trusted(case: &Prepared) -> bool {
    let begun = Instant::now();
    let verdict = case.is_trusted();
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    verdict
}

/// Holders of certificates of every kind try to issue one; whether they send their own, or it is
/// trusted.
#[test]
fn only_authorities_issue() {
    let forged = || Fields::peer("admin", 2, "holder", 1);
    let holder = Fields::peer("holder", 1, "root", 0);
    let authority = Fields::authority("holder", 1, "root", 0);
    let holders = [
        holder.clone(),
        Fields { version: 1, ..holder.clone() },
        Fields { basic_constraints: None, ..holder.clone() },
        Fields { key_usage: Some(0x80), ..authority.clone() },
        Fields { version: 1, ..authority.clone() },
        Fields { version: 2, ..Fields::peer("holder", 1, "root", 0) },
        Fields { others: vec![(UNKNOWN, true)], ..authority.clone() },
    ];
    for holder in holders {
        let own = Fields { issuer: "holder".to_owned(), signer: 1, ..holder.clone() };
        for version in [1, 3] {
            let forged = Fields { version, ..forged() };
            let sent = case(forged.clone(), vec![holder.clone()], vec![root()]);
            let trusted = case(forged.clone(), Vec::new(), vec![holder.clone(), root()]);
            let pinned = case(forged.clone(), vec![own.clone()], vec![own.clone(), root()]);
            for attempt in [sent, trusted, pinned] {
                assert!(!is_trusted(&attempt), "{holder:?}");
            }
        }
    }
    // The same forgery by an authority is no forgery.
    assert!(is_trusted(&case(forged(), vec![authority], vec![root()])));
}

/// The form in which webpki sees a peer's certificate is worth nothing to others: it is no
/// authority, and it is not signed.
#[test]
fn stand_ins_vouch_for_nobody() {
    let authority = Fields { key_usage: None, ..Fields::authority("peer", 1, "root", 0) };
    // An authority may be a peer, and may issue; the certificate below it has the names of its
    // stand-in.
    assert!(is_trusted(&case(authority.clone(), Vec::new(), vec![root()])));
    let old = Fields { version: 1, ..Fields::peer("peer.example.com", 1, "root", 0) };
    assert!(is_trusted(&case(old.clone(), Vec::new(), vec![root()])));
    // A certificate of version 1 that signs one with its own name, and sends itself.
    let below = Fields { version: 1, ..Fields::peer("peer.example.com", 2, "peer.example.com", 1) };
    assert!(!is_trusted(&case(below, vec![old.clone(), old], vec![root()])));
}

/// The name of a trusted authority with another key.
#[test]
fn a_name_is_not_a_key() {
    let mimic = Fields::authority("root", 5, "root", 5);
    let peer = Fields::peer("admin", 2, "root", 5);
    assert!(!is_trusted(&case(peer.clone(), vec![mimic.clone()], vec![root()])));
    assert!(!is_trusted(&case(mimic.clone(), Vec::new(), vec![root()])));
    // Two authorities of one name: each issues.
    assert!(is_trusted(&case(peer, Vec::new(), vec![root(), mimic])));
    // The key of a trusted authority, with another name.
    let renamed = Fields::authority("new root", 0, "new root", 0);
    assert!(!is_trusted(&case(Fields::peer("x", 2, "new root", 0), vec![renamed], vec![root()])));
    // The trusted authority is a peer itself.
    let root = Fields { key_usage: None, ..root() };
    assert!(is_trusted(&case(root.clone(), Vec::new(), vec![root])));
}

/// Certificates that name each other as issuer, in circles.
#[test]
fn circles() {
    let ring = |length: usize| {
        let next = move |at: usize| (at + 1) % length;
        let one = move |at: usize| {
            Fields::authority(&format!("ring {at}"), at % 8, &format!("ring {}", next(at)), next(at) % 8)
        };
        (0..length).map(one)
    };
    for length in [2, 3, 8] {
        let sent: Vec<_> = ring(length).collect();
        let peer = Fields::peer("admin", 9, "ring 0", 0);
        assert!(!is_trusted(&case(peer.clone(), sent.clone(), vec![root()])));
        // Authorities of the operator are in a circle as well.
        assert!(!is_trusted(&case(peer, sent.clone(), sent)));
    }
}

/// Hundreds of authorities with one name, each of which may have issued each other one: without
/// bounds webpki follows two hundred thousand paths.
#[test]
fn many_authorities_of_one_name() {
    let same = |at: usize| Fields {
        key_ids: Some((at as u8, at as u8)),
        ..Fields::authority("same", at % 8, "other", (at + 1) % 8)
    };
    let back = |at: usize| Fields { issuer: "same".to_owned(), subject: "other".to_owned(), ..same(at) };
    let sent: Vec<_> = (0..80).flat_map(|at| [same(at), back(at)]).collect();
    let peer = Fields::peer("admin", 9, "same", 0);
    assert!(!is_trusted(&case(peer.clone(), sent.clone(), vec![root()])));
    // They say that the root has issued them, so that each path is worth a signature.
    let sent: Vec<_> = sent.into_iter().map(|one| Fields { issuer: "root".to_owned(), ..one }).collect();
    assert!(!is_trusted(&case(peer, sent, vec![root()])));
}

#[test]
fn long_paths() {
    let path = |length: usize| {
        let fields = |at: usize| {
            let (name, above) = (format!("authority {at}"), format!("authority {}", at + 1));
            Fields::authority(&name, at % 8, &above, (at + 1) % 8)
        };
        let sent: Vec<_> = (1..=length).map(fields).collect();
        let root = format!("authority {}", length + 1);
        let root = Fields::authority(&root, (length + 1) % 8, &root, (length + 1) % 8);
        case(Fields::peer("peer", 9, "authority 1", 1), sent, vec![root])
    };
    assert!(is_trusted(&path(6)));
    assert!(!is_trusted(&path(7)));
    assert!(!is_trusted(&path(150)));
}

/// Certificates of tens of thousands of bytes: one extension, many extensions, many names.
#[test]
fn large_certificates() {
    let peer = || Fields::peer("peer", 1, "root", 0);
    let long = Fields { names: tlv(0x82, &[&[b'a'; 60_000]]), ..peer() };
    assert!(is_trusted(&case(long, Vec::new(), vec![root()])));
    let names: Vec<u8> = (0..8000).flat_map(|_| tlv(0x82, &[b"a.b"])).collect();
    let constrained = Fields {
        name_constraints: Some((tlv(0x30, &[&tlv(0x82, &[b"b"])]).repeat(200), Vec::new())),
        ..root()
    };
    let many = case(Fields { names, ..peer() }, Vec::new(), vec![constrained]);
    assert!(!is_trusted(&many), "there are more comparisons than webpki makes");
    // Extensions with one name are an error.
    let twice = Fields { others: vec![(UNKNOWN, false); 5000], ..peer() };
    assert!(!is_trusted(&case(twice, Vec::new(), vec![root()])));
}

/// Trust settings that `openssl x509 -addtrust` and `-addreject` write beside a certificate.
#[test]
fn settings_beside_certificates() {
    let id = |purpose: Purpose| {
        ObjectIdentifier::new_unwrap(if purpose == Purpose::Client {
            "1.3.6.1.5.5.7.3.2"
        } else {
            "1.3.6.1.5.5.7.3.1"
        })
    };
    let trusts = |purpose: Purpose| TrustSettings { trusted: vec![id(purpose)], rejected: vec![] };
    let rejects = |purpose: Purpose| TrustSettings { trusted: vec![], rejected: vec![id(purpose)] };
    let plain = TrustSettings::default;
    let [root, middle, peer, own] = [
        root(),
        Fields::authority("middle", 1, "root", 0),
        Fields::peer("peer", 2, "middle", 1),
        Fields::peer("own", 3, "own", 3),
    ]
    .map(|fields| CertificateDer::from(fields.der()));
    let verdict = |peer: &CertificateDer<'static>, stored: &[(&CertificateDer<'static>, TrustSettings)]| {
        let stored = stored
            .iter()
            .map(|(der, settings)| StoredCertificate { der: (*der).clone(), settings: settings.clone() });
        let authorities = Authorities::new(stored.collect(), provider().signature_verification_algorithms);
        let now = UnixTime::since_unix_epoch(Duration::from_secs(NOW_S));
        verify(&authorities, peer, std::slice::from_ref(&middle), Purpose::Client, now).is_ok()
    };
    let (client, server) = (Purpose::Client, Purpose::Server);
    assert!(verdict(&peer, &[(&root, plain())]));
    assert!(!verdict(&peer, &[(&middle, plain())]));
    assert!(verdict(&peer, &[(&middle, trusts(client))]), "an intermediate that ends the path");
    assert!(!verdict(&peer, &[(&middle, trusts(server))]));
    assert!(!verdict(&peer, &[(&root, trusts(server))]));
    assert!(verdict(&peer, &[(&root, rejects(server))]));
    assert!(!verdict(&peer, &[(&root, rejects(client))]));
    assert!(!verdict(&peer, &[(&root, plain()), (&root, rejects(client))]));
    assert!(!verdict(&peer, &[(&root, plain()), (&middle, rejects(client))]), "also if it is sent");
    assert!(!verdict(&peer, &[(&root, plain()), (&peer, rejects(client))]));
    assert!(verdict(&own, &[(&own, plain())]) && verdict(&own, &[(&own, trusts(client))]));
    assert!(!verdict(&own, &[(&own, trusts(server))]) && !verdict(&own, &[(&own, rejects(client))]));
}

/// Common names with zero bytes and several of them are read as they are.
#[test]
fn crafted_common_names() {
    let more = attribute(&[0x55, 4, 3], 0x0c, "admin");
    let der = Fields { more_of_subject: more, ..Fields::peer("guest\0admin", 1, "root", 0) }.der();
    let facts = Certificate::read(&der).unwrap();
    let names: Vec<_> = facts.common_names.iter().map(|name| name.bytes).collect();
    assert_eq!(names, [&b"guest\0admin"[..], b"admin"]);
    // In 16 bits a character.
    let wide = attribute(&[0x55, 4, 3], 0x1e, "\0a\0.\0b");
    let der = Fields { more_of_subject: wide, ..Fields::peer("x", 1, "root", 0) }.der();
    assert_eq!(Certificate::read(&der).unwrap().common_names[1].utf8().unwrap(), b"a.b");
}

/// Any byte of a chain damaged: never a panic, and never trust for what the authority has not
/// signed.
#[test]
fn damaged_bytes() {
    let seed = larder_testkit::seed(3);
    let mut rng = fastrand::Rng::with_seed(seed);
    let peer = Fields::peer("peer.example.com", 1, "middle", 2);
    let middle = Fields {
        others: vec![(super::certificate::POLICIES, true)],
        ..Fields::authority("middle", 2, "root", 0)
    };
    let good = case(Fields { version: 1, ..peer }, vec![middle], vec![root()]);
    assert!(good.is_trusted());
    for _ in 0..2000 {
        let mut damaged = case(Fields::peer("x", 1, "middle", 2), Vec::new(), Vec::new());
        (damaged.peer, damaged.sent) = (good.peer.clone(), good.sent.clone());
        damaged.trusted = good.trusted.clone();
        let target = if rng.bool() { &mut damaged.peer } else { &mut damaged.sent[0] };
        let mut bytes = target.to_vec();
        let at = rng.usize(..bytes.len());
        match rng.u8(..3) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, rng.u8(..)),
            _ => bytes[at] ^= 1 << rng.u8(..8),
        }
        *target = bytes.into();
        assert!(!damaged.is_trusted(), "SEED={seed} {at}");
    }
}
