//! What the supervisor of the process is told (`supervised`), and what `ps` shows of it (`proc-title-template`).

use crate::log::Log;
use crate::sys;
use larder_engine::config::{Config, Supervised};
use std::env;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::OnceLock;

/// Who supervises the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supervisor {
    /// Nobody.
    None,
    /// systemd, by messages to the socket that it names.
    Systemd,
    /// upstart: the process stops itself once it is ready.
    Upstart,
}

impl Supervisor {
    /// As configured; what is asked for and is not there is logged.
    pub fn of(config: &Config, log: &Log) -> Supervisor {
        let (systemd, upstart) = (has("NOTIFY_SOCKET"), has("UPSTART_JOB"));
        match config.choice("supervised") {
            Supervised::Systemd | Supervised::Auto if systemd => Supervisor::Systemd,
            Supervised::Upstart | Supervised::Auto if upstart => Supervisor::Upstart,
            Supervised::Systemd => {
                log.warning("systemd supervision requested or auto-detected, but NOTIFY_SOCKET is not set!");
                Supervisor::None
            }
            Supervised::Upstart => {
                log.warning("upstart supervision requested, but UPSTART_JOB not found!");
                Supervisor::None
            }
            Supervised::Auto | Supervised::No => Supervisor::None,
        }
    }

    /// The server is ready to serve.
    pub fn ready(self, log: &Log) {
        match self {
            Supervisor::None => {}
            Supervisor::Systemd => notify("STATUS=Ready to accept connections\nREADY=1\n", log),
            Supervisor::Upstart => {
                log.notice("supervised by upstart, will stop to signal readiness");
                sys::stop_self();
            }
        }
    }

    /// The server does something that takes a while, or ends.
    pub fn tell(self, status: &str, log: &Log) {
        if self == Supervisor::Systemd {
            notify(&format!("{status}\n"), log);
        }
    }
}

fn has(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty())
}

/// A message in systemd's protocol.
fn notify(text: &str, log: &Log) {
    let send = || -> io::Result<()> {
        let name = env::var("NOTIFY_SOCKET").map_err(io::Error::other)?;
        let address = match name.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(&name)?,
        };
        UnixDatagram::unbound()?.send_to_addr(text.as_bytes(), &address).map(drop)
    };
    if let Err(error) = send() {
        log.warning(&format!("systemd supervision error: {}", crate::settings::system_text(&error)));
    }
}

/// The name under which the process was started.
static NAME: OnceLock<String> = OnceLock::new();

/// Notes the name under which the process was started. To be called before a title is shown, which takes its place in memory.
pub fn note_name() {
    let name = env::args_os().next().map(|name| name.to_string_lossy().into_owned());
    NAME.get_or_init(|| name.unwrap_or_else(|| "larder-server".to_owned()));
}

/// Shows the process under the title that the configuration describes.
pub fn show_title(config: &Config, config_file: &str) {
    if config.is_yes("set-proc-title") {
        sys::title::set(&title(config, config_file));
    }
}

fn title(config: &Config, config_file: &str) -> String {
    let socket = config.value("unixsocket");
    let first_port = config.first_port().to_string();
    let bind = config.value("bind");
    let address = match bind.split(' ').next().unwrap_or_default() {
        _ if first_port == "0" => socket.clone(),
        "" => format!("*:{first_port}"),
        first => format!("{}:{first_port}", first.trim_start_matches('-')),
    };
    let mut title = config.value("proc-title-template");
    let variables = [
        ("{title}", NAME.get().map_or("larder-server", String::as_str)),
        ("{listen-addr}", &address),
        ("{server-mode}", if config.is_yes("cluster-enabled") { "[cluster]" } else { "" }),
        ("{port}", &config.value("port")),
        ("{tls-port}", &config.value("tls-port")),
        ("{unixsocket}", &socket),
        ("{config-file}", config_file),
    ];
    for (name, value) in variables {
        title = title.replace(name, value);
    }
    title.trim_end().to_owned()
}
