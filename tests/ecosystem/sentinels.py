"""A group under Sentinels: three servers (REDIS_PROGRAM) and three Sentinels of Redis on free ports.

As a program it prints {"sentinels": [port], "servers": {port: pid}}, and ends all of them when its input ends.
"""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

NAME = "mymaster"


def ask(port, *words):
    """The reply to a command as text; nothing if there is none."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            command = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
            connection.sendall(f"*{len(words)}\r\n{command}".encode())
            return connection.recv(1 << 16).decode(errors="replace")
    except OSError:
        return ""


def wait(condition, seconds=40):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the group does not come up")
        time.sleep(0.05)


class Group:
    """The processes end with `end`."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sentinels-"))
        self.processes = {}
        self.servers, self.sentinels = [], []
        for _ in range(3):
            follow = f"replicaof 127.0.0.1 {self.servers[0]}\n" if self.servers else ""
            self.servers.append(self.start([os.environ["REDIS_PROGRAM"]], f"repl-diskless-sync-delay 0\n{follow}", []))
        text = (f"sentinel monitor {NAME} 127.0.0.1 {self.servers[0]} 2\n"
                f"sentinel down-after-milliseconds {NAME} 2000\nsentinel failover-timeout {NAME} 20000\n")
        for _ in range(3):
            self.sentinels.append(self.start(["redis-server"], text, ["--sentinel"]))
        for port in self.sentinels:
            wait(lambda port=port: all(
                f"{field}\r\n$1\r\n2\r\n" in ask(port, "SENTINEL", "MASTER", NAME)
                for field in ("num-slaves", "num-other-sentinels")))

    def start(self, program, text, arguments):
        """Starts a process with a configuration file of its own; returns its port."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        directory = self.folder / str(port)
        directory.mkdir()
        file = directory / "conf"
        file.write_text(f"port {port}\nbind 127.0.0.1\ndir {directory}\n{text}")
        with open(directory / "log", "wb") as log:
            self.processes[port] = subprocess.Popen([*program, file, *arguments], stdout=log, stderr=log)
        wait(lambda: ask(port, "PING").startswith("+PONG"))
        return port

    def kill(self, port):
        self.processes[port].kill()
        self.processes[port].wait()

    def end(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    group = Group()
    try:
        pids = {port: group.processes[port].pid for port in group.servers}
        print(json.dumps({"sentinels": group.sentinels, "servers": pids}), flush=True)
        sys.stdin.read()
    finally:
        group.end()


if __name__ == "__main__":
    main()
