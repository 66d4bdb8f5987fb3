//! Certificates, made for each test by the `openssl` command.

use crate::{Port, temp_dir};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Who vouches for the others, in a folder of its own that goes with it.
pub struct Authority {
    dir: PathBuf,
}

/// The files of a certificate and of its key.
#[derive(Clone)]
pub struct Identity {
    /// The path of the certificate.
    pub certificate: String,
    /// The path of the private key.
    pub key: String,
}

/// Extensions of a certificate that is good for everything here.
pub const COMMON: &str = "basicConstraints=CA:FALSE\nsubjectAltName=DNS:localhost,IP:127.0.0.1";

/// Runs openssl in a folder.
pub fn openssl(dir: &Path, args: &[&str]) {
    let output = Command::new("openssl").current_dir(dir).args(args).stdin(Stdio::null()).output();
    let output = output.expect("there is an openssl command");
    assert!(output.status.success(), "openssl {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The options with which a server of any kind speaks TLS on a port; clients must show a certificate if it `asks` ("yes", "no" or "optional").
pub fn server_options(port: &Port, authority: &Authority, identity: &Identity, asks: &str) -> Vec<String> {
    let options = [
        ["--tls-port", &port.number().to_string()],
        ["--tls-cert-file", &identity.certificate],
        ["--tls-key-file", &identity.key],
        ["--tls-ca-cert-file", &authority.certificate()],
        ["--tls-auth-clients", asks],
    ];
    options.as_flattened().iter().map(|&word| word.to_owned()).collect()
}

impl Authority {
    /// A new one, with a key of its own.
    pub fn new(name: &str) -> Authority {
        let dir = temp_dir();
        openssl(&dir, &["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "ca.key"]);
        let subject = format!("/O=Larder/CN={name}");
        openssl(
            &dir,
            &["req", "-x509", "-new", "-key", "ca.key", "-days", "30", "-subj", &subject, "-out", "ca.crt"],
        );
        Authority { dir }
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The path of a file in the folder.
    pub fn path(&self, file: &str) -> String {
        self.dir.join(file).to_string_lossy().into_owned()
    }

    /// The path of its certificate.
    pub fn certificate(&self) -> String {
        self.path("ca.crt")
    }

    /// A new certificate for a name.
    pub fn issue(&self, name: &str) -> Identity {
        self.issue_with(name, Some(COMMON), "20")
    }

    /// The same with these extensions; without any it is of version 1.
    pub fn issue_with(&self, name: &str, extensions: Option<&str>, days: &str) -> Identity {
        self.sign("ca", name, extensions, days)
    }

    /// Issues a certificate for a name, signed with the key of another certificate of the folder: "ca", or a name that
    /// was issued before.
    pub fn issue_by(&self, issuer: &str, name: &str, extensions: Option<&str>) -> Identity {
        self.sign(issuer, name, extensions, "20")
    }

    fn sign(&self, issuer: &str, name: &str, extensions: Option<&str>, days: &str) -> Identity {
        let key = self.request(name);
        let identity = self.sign_request(issuer, name, extensions, &["-days", days]);
        Identity { key: self.path(&key), ..identity }
    }

    /// Signs the request `name.csr`, which another program has made for the key `name.key`, with more options.
    pub fn sign_request(
        &self,
        issuer: &str,
        name: &str,
        extensions: Option<&str>,
        options: &[&str],
    ) -> Identity {
        let [request, certificate, file] = ["csr", "crt", "ext"].map(|end| format!("{name}.{end}"));
        let [issuer, issuer_key] = ["crt", "key"].map(|end| format!("{issuer}.{end}"));
        let mut args =
            vec!["x509", "-req", "-in", &request, "-CA", &issuer, "-CAkey", &issuer_key, "-CAcreateserial"];
        args.extend(options);
        args.extend(["-out", &certificate]);
        if let Some(extensions) = extensions {
            fs::write(self.dir.join(&file), extensions).expect("the folder is writable");
            args.extend(["-extfile", &file]);
        }
        openssl(&self.dir, &args);
        Identity { certificate: self.path(&certificate), key: self.path(&format!("{name}.key")) }
    }

    /// A new certificate for a name, with an RSA key.
    pub fn issue_rsa(&self, name: &str) -> Identity {
        self.issue_of_kind("ca", name, "RSA", &[])
    }

    /// Issues a certificate for a name, with an RSA key of 2,048 bits that is for one `algorithm` ("RSA" or "RSA-PSS"), and
    /// with more options for signing it.
    pub fn issue_of_kind(&self, issuer: &str, name: &str, algorithm: &str, options: &[&str]) -> Identity {
        let (key, request, subject) = (format!("{name}.key"), format!("{name}.csr"), format!("/CN={name}"));
        let kind = ["-algorithm", algorithm, "-pkeyopt", "rsa_keygen_bits:2048"];
        openssl(&self.dir, &[&["genpkey", "-out", &key], &kind[..]].concat());
        openssl(&self.dir, &["req", "-new", "-key", &key, "-subj", &subject, "-out", &request]);
        self.sign_request(issuer, name, Some(COMMON), options)
    }

    /// Writes certificates of the folder, given by their names, into one file, and returns its path.
    pub fn bundle(&self, file: &str, names: &[&str]) -> String {
        let read = |name: &&str| fs::read(self.dir.join(format!("{name}.crt"))).expect("it was issued");
        let all: Vec<u8> = names.iter().flat_map(read).collect();
        fs::write(self.dir.join(file), all).expect("the folder is writable");
        self.path(file)
    }

    /// A certificate that was in force for a day in 2020.
    pub fn issue_expired(&self, name: &str) -> Identity {
        const CONFIG: &str = "[ca]\ndefault_ca=own\n[own]\ndatabase=index\nserial=own.serial\nnew_certs_dir=.\n\
            default_md=sha256\npolicy=any\n[any]\ncommonName=optional\norganizationName=optional\n";
        for (file, text) in [("ca.cnf", CONFIG), ("index", "")] {
            fs::write(self.dir.join(file), text).expect("the folder is writable");
        }
        let key = self.request(name);
        let (request, certificate) = (format!("{name}.csr"), format!("{name}.crt"));
        let args = ["ca", "-batch", "-notext", "-config", "ca.cnf", "-cert", "ca.crt", "-keyfile", "ca.key"];
        let dates = ["-create_serial", "-startdate", "200101000000Z", "-enddate", "200102000000Z"];
        openssl(&self.dir, &[&args[..], &dates, &["-in", &request, "-out", &certificate]].concat());
        Identity { certificate: self.path(&certificate), key: self.path(&key) }
    }

    /// A new key, and the request for a certificate; the key's file.
    fn request(&self, name: &str) -> String {
        let (key, request) = (format!("{name}.key"), format!("{name}.csr"));
        openssl(&self.dir, &["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", &key]);
        let subject = format!("/O=Larder/CN={name}");
        openssl(&self.dir, &["req", "-new", "-key", &key, "-subj", &subject, "-out", &request]);
        key
    }

    /// A certificate that vouches for itself.
    pub fn self_signed(&self, name: &str) -> Identity {
        self.self_signed_with(name, &[])
    }

    /// The same with more options of `openssl req`, for example `-addext` and an extension.
    pub fn self_signed_with(&self, name: &str, options: &[&str]) -> Identity {
        let [key, certificate] = ["key", "crt"].map(|end| format!("{name}.{end}"));
        openssl(&self.dir, &["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", &key]);
        let subject = format!("/O=Larder/CN={name}");
        let args =
            ["req", "-x509", "-new", "-key", &key, "-days", "9", "-subj", &subject, "-out", &certificate];
        openssl(&self.dir, &[&args[..], options].concat());
        Identity { certificate: self.path(&certificate), key: self.path(&key) }
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}
