#!/usr/bin/env python3
"""packaging/compose without an engine for containers: compose.py PATH_OF_LARDER_SERVER

Reads the files, and runs the commands and health checks of the services as compose does, on this machine: the names of
services are 127.0.0.1, the ports are free ones, and programs are found in a folder that is prepared as the image is. The
primary is killed, and the Sentinels promote the replica.
"""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

import redis
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMPOSE = ROOT / "packaging" / "compose"
PEERS = pathlib.Path(os.environ.get("LARDER_PEERS", ROOT / "target" / "peers"))
PASSWORD = "a secret"
PATIENCE_S = 60
SENTINELS = ["sentinel-1", "sentinel-2", "sentinel-3"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(what, holds):
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            if holds():
                return
        except redis.RedisError:
            pass
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def check_files(services, names):
    """What the files name is there: other files, services, metrics."""
    for name, service in services.items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert (COMPOSE / source).exists() if source.startswith(".") else source in names, f"{name}: {source} is missing"
        for other in service.get("depends_on", {}):
            assert other in services, f"{name} depends on {other}"
    build = services["primary"]["build"]
    assert (COMPOSE / build["context"] / build["dockerfile"]).exists()
    prometheus = yaml.safe_load((COMPOSE / "prometheus.yml").read_text())
    targets = prometheus["scrape_configs"][0]["static_configs"][0]["targets"]
    assert {target.split(":")[0] for target in targets} == {"primary", "replica"}
    rules = yaml.safe_load((ROOT / "packaging" / "alerts.yml").read_text())
    assert len(rules["groups"][0]["rules"]) > 10
    for name in ["grafana-datasource.yml", "grafana-dashboards.yml"]:
        assert yaml.safe_load((COMPOSE / name).read_text())["apiVersion"] == 1


class Services:
    """The services with a command, as processes."""

    def __init__(self, folder, services, server):
        self.folder, self.services, self.running = pathlib.Path(folder), services, {}
        self.bin = self.folder / "usr" / "local" / "bin"
        self.bin.mkdir(parents=True)
        (self.bin / "larder-server").symlink_to(pathlib.Path(server).resolve())
        subprocess.run([ROOT / "packaging" / "image" / "install.sh", folder], check=True)
        for name in ["valkey-sentinel"]:
            (self.bin / name).unlink()
            (self.bin / name).symlink_to(PEERS.resolve() / "bin" / name)
        self.ports = {name: free_port() for name in ["primary", "replica", *SENTINELS]}
        self.metrics = {name: free_port() for name in ["primary", "replica"]}

    def words(self, name, text):
        """A text as compose hands it over to a service, with the places of this machine in it."""
        text = re.sub(r"(?<!\$)\$\{(\w+)(:\?[^}]*)?\}", lambda found: {"LARDER_PASSWORD": PASSWORD}[found[1]], text)
        text = text.replace("$$", "$").replace("primary 6379", f"127.0.0.1 {self.ports['primary']}")
        text = text.replace("26379", str(self.ports[name]))
        if name in self.metrics:
            text = text.replace("9121", str(self.metrics[name])).replace("announce-ip " + name, "announce-ip 127.0.0.1")
        return text

    def environment(self, name):
        own = {key: self.words(name, value) for key, value in self.services[name].get("environment", {}).items()}
        return {**os.environ, **own, "PATH": f"{self.bin}:{os.environ['PATH']}", "LARDER_PROTECTED_MODE": "no"}

    def start(self, name):
        data = self.folder / name
        data.mkdir(exist_ok=True)
        words = [self.words(name, word) for word in self.services[name]["command"]]
        if name not in SENTINELS:
            words += ["--port", str(self.ports[name])]
        # As the user of the image: the script would step down from root otherwise.
        if words[0] == "valkey-server":
            words[0] = str(self.bin / "valkey-server")
        with open(data / "log", "w", encoding="utf-8") as log:
            self.running[name] = subprocess.Popen(["docker-entrypoint.sh", *words], cwd=data, env=self.environment(name), stdout=log,
                                                  stderr=log)

    def is_healthy(self, name):
        kind, *words = [self.words(name, word) for word in self.services[name]["healthcheck"]["test"]]
        assert kind == "CMD"
        if name not in SENTINELS:
            words += ["-p", str(self.ports[name])]
        done = subprocess.run(words, env=self.environment(name), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode == 0 and done.stdout == b"PONG\n"

    def client(self, name):
        password = None if name in SENTINELS else PASSWORD
        return redis.Redis(port=self.ports[name], password=password, decode_responses=True)

    def end(self):
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            process.wait(PATIENCE_S)


def check_failover(services):
    services.start("primary")
    until("the primary is healthy", lambda: services.is_healthy("primary"))
    for name in ["replica", *SENTINELS]:
        services.start(name)
    for name in ["replica", *SENTINELS]:
        until(f"{name} is healthy", lambda name=name: services.is_healthy(name))
    until("the replica has a link", lambda: services.client("replica").info("replication")["master_link_status"] == "up")
    assert services.client("primary").set("key", "value")
    assert services.client("primary").wait(1, PATIENCE_S * 1000) == 1
    sentinel = services.client(SENTINELS[0])

    def is_known():
        state = sentinel.sentinel_master("main")
        return (state["num-slaves"], state["num-other-sentinels"]) == (1, 2)

    until("the Sentinels know one another and the replica", is_known)
    for name in SENTINELS:
        services.client(name).execute_command("SENTINEL SET", "main", "down-after-milliseconds", "200")
    services.running.pop("primary").kill()
    until("the replica is promoted", lambda: services.client("replica").info("replication")["role"] == "master")
    assert services.client("replica").get("key") == "value"
    until("the Sentinels name it", lambda: sentinel.sentinel_get_master_addr_by_name("main")[1] == services.ports["replica"])


def main():
    text = yaml.safe_load((COMPOSE / "compose.yaml").read_text())
    check_files(text["services"], text["volumes"])
    with tempfile.TemporaryDirectory() as folder:
        services = Services(folder, text["services"], sys.argv[1])
        try:
            check_failover(services)
        except BaseException:
            for log in sorted(pathlib.Path(folder).glob("*/log")):
                print(f"{log.parent.name}:\n{log.read_text()}", file=sys.stderr)
            raise
        finally:
            services.end()
    print("compose: ok")


if __name__ == "__main__":
    main()
