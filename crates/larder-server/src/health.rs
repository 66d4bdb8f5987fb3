//! `--health`: asks a running server whether it is alive, for health checks in images that have no shell.
//!
//! A server that answers anything is alive: one that loads its data, waits for its primary, is busy with a script or
//! asks for a password must not be restarted for that. With `--ready` only `PONG` counts.
//!
//! Tested by `tests/health.rs`.

use crate::peer;
use crate::settings::{self, SettingsError};
use crate::tls::{Active, Options, TlsError};
use larder_engine::config::Config;
use larder_resp::encode_command;
use larder_tls::PeerLink;
use lexopt::prelude::*;
use std::env;
use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// `--health --help`.
pub const USAGE: &str = "\
Usage: larder-server --health [options] [/path/to/larder.conf]

Asks the server on this machine whether it is alive, and prints one line. Exits with 0 if it is, with 1 otherwise.
A configuration file supplies the address, TLS settings and password; the options below override it.

  -h HOST          host name or address of the server [default: 127.0.0.1]
  -p PORT          port of the server [default: 6379]
  -s PATH          Unix socket of the server
      --user NAME  user to log in as, with the password in LARDERCLI_AUTH, VALKEYCLI_AUTH or REDISCLI_AUTH
      --ready      also fail while the server loads data, waits for its primary, is busy, or requires a password
      --timeout S  seconds to wait for the connection and for each reply [default: 5]
      --help       show this help
";

/// Variables that hold the password, in the order of preference.
const PASSWORDS: [&str; 3] = ["LARDERCLI_AUTH", "VALKEYCLI_AUTH", "REDISCLI_AUTH"];
/// No reply that is expected is longer.
const LINE_BYTES_MAX: u64 = 64 << 10;
const PORT: u16 = 6379;
const TIMEOUT: Duration = Duration::from_secs(5);

/// Why the server is not healthy, or could not be asked. Shown is a line for standard error.
#[derive(Debug)]
enum Unhealthy {
    Arguments(lexopt::Error),
    Settings(SettingsError),
    Tls(TlsError),
    /// No connection to this address.
    NotConnected(String),
    /// The connection ended, or no reply came in time.
    NoReply(io::Error),
    /// The reply is not one that counts.
    Reply(String),
}

impl fmt::Display for Unhealthy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unhealthy::Arguments(error) => write!(f, "{error}; see larder-server --health --help"),
            Unhealthy::Settings(error) => write!(f, "{}", error.to_string().trim()),
            Unhealthy::Tls(error) => write!(f, "{error}"),
            Unhealthy::NotConnected(address) => write!(f, "could not connect to {address}"),
            Unhealthy::NoReply(error) if error.kind() == ErrorKind::WouldBlock => {
                write!(f, "no reply in time")
            }
            Unhealthy::NoReply(error) => write!(f, "no reply: {}", settings::system_text(error)),
            Unhealthy::Reply(text) => write!(f, "not ready: {text}"),
        }
    }
}

impl std::error::Error for Unhealthy {}

/// What to ask, and how.
#[derive(Default)]
struct Check {
    host: Option<String>,
    port: Option<u16>,
    socket: Option<PathBuf>,
    user: Option<String>,
    file: Option<String>,
    needs_ready: bool,
    timeout: Option<Duration>,
    help: bool,
}

/// Where the server listens.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Tcp { host: String, port: u16, tls: bool },
    Unix(PathBuf),
}

/// Runs the check that the words after `--health` describe.
pub fn main(words: &[String]) -> ExitCode {
    match Check::parse(words) {
        Ok(check) if check.help => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(check) => match check.run() {
            Ok(line) => {
                println!("{line}");
                ExitCode::SUCCESS
            }
            Err(error) => fail(&error),
        },
        Err(error) => fail(&Unhealthy::Arguments(error)),
    }
}

fn fail(error: &Unhealthy) -> ExitCode {
    eprintln!("larder-server --health: {error}");
    ExitCode::FAILURE
}

