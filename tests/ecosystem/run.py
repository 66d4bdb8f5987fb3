#!/usr/bin/env python3
"""Real client and queue libraries on a running server.

    run.py [--server PATH] [--durable] [SUITE[:SCENARIO] ...]

Starts the server (LARDER_SERVER, or what --server names; `--server redis-server` proves that a scenario is right), installs
what the suites need into target/ecosystem, runs them one after the other and prints a line for each scenario. The exit code
is 1 when one fails. A suite whose libraries cannot be had here is skipped, and that is said. With --durable the server
keeps an append-only file, is killed after each suite, and has to come back with the same content.
"""

import argparse
import difflib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TARGET = HERE.parent.parent / "target" / "ecosystem"
VENV = TARGET / "venv"
JARS = TARGET / "jars"
CLASSES = TARGET / "classes"
SUITE_SECONDS_MAX = 300

# Debian packages with the programs that a suite needs.
PACKAGES = {"node": "nodejs", "npm": "npm", "go": "golang", "javac": "default-jdk-headless", "mvn": "maven",
            "cargo": "cargo"}


class Unavailable(Exception):
    """A suite that cannot be prepared here."""


def call(command, cwd=None):
    """Runs a step of preparation; what it prints is shown only when it fails."""
    result = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
        raise Unavailable(f"{' '.join(map(str, command))}: {' '.join(result.stdout.split())[-400:]}")


