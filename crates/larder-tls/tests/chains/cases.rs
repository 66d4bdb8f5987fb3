//! Generated chains: a shape, some faults or oddities in its certificates, and who has which of
//! them.

use super::certificate::{
    Fields, POLICIES, UNKNOWN, Validity, directory_name, mail_attribute, purpose, subtree, tlv, usage,
};
use fastrand::Rng;
use larder_tls::verify::Purpose;

/// A peer's certificate, what it sends with it, and what is trusted.
#[derive(Clone, Debug)]
pub struct Case {
    pub purpose: Purpose,
    pub peer: Fields,
    pub sent: Vec<Fields>,
    pub trusted: Vec<Fields>,
    /// What is odd about it.
    pub oddities: Vec<&'static str>,
}

/// Certificates from the peer's own upwards; the last one is self-signed.
type Chain = Vec<Fields>;

fn straight(length: usize) -> Chain {
    let name = |at: usize| if at == 0 { "peer.example.com".to_owned() } else { format!("authority {at}") };
    let fields = |at: usize| {
        let above = (at + 1).min(length - 1);
        match at {
            0 => Fields::peer(&name(0), 0, &name(above), above),
            _ => Fields::authority(&name(at), at, &name(above), above),
        }
    };
    (0..length).map(fields).collect()
}