impl Check {
    fn parse(words: &[String]) -> Result<Check, lexopt::Error> {
        let mut check = Check::default();
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(word) = parser.next()? {
            match word {
                Short('h') => check.host = Some(parser.value()?.string()?),
                Short('p') => check.port = Some(parser.value()?.parse()?),
                Short('s') => check.socket = Some(parser.value()?.into()),
                Long("user") => check.user = Some(parser.value()?.string()?),
                Long("ready") => check.needs_ready = true,
                Long("timeout") => check.timeout = Some(seconds(&mut parser)?),
                Long("help") => check.help = true,
                Value(path) if check.file.is_none() => check.file = Some(path.string()?),
                other => return Err(other.unexpected()),
            }
        }
        Ok(check)
    }

    /// Asks the server. Returns the line that says how it is.
    fn run(&self) -> Result<String, Unhealthy> {
        let config = settings::options(self.file.as_deref()).map_err(Unhealthy::Settings)?;
        let reply = match self.place(&config) {
            Place::Unix(path) => self.ask(self.unix(&path)?, &config)?,
            Place::Tcp { host, port, tls } => {
                // Paths of certificates are relative to the server's directory.
                let tls = tls.then(|| client_tls(&config)).transpose()?;
                self.ask(self.tcp(&host, port, tls)?, &config)?
            }
        };
        match reply.strip_prefix('+') {
            Some(pong) => Ok(pong.to_owned()),
            None if self.needs_ready => Err(Unhealthy::Reply(reply)),
            None => Ok(format!("alive: {reply}")),
        }
    }

    fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(TIMEOUT)
    }

    /// The address: of the options, else of the configuration file.
    fn place(&self, config: &Config) -> Place {
        let number = |name: &str| config.number(name) as u16;
        let host = || self.host.clone().unwrap_or_else(|| local_address(&config.value("bind")));
        let socket = config.value("unixsocket");
        match (&self.socket, self.port) {
            (Some(path), _) => Place::Unix(path.clone()),
            (None, Some(port)) => {
                Place::Tcp { host: host(), port, tls: port != 0 && port == number("tls-port") }
            }
            (None, None) if number("port") != 0 => {
                Place::Tcp { host: host(), port: number("port"), tls: false }
            }
            (None, None) if !socket.is_empty() && self.host.is_none() => Place::Unix(socket.into()),
            (None, None) if number("tls-port") != 0 => {
                Place::Tcp { host: host(), port: number("tls-port"), tls: true }
            }
            (None, None) => Place::Tcp { host: host(), port: PORT, tls: false },
        }
    }

    fn unix(&self, path: &PathBuf) -> Result<UnixStream, Unhealthy> {
        let connect = || -> io::Result<UnixStream> {
            let socket = UnixStream::connect(path)?;
            socket.set_read_timeout(Some(self.timeout()))?;
            socket.set_write_timeout(Some(self.timeout()))?;
            Ok(socket)
        };
        connect().map_err(|_| Unhealthy::NotConnected(path.display().to_string()))
    }

    fn tcp(
        &self,
        host: &str,
        port: u16,
        tls: Option<Arc<rustls::ClientConfig>>,
    ) -> Result<PeerLink, Unhealthy> {
        let address = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        peer::connect(&address, self.timeout(), tls).map_err(|_| Unhealthy::NotConnected(address))
    }

    /// Logs in, if there is a password, and sends PING. Returns the reply that says most: the error of the login, if PING
    /// is refused for want of one.
    fn ask(&self, mut link: impl Link, config: &Config) -> Result<String, Unhealthy> {
        let login = self.login(config);
        let mut request = Vec::new();
        if let Some(words) = &login {
            encode_command(&mut request, words.iter().map(String::as_bytes));
        }
        encode_command(&mut request, [&b"PING"[..]].into_iter());
        link.send(&request).map_err(Unhealthy::NoReply)?;
        let mut replies = BufReader::new(link);
        let first = line(&mut replies).map_err(Unhealthy::NoReply)?;
        if login.is_none() {
            return Ok(first);
        }
        // A server that refuses the connection says so once, and ends it.
        let Ok(second) = line(&mut replies) else { return Ok(first) };
        Ok(if second.starts_with("-NOAUTH") { first } else { second })
    }

    /// The words of AUTH.
    fn login(&self, config: &Config) -> Option<Vec<String>> {
        let given = PASSWORDS.iter().find_map(|name| env::var(name).ok());
        let given = given.map(|text| text.trim_end_matches(['\r', '\n']).to_owned());
        let password = given.or_else(|| Some(config.value("requirepass"))).filter(|text| !text.is_empty())?;
        let words = ["AUTH".to_owned()].into_iter().chain(self.user.clone()).chain([password]);
        Some(words.collect())
    }
}

