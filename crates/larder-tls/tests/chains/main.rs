//! Which chains are trusted, beside `openssl verify`: each field of a certificate, right and wrong,
//! in chains of every shape; and hostile chains.

mod attacks;
mod cases;
mod certificate;

use cases::Case;
use certificate::{Fields, NOW_S};
use fastrand::Rng;
use larder_testkit::{full_run, seed, temp_dir};
use larder_tls::pem::{StoredCertificate, TrustSettings};
use larder_tls::provider;
use larder_tls::verify::{Authorities, Purpose, verify};
use rustls::pki_types::{CertificateDer, UnixTime};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Random chains of a quick run, and of the full one.
const RANDOM: usize = 300;
const RANDOM_FULL: usize = 20_000;

/// A deliberate difference from OpenSSL.
struct Difference {
    /// The verdict of OpenSSL.
    openssl_trusts: bool,
    /// The oddity of a chain for which the verdicts differ.
    oddity: &'static str,
    /// Words of the row in docs/compatibility.md that explains it.
    row: &'static str,
}

const DIFFERENCES: &[Difference] = &[
    Difference { openssl_trusts: true, oddity: "version 1", row: "an authority of version 1" },
    Difference {
        openssl_trusts: true,
        oddity: "no basic constraints",
        row: "one without `basicConstraints`",
    },
    Difference {
        openssl_trusts: true,
        oddity: "the issuer's name in capitals",
        row: "Names of issuers are compared byte by byte",
    },
    Difference {
        openssl_trusts: true,
        oddity: "constrains directory names",
        row: "name constraints on directory names, mail addresses or URIs",
    },
    Difference {
        openssl_trusts: true,
        oddity: "constrains mail",
        row: "name constraints on directory names, mail addresses or URIs",
    },
    Difference {
        openssl_trusts: true,
        oddity: "constrains URIs",
        row: "name constraints on directory names, mail addresses or URIs",
    },
    // Of a pinned certificate.
    Difference {
        openssl_trusts: true,
        oddity: "damaged signature",
        row: "a pinned certificate's own signature",
    },
    Difference {
        openssl_trusts: true,
        oddity: "another issuer's key",
        row: "a pinned certificate's own signature",
    },
    Difference {
        openssl_trusts: false,
        oddity: "wrong key identifier",
        row: "Identifiers of keys are not compared",
    },
];

/// The certificates of a case, as DER.
struct Prepared {
    peer: CertificateDer<'static>,
    sent: Vec<CertificateDer<'static>>,
    trusted: Vec<CertificateDer<'static>>,
    purpose: Purpose,
}

impl Prepared {
    fn of(case: &Case) -> Prepared {
        // Signatures are random: one certificate is made once.
        let mut made = HashMap::new();
        let mut make = |fields: &Fields| {
            let der = made.entry(format!("{fields:?}")).or_insert_with(|| fields.der());
            CertificateDer::from(der.clone())
        };
        Prepared {
            peer: make(&case.peer),
            sent: case.sent.iter().map(&mut make).collect(),
            trusted: case.trusted.iter().map(&mut make).collect(),
            purpose: case.purpose,
        }
    }

    fn is_trusted(&self) -> bool {
        let settings = TrustSettings::default();
        let stored =
            self.trusted.iter().map(|der| StoredCertificate { der: der.clone(), settings: settings.clone() });
        let authorities = Authorities::new(stored.collect(), provider().signature_verification_algorithms);
        let now = UnixTime::since_unix_epoch(Duration::from_secs(NOW_S));
        verify(&authorities, &self.peer, &self.sent, self.purpose, now).is_ok()
    }

    /// Whether OpenSSL trusts the peer if it does not know one or two of the other certificates. It
    /// follows one path only, where several are possible, and that may be a wrong one.
    fn is_trusted_with_less(&self, dir: &Path) -> bool {
        let count = self.sent.len() + self.trusted.len();
        let without = |skipped: [usize; 2]| {
            let rest = |all: &[CertificateDer<'static>], first: usize| {
                let kept = all.iter().enumerate().filter(|(at, _)| !skipped.contains(&(at + first)));
                kept.map(|(_, one)| one.clone()).collect()
            };
            let (sent, trusted) = (rest(&self.sent, 0), rest(&self.trusted, self.sent.len()));
            Prepared { peer: self.peer.clone(), sent, trusted, purpose: self.purpose }.openssl(dir).0
        };
        (0..count).any(|first| (first..count).any(|second| without([first, second])))
    }

