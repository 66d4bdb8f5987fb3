"""A cluster of six nodes (REDIS_PROGRAM) on free ports, three primaries with a replica each, to which bad things happen.

As a program it prints {"ports": [port]}, and then, each on a line when it is over: "killed" (a primary was killed with its node's
timeout of 2 s, a replica has taken its place, and it has come back), "resharded" (a primary has given slots to another one). It ends all
nodes when its input ends.
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

from sentinels import ask, wait

HERE = pathlib.Path(__file__).resolve().parent
# Slots that move while clients write.
SLOTS = 100


def tool():
    """valkey-cli, if the peers are there, else redis-cli."""
    peers = pathlib.Path(os.environ.get("LARDER_PEERS", HERE.parent.parent / "target" / "peers"))
    valkey = peers / "bin" / "valkey-cli"
    return str(valkey) if valkey.exists() else "redis-cli"


def manage(*words):
    """Runs `--cluster` of the tool, which must succeed."""
    result = subprocess.run([tool(), "--cluster", *words], input="yes\n", stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{words}: {result.stdout[-2000:]}")


class Cluster:
    """The processes end with `end`."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cluster-"))
        self.processes, self.ports = {}, []
        for _ in range(6):
            self.ports.append(self.free_port())
            self.start(self.ports[-1])
        addresses = [f"127.0.0.1:{port}" for port in self.ports]
        manage("create", *addresses, "--cluster-replicas", "1", "--cluster-yes")
        self.wait_until_well()

    def free_port(self):
        """A port of which the one for the bus, 10,000 higher, is free as well."""
        while True:
            with socket.socket() as probe, socket.socket() as bus:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1] - 20000
                try:
                    if port > 1024 and port not in self.ports:
                        bus.bind(("127.0.0.1", port + 10000))
                        return port
                except OSError:
                    pass

    def start(self, port):
        directory = self.folder / str(port)
        directory.mkdir(exist_ok=True)
        with open(directory / "log", "ab") as log:
            self.processes[port] = subprocess.Popen(
                [os.environ["REDIS_PROGRAM"], "--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory),
                 "--save", "", "--cluster-enabled", "yes", "--cluster-node-timeout", "2000",
                 "--repl-diskless-sync-delay", "0"], stdout=log, stderr=log)
        wait(lambda: ask(port, "PING").startswith("+PONG"))

    def nodes(self, port):
        """What a node says of all: {port: words of the line}."""
        lines = [line.split() for line in ask(port, "CLUSTER", "NODES").splitlines() if ":" in line]
        return {int(words[1].split(":")[1].split("@")[0]): words for words in lines}

    def wait_until_well(self):
        """Waits until all nodes find the cluster well, and all replicas follow."""
        def is_well(port):
            info = ask(port, "INFO", "replication")
            follows = "role:master" in info or "master_link_status:up" in info
            return follows and "cluster_state:ok" in ask(port, "CLUSTER", "INFO")
        for port in self.ports:
            wait(lambda port=port: is_well(port))

    def primaries(self):
        nodes = self.nodes(self.ports[0])
        return [port for port in self.ports if "master" in nodes[port][2].split(",")]

    def kill_a_primary(self):
        victim = next(port for port in self.primaries() if port != self.ports[0])
        heir = next(port for port, words in self.nodes(self.ports[0]).items()
                    if words[3] == self.nodes(self.ports[0])[victim][0])
        self.processes[victim].kill()
        self.processes[victim].wait()
        wait(lambda: "role:master" in ask(heir, "INFO", "replication"))
        wait(lambda: "cluster_state:ok" in ask(heir, "CLUSTER", "INFO"))
        self.start(victim)
        self.wait_until_well()

    def reshard(self):
        first, second = self.primaries()[:2]
        nodes = self.nodes(self.ports[0])
        manage("reshard", f"127.0.0.1:{self.ports[0]}", "--cluster-from", nodes[first][0], "--cluster-to",
               nodes[second][0], "--cluster-slots", str(SLOTS), "--cluster-yes")
        self.wait_until_well()

    def end(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    cluster = Cluster()
    try:
        print(json.dumps({"ports": cluster.ports}), flush=True)
        # Clients write for a while before, between and after.
        time.sleep(0.5)
        cluster.kill_a_primary()
        print("killed", flush=True)
        time.sleep(0.5)
        cluster.reshard()
        print("resharded", flush=True)
        sys.stdin.read()
    finally:
        cluster.end()


if __name__ == "__main__":
    main()