/// A connection that is used once.
trait Link: Read {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;
}

impl Link for PeerLink {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }
}

impl Link for UnixStream {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }
}

fn seconds(parser: &mut lexopt::Parser) -> Result<Duration, lexopt::Error> {
    parser.value()?.parse_with(|text| {
        let seconds = text.parse::<f64>().ok().and_then(|number| Duration::try_from_secs_f64(number).ok());
        seconds.filter(|timeout| !timeout.is_zero()).ok_or("a number of seconds above 0 is needed")
    })
}

/// The configuration of a client of a server with these options.
fn client_tls(config: &Config) -> Result<Arc<rustls::ClientConfig>, Unhealthy> {
    settings::enter_dir(config)
        .map_err(|error| Unhealthy::Settings(SettingsError::Dir(config.value("dir"), error)))?;
    let active = Active::build(&Options::of(config)).map_err(Unhealthy::Tls)?;
    Ok(Arc::clone(active.client()))
}

/// An address on which a server that listens on `bind` is reached from the same machine.
fn local_address(bind: &str) -> String {
    let mut addresses = bind.split_whitespace().map(|address| address.trim_start_matches('-'));
    match addresses.next() {
        None | Some("*" | "0.0.0.0" | "localhost") => "127.0.0.1".to_owned(),
        Some("::*" | "::") => "::1".to_owned(),
        Some(address) => address.to_owned(),
    }
}

/// A reply of one line: a status or an error.
fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    from.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    let text = String::from_utf8_lossy(&line);
    match text.strip_suffix("\r\n") {
        Some(reply) if reply.starts_with(['+', '-']) => Ok(reply.to_owned()),
        None if text.is_empty() => Err(ErrorKind::UnexpectedEof.into()),
        _ => Err(io::Error::other("the server does not speak the Redis protocol")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(words: &[&str], options: &[(&[u8], &[u8])]) -> Place {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let config = Config::new(1);
        config.set_for(options, true, |_, _| Ok(())).expect("options");
        Check::parse(&words).expect("arguments").place(&config)
    }

    fn tcp(host: &str, port: u16, tls: bool) -> Place {
        Place::Tcp { host: host.to_owned(), port, tls }
    }

    #[test]
    fn the_address_is_found() {
        assert_eq!(place(&[], &[]), tcp("127.0.0.1", 6379, false));
        assert_eq!(place(&["-h", "::1", "-p", "7000"], &[]), tcp("::1", 7000, false));
        assert_eq!(place(&["-s", "/s"], &[]), Place::Unix("/s".into()));
        assert_eq!(place(&[], &[(b"port", b"7001")]), tcp("127.0.0.1", 7001, false));
        let tls: &[(&[u8], &[u8])] = &[(b"port", b"0"), (b"tls-port", b"7002"), (b"bind", b"10.0.0.1 ::1")];
        assert_eq!(place(&[], tls), tcp("10.0.0.1", 7002, true));
        assert_eq!(place(&["-p", "7002"], tls), tcp("10.0.0.1", 7002, true));
        assert_eq!(local_address("-::* *"), "::1");
    }

    #[test]
    fn arguments_are_checked() {
        for words in
            [&["-p", "x"][..], &["-p"], &["--timeout", "0"], &["--timeout", "-1"], &["a", "b"], &["-x"]]
        {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            assert!(Check::parse(&words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn replies_are_lines_of_the_protocol() {
        let read = |bytes: &[u8]| line(&mut BufReader::new(bytes));
        assert_eq!(read(b"+PONG\r\n+x").unwrap(), "+PONG");
        for bad in [&b""[..], b"HTTP/1.1 400\r\n", b"+PO", b"+PONG\n", b"\xff\r\n"] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
