"""Servers for the console to show: one with data of every type and a replica, and a small cluster."""

import random
import shutil
import socket
import subprocess
import tempfile
import time

from browser import Failed

HOSTILE = [
    b"<img src=x onerror=alert(1)>",
    b"<script>alert(2)</script>",
    b"\"><svg onload=alert(3)>",
    b"'; alert(4); //",
    b"\xff\xfe\x00binary",
    "right\u202eleft".encode(),
    b"line\nbreak\tand\x1b[31m",
    b"__proto__",
    b"",
]
SECONDS_MAX = 30


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Client:
    """Sends commands; errors end the run."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.replies = self.socket.makefile("rb")

    def send_all(self, commands):
        """Commands that are answered by a status or a number."""
        self.socket.sendall(b"".join(map(self.request, commands)))
        for command in commands:
            reply = self.replies.readline()
            if reply[:1] not in b"+:":
                raise Failed(f"{command}: {reply}")

    def ask(self, *command):
        """A command that is answered by a string."""
        self.socket.sendall(self.request(command))
        head = self.replies.readline()
        if head[:1] != b"$":
            raise Failed(f"{command}: {head}")
        return self.replies.read(int(head[1:]) + 2)[:-2].decode()

    @staticmethod
    def request(command):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in command]
        return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def wait_until(what, holds):
    end = time.monotonic() + SECONDS_MAX
    while not holds():
        if time.monotonic() > end:
            raise Failed(what)
        time.sleep(0.05)


class Process:
    """A server in a folder of its own."""

    def __init__(self, path, *args):
        self.port, self.console = free_port(), free_port()
        self.folder = tempfile.mkdtemp(prefix="larder-console-")
        self.process = subprocess.Popen(
            [path, "--port", str(self.port), "--console-port", str(self.console), "--threads", "2", *args],
            cwd=self.folder, stdout=subprocess.DEVNULL)
        self.client = None
        wait_until("the server starts", self.connects)

    def connects(self):
        try:
            self.client = Client(self.port)
        except ConnectionRefusedError:
            if self.process.poll() is not None:
                raise Failed("the server does not start") from None
        return self.client is not None

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Server(Process):
    """A server with data of every type, and a replica."""

    def __init__(self, path):
        super().__init__(path, "--slowlog-log-slower-than", "0")
        self.replica = None
        try:
            self.fill()
            self.replica = Process(path, "--replicaof", "127.0.0.1", str(self.port))
            wait_until("the replica follows", lambda: "state=online" in self.client.ask("INFO", "replication"))
        except BaseException:
            self.end()
            raise

    def fill(self):
        rng = random.Random(7)
        text = "The shelves hold flour, sugar, salt, beans and rice. "
        commands = []
        for n in range(3000):
            commands.append(["SET", f"session:{rng.getrandbits(128):032x}", text * rng.randrange(1, 4), "EX", rng.randrange(3600, 90000)])
        for n in range(1200):
            commands.append(["HSET", f"user:{n}", "name", f"name {n}", "mail", f"user{n}@example.org", "visits", rng.randrange(1000)])
            commands.append(["RPUSH", f"user:{n}:cart", *(f"item {rng.randrange(500)}" for _ in range(rng.randrange(1, 30)))])
        for n in range(60):
            commands.append(["RPUSH", f"queue:{n}:waiting", *(f"{text}{m}" for m in range(120))])
            commands.append(["ZADD", f"board:{n}", *(word for m in range(200) for word in (m * 7 % 1000, f"player{m}"))])
        for n in range(800):
            commands.append(["SADD", f"tag:{rng.choice('flour sugar salt beans rice'.split())}:{n // 8}", *(rng.randrange(9000) for _ in range(20))])
            commands.append(["SET", f"page:/shop/{n % 400}.html", f"<p>{text * 8}</p>"])
        self.client.send_all(commands)
        for n in range(800):
            self.client.ask("XADD", f"events:{n % 20}", "*", "kind", "sale", "amount", n)
        self.client.send_all([["SELECT", 1], *(["SET", name, b"value of " + name] for name in HOSTILE), ["SELECT", 0]])

    def end(self):
        if self.replica:
            self.replica.end()
        super().end()


class Cluster:
    """Two primaries, and a replica of the first."""

    def __init__(self, path):
        self.nodes = []
        try:
            for _ in range(3):
                self.nodes.append(Process(path, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-port", str(free_port())))
            self.join()
        except BaseException:
            self.end()
            raise

    def join(self):
        first, second, replica = self.nodes
        first.client.send_all([["CLUSTER", "ADDSLOTSRANGE", 0, 9999]])
        second.client.send_all([["CLUSTER", "ADDSLOTSRANGE", 10000, 16383]])
        for node in (second, replica):
            port = node.client.ask("CLUSTER", "NODES").split("@")[1].split(" ")[0].split(",")[0]
            first.client.send_all([["CLUSTER", "MEET", "127.0.0.1", node.port, port]])
        name = first.client.ask("CLUSTER", "MYID")
        wait_until("the nodes know each other", lambda: all(node.client.ask("CLUSTER", "NODES").count(" connected") == 3 for node in self.nodes))
        replica.client.send_all([["CLUSTER", "REPLICATE", name]])
        wait_until("the replica is one", lambda: "slave " + name in first.client.ask("CLUSTER", "NODES"))

    def end(self):
        for node in self.nodes:
            node.end()