    /// The verdict of OpenSSL, and its reason.
    fn openssl(&self, dir: &Path) -> (bool, String) {
        let write = |file: &str, certificates: &[CertificateDer<'_>]| {
            let text: String = certificates.iter().map(|one| pem(one)).collect();
            fs::write(dir.join(file), text).unwrap();
        };
        write("peer.pem", std::slice::from_ref(&self.peer));
        write("sent.pem", &self.sent);
        // OpenSSL wants at least one.
        let nobody = CertificateDer::from(Fields::authority("nobody", 7, "nobody", 7).der());
        write("trusted.pem", &[&self.trusted[..], &[nobody]].concat());
        let purpose = match self.purpose {
            Purpose::Client => "sslclient",
            Purpose::Server => "sslserver",
        };
        let now = NOW_S.to_string();
        let mut command = Command::new("openssl");
        command.current_dir(dir).args(["verify", "-purpose", purpose, "-attime", &now, "-auth_level", "2"]);
        command.args(["-no-CApath", "-no-CAstore", "-CAfile", "trusted.pem"]);
        if !self.sent.is_empty() {
            command.args(["-untrusted", "sent.pem"]);
        }
        let output =
            command.arg("peer.pem").stdin(Stdio::null()).output().expect("there is an openssl command");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.success(), text)
    }
}

fn pem(der: &[u8]) -> String {
    use base64ct::{Base64, Encoding};
    let base64 = Base64::encode_string(der);
    let lines: Vec<&str> =
        base64.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

/// Compares the verdicts on all cases, and returns those that differ, with the reasons.
fn compare(cases: &[Case]) -> Vec<String> {
    let lanes = thread::available_parallelism().map_or(2, usize::from);
    let lane = |cases: &[Case]| {
        let dir = temp_dir();
        let differing: Vec<String> = cases.iter().filter_map(|case| compare_one(case, &dir)).collect();
        fs::remove_dir_all(dir).unwrap();
        differing
    };
    thread::scope(|scope| {
        let lanes: Vec<_> =
            cases.chunks(cases.len().div_ceil(lanes)).map(|part| scope.spawn(move || lane(part))).collect();
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    })
}

fn compare_one(case: &Case, dir: &Path) -> Option<String> {
    let prepared = Prepared::of(case);
    let (ours, (theirs, reason)) = (prepared.is_trusted(), prepared.openssl(dir));
    let is_wanted = |one: &Difference| one.openssl_trusts == theirs && case.oddities.contains(&one.oddity);
    if ours == theirs || DIFFERENCES.iter().any(is_wanted) || (ours && prepared.is_trusted_with_less(dir)) {
        return None;
    }
    let names = |all: &[Fields]| all.iter().map(|one| one.subject.clone()).collect::<Vec<_>>().join(", ");
    Some(format!(
        "{:?} {:?}: larder {ours}, openssl {theirs}; sent: {}; trusted: {}\n{reason}",
        case.purpose,
        case.oddities,
        names(&case.sent),
        names(&case.trusted)
    ))
}

#[test]
fn each_field_alone() {
    let seed = seed(1);
    let mut rng = Rng::with_seed(seed);
    let cases = [cases::single_changes(&mut rng), cases::constrained_names(&mut rng)].concat();
    let differing = compare(&cases);
    assert!(
        differing.is_empty(),
        "SEED={seed}: {} of {}\n{}",
        differing.len(),
        cases.len(),
        differing.join("\n")
    );
}

#[test]
fn chains_of_every_shape() {
    let seed = seed(2);
    let mut rng = Rng::with_seed(seed);
    let count = if full_run() { RANDOM_FULL } else { RANDOM };
    let mut cases: Vec<Case> = (0..count).map(|_| cases::random(&mut rng)).collect();
    cases.extend((0..=6).map(|intermediates| cases::deep(intermediates, &mut rng)));
    let differing = compare(&cases);
    assert!(differing.is_empty(), "SEED={seed}: {} of {count}\n{}", differing.len(), differing.join("\n"));
}

/// Each deliberate difference is explained to users.
#[test]
fn differences_are_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compatibility.md");
    let text = fs::read_to_string(path).unwrap();
    for one in DIFFERENCES {
        assert!(text.contains(one.row), "{}: no row has the words {:?}", one.oddity, one.row);
    }
}
