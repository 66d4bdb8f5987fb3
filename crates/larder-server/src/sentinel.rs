//! Starts Sentinel in place of the server, for `FILE --sentinel` and under a name that ends in `-sentinel`.
//!
//! Larder has no Sentinel of its own: those of Valkey and Redis monitor it. Charts and operators start Sentinel from the
//! server's program, so the server passes its arguments to the Sentinel that is installed.
//!
//! Tested by `tests/image.rs`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The programs that are Sentinel, in the order of preference.
const PROGRAMS: [&str; 2] = ["valkey-sentinel", "redis-sentinel"];
/// Set for the program that is started: a script of that name that starts the server again would never end.
const STARTED: &str = "LARDER_SENTINEL";

/// Whether the words of a command line, the program's name first, start Sentinel.
pub fn is_asked_for(words: &[OsString]) -> bool {
    let name = words.first().and_then(|name| Path::new(name).file_name());
    name.is_some_and(|name| name.as_encoded_bytes().ends_with(b"-sentinel"))
        || words.iter().skip(1).any(|word| word == "--sentinel")
}

/// Replaces this process by Sentinel, with the same arguments. Returns only if that fails.
pub fn run(words: &[OsString]) -> ExitCode {
    let path = env::var_os("PATH").unwrap_or_default();
    let Some(program) = installed(&path).filter(|_| env::var_os(STARTED).is_none()) else {
        eprintln!(
            "Larder has no Sentinel of its own, and neither valkey-sentinel nor redis-sentinel is in PATH. \
             Install one of them: it monitors Larder."
        );
        return ExitCode::FAILURE;
    };
    let error = Command::new(&program).args(words.iter().skip(1)).env(STARTED, "1").exec();
    eprintln!("Can't start {}: {}", program.display(), reason(&error));
    ExitCode::FAILURE
}

/// The first Sentinel in the folders of `path` that is not this program under another name.
fn installed(path: &OsStr) -> Option<PathBuf> {
    let own = env::current_exe().and_then(fs::canonicalize).ok();
    let candidates =
        PROGRAMS.iter().flat_map(|name| env::split_paths(path).map(move |folder| folder.join(name)));
    candidates.into_iter().find(|program| {
        let is_program =
            fs::metadata(program).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
        is_program && fs::canonicalize(program).ok() != own
    })
}

fn reason(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "its interpreter or a library is missing".to_owned(),
        _ => crate::settings::system_text(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_arguments_ask_for_it() {
        let asks = |words: &[&str]| is_asked_for(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert!(asks(&["valkey-server", "/data/s.conf", "--sentinel"]));
        assert!(asks(&["/usr/local/bin/redis-sentinel", "s.conf"]));
        assert!(!asks(&["valkey-server", "sentinel.conf"]));
        assert!(!asks(&["/opt/x-sentinel/larder-server"]));
        assert!(!asks(&[]));
    }
}