/// A change to one certificate.
type Change = (&'static str, fn(&mut Fields));

/// Changes that any certificate may have.
const CHANGES: &[Change] = &[
    ("version 1", |one| one.version = 1),
    ("no basic constraints", |one| one.basic_constraints = None),
    ("an authority", |one| one.basic_constraints = Some((true, None))),
    ("no authority", |one| one.basic_constraints = Some((false, None))),
    ("path length 0", |one| one.basic_constraints = Some((true, Some(0)))),
    ("path length 1", |one| one.basic_constraints = Some((true, Some(1)))),
    ("no key usage", |one| one.key_usage = None),
    ("may sign data", |one| one.key_usage = Some(usage::DIGITAL_SIGNATURE)),
    ("may encipher keys", |one| one.key_usage = Some(usage::KEY_ENCIPHERMENT)),
    ("may agree on keys", |one| one.key_usage = Some(usage::KEY_AGREEMENT)),
    ("may sign certificates", |one| one.key_usage = Some(usage::SIGNS_CERTIFICATES)),
    ("for clients", |one| one.purposes = Some(vec![purpose::CLIENT])),
    ("for servers", |one| one.purposes = Some(vec![purpose::SERVER])),
    ("for both", |one| one.purposes = Some(vec![purpose::SERVER, purpose::CLIENT])),
    ("for code", |one| one.purposes = Some(vec![purpose::CODE])),
    ("for anything", |one| one.purposes = Some(vec![purpose::ANY])),
    ("for anything and servers", |one| one.purposes = Some(vec![purpose::ANY, purpose::SERVER])),
    ("expired", |one| one.validity = Validity::Expired),
    ("not yet valid", |one| one.validity = Validity::Future),
    ("unknown critical extension", |one| {
        one.others.retain(|(id, _)| *id != UNKNOWN);
        one.others.push((UNKNOWN, true));
    }),
    ("unknown extension", |one| {
        one.others.retain(|(id, _)| *id != UNKNOWN);
        one.others.push((UNKNOWN, false));
    }),
    ("critical policy", |one| {
        one.others.retain(|(id, _)| *id != POLICIES);
        one.others.push((POLICIES, true));
    }),
    ("policy", |one| {
        one.others.retain(|(id, _)| *id != POLICIES);
        one.others.push((POLICIES, false));
    }),
    ("damaged signature", |one| one.is_damaged = true),
    ("Netscape client", |one| one.netscape_type = Some(0x80)),
    ("Netscape server", |one| one.netscape_type = Some(0x40)),
    ("Netscape authority", |one| one.netscape_type = Some(0x04)),
    ("another issuer's key", |one| one.signer = 9),
    ("another issuer's name", |one| one.issuer = "somebody".to_owned()),
    ("the issuer's name in capitals", |one| one.issuer = one.issuer.to_uppercase()),
    ("wrong key identifier", |one| one.key_ids = Some((77, 78))),
    ("permits example.com", |one| one.name_constraints = Some((subtree(&dns("example.com")), Vec::new()))),
    ("permits example.org", |one| one.name_constraints = Some((subtree(&dns("example.org")), Vec::new()))),
    ("excludes example.com", |one| one.name_constraints = Some((Vec::new(), subtree(&dns("example.com"))))),
    ("excludes example.org", |one| one.name_constraints = Some((Vec::new(), subtree(&dns("example.org"))))),
    ("permits 10.0.0.0/8", |one| {
        let network = subtree(&tlv(0x87, &[&[10, 0, 0, 0, 255, 0, 0, 0]]));
        one.name_constraints = Some((network, Vec::new()));
    }),
    ("constrains mail", |one| {
        one.name_constraints = Some((subtree(&tlv(0x81, &[b"example.com"])), Vec::new()));
    }),
    ("constrains URIs", |one| {
        one.name_constraints = Some((subtree(&tlv(0x86, &[b".example.com"])), Vec::new()));
    }),
    ("constrains directory names", |one| {
        one.name_constraints = Some((subtree(&directory_name("peer.example.com")), Vec::new()));
    }),
    ("named www.example.com", |one| one.names.extend(dns("www.example.com"))),
    ("named www.example.org", |one| one.names.extend(dns("www.example.org"))),
    ("named 10.1.2.3", |one| one.names.extend(tlv(0x87, &[&[10, 1, 2, 3]]))),
    ("named 11.1.2.3", |one| one.names.extend(tlv(0x87, &[&[11, 1, 2, 3]]))),
    ("named by mail", |one| one.names.extend(tlv(0x81, &[b"me@example.com"]))),
    ("named by URI", |one| one.names.extend(tlv(0x86, &[b"urn:me"]))),
    ("mail in the subject", |one| one.more_of_subject = mail_attribute("me@example.org")),
];

fn dns(name: &str) -> Vec<u8> {
    tlv(0x82, &[name.as_bytes()])
}

/// Who has the certificates of a chain.
const PLACES: usize = 6;

fn place(chain: &[Fields], place: usize, oddities: Vec<&'static str>, rng: &mut Rng) -> Case {
    let (peer, above) = (chain[0].clone(), chain[1..].to_vec());
    let root = above.last().cloned().unwrap_or_else(|| peer.clone());
    let middle: Vec<_> = above.iter().take(above.len().saturating_sub(1)).cloned().collect();
    let mut oddities = oddities;
    let (sent, trusted, how) = match place {
        0 => (middle, vec![root], "the peer sends the intermediates"),
        1 => (above.clone(), vec![root], "the peer sends the root as well"),
        2 => (Vec::new(), above, "the intermediates are trusted"),
        3 => (above, Vec::new(), "nothing is trusted"),
        4 => (middle.clone(), middle, "the intermediates are trusted, the root is not"),
        _ => {
            let mut sent = middle;
            sent.push(Fields::authority("unrelated", 8, "unrelated root", 7));
            rng.shuffle(&mut sent);
            (sent, vec![Fields::authority("other", 6, "other", 6), root], "in disorder, with others between")
        }
    };
    oddities.push(how);
    let purpose = if rng.bool() { Purpose::Client } else { Purpose::Server };
    Case { purpose, peer, sent, trusted, oddities }
}

/// Every change to every certificate of a short chain, alone.
pub fn single_changes(rng: &mut Rng) -> Vec<Case> {
    let mut all = Vec::new();
    for length in [2, 3] {
        for at in 0..length {
            for (name, change) in CHANGES {
                let mut chain = straight(length);
                change(&mut chain[at]);
                keep_consistent(&mut chain, at);
                for purpose in [Purpose::Client, Purpose::Server] {
                    let case = place(&chain, 0, vec![name], rng);
                    all.push(Case { purpose, ..case });
                }
            }
        }
    }
    all
}

/// Each name constraint above each name, in a chain of three certificates.
pub fn constrained_names(rng: &mut Rng) -> Vec<Case> {
    let is_constraint =
        |name: &str| ["permits ", "excludes ", "constrains "].iter().any(|start| name.starts_with(start));
    let is_name = |name: &str| name.starts_with("named ") || name == "mail in the subject";
    let mut all = Vec::new();
    for (constraint, constrain) in CHANGES.iter().filter(|(name, _)| is_constraint(name)) {
        for (named, name) in CHANGES.iter().filter(|(name, _)| is_name(name)) {
            for (below, above) in [(0, 1), (0, 2), (1, 2)] {
                let mut chain = straight(3);
                constrain(&mut chain[above]);
                name(&mut chain[below]);
                keep_consistent(&mut chain, below);
                all.push(place(&chain, 0, vec![constraint, named], rng));
            }
        }
    }
    all
}

/// A chain of any shape with up to three changes.
pub fn random(rng: &mut Rng) -> Case {
    let length = rng.usize(1..=5);
    let mut chain = straight(length);
    if rng.u8(..3) == 0 {
        for (at, one) in chain.iter_mut().enumerate() {
            let above = (at + 1).min(length - 1);
            one.key_ids = Some((at as u8, above as u8));
        }
    }
    let mut oddities = Vec::new();
    for _ in 0..rng.usize(..=3) {
        let (name, change) = *rng.choice(CHANGES).unwrap();
        let at = rng.usize(..length);
        if oddities.contains(&name) {
            continue;
        }
        change(&mut chain[at]);
        keep_consistent(&mut chain, at);
        oddities.push(name);
    }
    let at = rng.usize(..PLACES);
    let mut case = place(&chain, at, oddities, rng);
    match rng.u8(..8) {
        0 => pin(&mut case),
        1 if case.peer.issuer != case.peer.subject => cross_sign(&mut case, rng),
        2 => imitate(&mut case, rng),
        _ => {}
    }
    case
}

/// A self-signed certificate keeps its own name, and the certificate below has the whole name of
/// the one that was changed.
fn keep_consistent(chain: &mut [Fields], at: usize) {
    let more = chain[at].more_of_subject.clone();
    if at == chain.len() - 1 && chain[at].signer == at {
        chain[at].issuer = chain[at].subject.clone();
        chain[at].more_of_issuer = more.clone();
    }
    if at > 0 {
        chain[at - 1].more_of_issuer = more;
    }
}

/// The peer's own certificate is among the trusted ones.
fn pin(case: &mut Case) {
    case.trusted.insert(0, case.peer.clone());
    case.oddities.push("pinned");
}

/// The authority of the peer has a second certificate, by another root, which is trusted.
fn cross_sign(case: &mut Case, rng: &mut Rng) {
    let peer = &case.peer;
    case.sent.insert(
        rng.usize(..=case.sent.len()),
        Fields::authority(&peer.issuer, peer.signer, "cross root", 10),
    );
    case.trusted.push(Fields::authority("cross root", 10, "cross root", 10));
    case.oddities.push("cross-signed");
}

/// A trusted or a sent certificate has the name of the peer's authority, and another key.
fn imitate(case: &mut Case, rng: &mut Rng) {
    let name = case.peer.issuer.clone();
    if rng.bool() {
        case.sent.insert(0, Fields::authority(&name, 11, "cross root", 10));
        case.trusted.push(Fields::authority("cross root", 10, "cross root", 10));
    } else {
        case.trusted.insert(rng.usize(..=case.trusted.len()), Fields::authority(&name, 11, &name, 11));
    }
    case.oddities.push("same name, other key");
}

/// Chains of many intermediates.
pub fn deep(intermediates: usize, rng: &mut Rng) -> Case {
    let mut chain = straight(intermediates + 2);
    // There are fewer keys than certificates.
    for (at, one) in chain.iter_mut().enumerate() {
        one.key = at % 8;
        one.signer = (at + 1).min(intermediates + 1) % 8;
    }
    place(&chain, 0, vec!["deep"], rng)
}
