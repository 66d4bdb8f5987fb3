//! Templates of heavy commands as the bytes that are sent, with what only the server knows.

use super::answer::Request;
use crate::resp;
use crate::rows::template::{Commands, scaled};
use crate::session::Session;
use std::io;

/// What a server is asked about itself.
pub trait Knows {
    /// The payload of a key.
    fn dump(&mut self, key: &str) -> io::Result<Vec<u8>>;
    /// Bytes in use.
    fn used_memory(&mut self) -> io::Result<u64>;
}

impl Knows for Session {
    fn dump(&mut self, key: &str) -> io::Result<Vec<u8>> {
        Ok(self.ask(&format!("DUMP {key}"))?.bytes().to_vec())
    }

    fn used_memory(&mut self) -> io::Result<u64> {
        let used = self.info_of("memory", "used_memory")?;
        used.ok_or_else(|| io::Error::other("INFO does not say how much memory is in use"))
    }
}

/// Writes the commands of a template, which are separated by ` | `. Besides the places of `rows::template` there are words that stand for
/// what the server knows: `{dump:KEY}` for the payload of a key, `{below:N}` for the bytes that are in use less N by the scale.
pub fn request(template: &str, scale: f64, server: &mut dyn Knows) -> io::Result<Request> {
    let mut request = Request::default();
    for command in template.split(" | ") {
        let asked = |word: &str| word.starts_with("{dump:") || word.starts_with("{below:");
        if command.split_whitespace().any(asked) {
            ask(command, scale, server, &mut request.bytes)?;
        } else {
            Commands::new(command, scale).map_err(io::Error::other)?.write(&mut request.bytes);
        }
        request.replies += 1;
    }
    Ok(request)
}

/// Writes a command that has one of the words above; its others have no places.
fn ask(command: &str, scale: f64, server: &mut dyn Knows, out: &mut Vec<u8>) -> io::Result<()> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    for word in command.split_whitespace() {
        let place = word.strip_prefix('{').and_then(|word| word.strip_suffix('}')?.split_once(':'));
        words.push(match place {
            Some(("dump", key)) => server.dump(key)?,
            Some(("below", bytes)) => {
                let bytes: u64 = bytes.parse().map_err(io::Error::other)?;
                server.used_memory()?.saturating_sub(scaled(bytes, scale)).to_string().into_bytes()
            }
            _ => word.as_bytes().to_vec(),
        });
    }
    resp::command(out, &words.iter().map(Vec::as_slice).collect::<Vec<_>>());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Server;

    impl Knows for Server {
        fn dump(&mut self, key: &str) -> io::Result<Vec<u8>> {
            Ok(format!("payload of {key}\r\n").into_bytes())
        }

        fn used_memory(&mut self) -> io::Result<u64> {
            Ok(5_000_000)
        }
    }

    fn written(template: &str) -> (String, usize) {
        let request = request(template, 0.5, &mut Server).expect("the template is right");
        (String::from_utf8(request.bytes).expect("it is text"), request.replies)
    }

    #[test]
    fn commands_are_sent_together() {
        let (bytes, replies) = written("MULTI | LPOP list {n:4000} | EXEC");
        assert_eq!(
            bytes,
            "*1\r\n$5\r\nMULTI\r\n*3\r\n$4\r\nLPOP\r\n$4\r\nlist\r\n$4\r\n2000\r\n*1\r\n$4\r\nEXEC\r\n"
        );
        assert_eq!(replies, 3);
    }

    #[test]
    fn the_server_is_asked() {
        let (bytes, _) = written("RESTORE k 0 {dump:a}");
        assert_eq!(bytes, "*4\r\n$7\r\nRESTORE\r\n$1\r\nk\r\n$1\r\n0\r\n$14\r\npayload of a\r\n\r\n");
        let (bytes, _) = written("CONFIG SET maxmemory {below:2000000}");
        assert!(bytes.ends_with("$7\r\n4000000\r\n"), "{bytes}");
        assert!(
            request("X {below:x}", 1.0, &mut Server).is_err() && request("X {x}", 1.0, &mut Server).is_err()
        );
    }
}
