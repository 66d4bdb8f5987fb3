//! docs/security.md: its shell blocks run in order, in one folder, and its last lines find the server that it configures.

use super::cli;
use larder_testkit::{Kind, Port, temp_dir};
use std::process::{Command, Stdio};

/// The blocks of a language in the document.
fn blocks(language: &str) -> Vec<String> {
    let path = format!("{}/../../docs/security.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let fence = format!("```{language}\n");
    let parts: Vec<&str> = text.split(fence.as_str()).skip(1).collect();
    parts.iter().filter_map(|part| part.split_once("```")).map(|(block, _)| block.to_owned()).collect()
}

/// Ends the server that a block has started.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn shell(dir: &std::path::Path, block: &str, port: &str) -> String {
    let block = block.replace("6380", port);
    let output =
        Command::new("sh").arg("-euc").arg(&block).current_dir(dir).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{block}\n{text}");
    text
}

#[test]
fn what_the_document_says_works() {
    let dir = temp_dir();
    let port = Port::reserve();
    let number = port.number().to_string();
    let [configuration] = &blocks("conf")[..] else { panic!("there is one configuration") };
    let steps = blocks("sh");
    let [making, asking, user, renewing] = &steps[..] else {
        panic!("there are four blocks, not {}", steps.len())
    };
    shell(&dir, making, &number);
    std::fs::write(dir.join("larder.conf"), configuration.replace("6380", &number)).unwrap();
    let log = std::fs::File::create(dir.join("log")).unwrap();
    let child = Command::new(Kind::Larder.program())
        .arg("larder.conf")
        .current_dir(&dir)
        .stdout(log)
        .spawn()
        .unwrap();
    let running = Running(child);
    super::wait_until("the server starts", || {
        cli("redis-cli", &["-p", &number, "PING"])
            != format!("Could not connect to Redis at 127.0.0.1:{number}: Connection refused")
    });
    assert!(shell(&dir, asking, &number).contains("PONG"));
    assert!(shell(&dir, user, &number).contains("app"));
    assert!(shell(&dir, renewing, &number).contains("OK"));
    drop(running);
    std::fs::remove_dir_all(dir).unwrap();
}