def need(*programs):
    """Installs the programs that are missing."""
    missing = [PACKAGES[program] for program in programs if shutil.which(program) is None]
    if missing:
        sudo = [] if os.getuid() == 0 else ["sudo"]
        call([*sudo, "apt-get", "update", "-qq"])
        call([*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq", *missing])


def fresh(mark, *sources):
    """Whether what was made of the sources is younger than they."""
    return mark.exists() and all(source.stat().st_mtime <= mark.stat().st_mtime for source in sources)


def prepare_python():
    requirements = HERE / "python" / "requirements.txt"
    mark = VENV / "ready"
    if not fresh(mark, requirements):
        call([sys.executable, "-m", "venv", VENV])
        call([VENV / "bin" / "pip", "install", "-q", "-r", requirements])
        mark.touch()


def prepare_node():
    need("node", "npm")
    manifest = HERE / "node" / "package.json"
    mark = TARGET / "node_modules" / "ready"
    if not fresh(mark, manifest):
        shutil.copy(manifest, TARGET)
        call(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=TARGET)
        mark.touch()


def prepare_go():
    need("go")
    call(["go", "build", "-o", f"{TARGET}/", "./..."], cwd=HERE / "go")


def prepare_rust():
    need("cargo")
    call(["cargo", "build", "-q", "--manifest-path", HERE / "rust" / "Cargo.toml", "--target-dir", TARGET / "rust"])


def prepare_java():
    need("javac", "mvn")
    project, sources = HERE / "java" / "pom.xml", sorted((HERE / "java").glob("*.java"))
    if not fresh(JARS / "ready", project):
        call(["mvn", "-q", "-B", "-f", project, "dependency:copy-dependencies", f"-DoutputDirectory={JARS}"])
        (JARS / "ready").touch()
    if not fresh(CLASSES / "ready", *sources, JARS / "ready"):
        CLASSES.mkdir(exist_ok=True)
        call(["javac", "-d", CLASSES, "-cp", f"{JARS}/*", *sources])
        (CLASSES / "ready").touch()


def python(script):
    return prepare_python, [VENV / "bin" / "python", HERE / "python" / script]


def node(script):
    return prepare_node, ["node", HERE / "node" / script]


SUITES = {
    "redis-py": python("redis_py.py"),
    "ioredis": node("ioredis.js"),
    "go-redis": (prepare_go, [TARGET / "goredis"]),
    "ioredis-tls": node("ioredis.js"),
    "go-redis-tls": (prepare_go, [TARGET / "goredis"]),
    "jedis": (prepare_java, ["java", "-cp", f"{JARS}/*:{CLASSES}", "JedisScenarios"]),
    "bullmq": node("bullmq.js"),
    "bull": node("bull.js"),
    "asynq": (prepare_go, [TARGET / "asynq"]),
    "redisson": (prepare_java, ["java", "-cp", f"{JARS}/*:{CLASSES}", "RedissonScenarios"]),
    "dramatiq": python("dramatiq_jobs.py"),
    "rq": python("rq_jobs.py"),
    "celery": python("celery_jobs.py"),
    "redis-py-sentinel": python("sentinel.py"),
    "ioredis-sentinel": node("sentinel.js"),
    "redis-py-cluster": python("cluster.py"),
    "ioredis-cluster": node("cluster.js"),
    "go-redis-cluster": (prepare_go, [TARGET / "gorediscluster"]),
    "jedis-cluster": (prepare_java, ["java", "-cp", f"{JARS}/*:{CLASSES}", "JedisClusterScenarios"]),
    "redis-rs-cluster": (prepare_rust, [TARGET / "rust" / "debug" / "larder-ecosystem"]),
}


def certificates(directory):
    """An authority and a certificate of the server, made by openssl: the arguments that name them."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    pathlib.Path(directory, "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1")
    for command in (
        ["req", "-x509", *key, "-days", "9", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.crt"],
        ["req", *key, "-subj", "/CN=server", "-keyout", "server.key", "-out", "server.csr"],
        ["x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "9",
         "-extfile", "names", "-out", "server.crt"],
    ):
        subprocess.run(["openssl", *command], cwd=directory, check=True, stderr=subprocess.DEVNULL)
    names = {"cert-file": "server.crt", "key-file": "server.key", "ca-cert-file": "ca.crt"}
    return [word for name, file in names.items() for word in (f"--tls-{name}", f"{directory}/{file}")]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server of its own in a directory of its own."""

    def __init__(self, program, durable):
        self.directory = tempfile.mkdtemp(prefix="ecosystem-")
        self.log_path = pathlib.Path(self.directory) / "log"
        self.port, self.tls_port = free_port(), free_port()
        self.command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", self.directory]
        if pathlib.Path(program).name != "redis-server":
            self.command += ["--threads", "2"]
        self.command += ["--tls-port", str(self.tls_port), "--tls-auth-clients", "no", *certificates(self.directory)]
        if durable:
            self.command += ["--appendonly", "yes", "--appendfsync", "always"]
        self.start()

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        for _ in range(500):
            try:
                # A server that is loading answers with an error.
                with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                    connection.sendall(b"PING\r\n")
                    if connection.recv(100).startswith(b"+PONG"):
                        return
            except OSError:
                if self.process.poll() is not None:
                    break
            time.sleep(0.02)
        sys.exit(f"the server does not start:\n{self.log()}")

    def restart(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def log(self):
        return self.log_path.read_text(errors="replace")[-4000:]

    def running(self):
        return self.process.poll() is None

    def end(self):
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.directory, ignore_errors=True)


def content(environment):
    """What the server holds, line by line."""
    prepare_python()
    command = [VENV / "bin" / "python", HERE / "python" / "content.py"]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def survive(name, server, environment, counts):
    """Kills the server and compares what it holds then with what it held."""
    before = content(environment)
    server.restart()
    after = content(environment)
    if before == after:
        print(f"ok   {name}: content after a crash ({len(before)} keys)", flush=True)
        counts["ok"] += 1
        return
    counts["FAIL"] += 1
    print(f"FAIL {name}: content after a crash", flush=True)
    for line in difflib.unified_diff(before, after, "before", "after", lineterm="", n=0):
        print(line[:500], file=sys.stderr)


def run(name, scenarios, server, durable, counts):
    """Runs a suite and counts its lines."""
    prepare, command = SUITES[name]
    try:
        prepare()
    except Unavailable as reason:
        print(f"skip {name}: {reason}", flush=True)
        counts["skip"] += 1
        return
    environment = os.environ | {
        "REDIS_PORT": str(server.port),
        "REDIS_PROGRAM": server.command[0],
        "NODE_PATH": str(TARGET / "node_modules"),
        "CLUSTERS_PROGRAM": str(HERE / "clusters.py"),
    }
    if name.endswith("-tls"):
        environment |= {"REDIS_PORT": str(server.tls_port), "REDIS_CA": f"{server.directory}/ca.crt"}
    suite = subprocess.Popen([*command, *scenarios], stdout=subprocess.PIPE, text=True, env=environment)
    began, passed = time.monotonic(), True
    for line in suite.stdout:
        print(line, end="", flush=True)
        word = line.split(" ", 1)[0]
        if word in counts:
            counts[word] += 1
            passed &= word != "FAIL"
        if time.monotonic() - began > SUITE_SECONDS_MAX:
            suite.kill()
    if suite.wait() != 0 and passed:
        print(f"FAIL {name}: ended with code {suite.returncode}", flush=True)
        counts["FAIL"] += 1
    if not server.running():
        sys.exit(f"FAIL {name}: the server has ended with code {server.process.returncode}:\n{server.log()}")
    if durable:
        survive(name, server, environment, counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=os.environ.get("LARDER_SERVER", "redis-server"))
    parser.add_argument("suites", nargs="*", metavar="SUITE[:SCENARIO]", help=f"of {', '.join(SUITES)}")
    parser.add_argument("--durable", action="store_true", help="kill the server after each suite")
    options = parser.parse_args()
    wanted = {}
    for word in options.suites or SUITES:
        suite, _, scenario = word.partition(":")
        if suite not in SUITES:
            parser.error(f"there is no suite {suite}")
        wanted.setdefault(suite, []).extend([scenario] if scenario else [])
    TARGET.mkdir(parents=True, exist_ok=True)
    server = Server(options.server, options.durable)
    counts = {"ok": 0, "FAIL": 0, "skip": 0}
    try:
        for suite, scenarios in wanted.items():
            run(suite, scenarios, server, options.durable, counts)
    finally:
        server.end()
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    sys.exit(1 if counts["FAIL"] else 0)


if __name__ == "__main__":
    main()
