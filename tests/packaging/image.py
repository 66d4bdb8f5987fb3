#!/usr/bin/env python3
"""The compatible image: built from packaging/Containerfile.compatible, and used as compose files and charts use it.

    image.py [--server PATH] [--loader PATH] [--static PATH]

The first stage, which compiles, is replaced by the programs that are given; everything else is built as the file says, on a
Debian that mmdebstrap makes. No engine is needed: buildah builds, and chroot runs. With --static the small image is built as
well. Needs root. Prints a line for each scenario; the exit code is 1 when one fails.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from run import PATIENCE_S, ROOT, TARGET, answers, arguments, ask, ended, free_port, report, run, until

SUITE = "trixie"
BASE = f"localhost/debian:{SUITE}-slim"
PACKAGES = {"mmdebstrap": "mmdebstrap", "buildah": "buildah", "setpriv": "util-linux"}
# What commands, probes, hooks and init containers of charts and operators call.
TOOLS = ["sh", "bash", "cat", "date", "tee", "mkdir", "rm", "touch", "chmod", "chown", "cp", "cut", "head", "tail", "awk", "grep", "sed",
         "tr", "sleep", "seq", "wc", "xargs", "sha256sum", "hostname", "id", "timeout", "getent", "find", "setpriv"]


def buildah(*words):
    return run("buildah", "--storage-driver", "vfs", "--root", TARGET / "buildah", "--runroot", TARGET / "buildah-run", *words)


def need_programs():
    missing = sorted({package for program, package in PACKAGES.items() if shutil.which(program) is None})
    if missing:
        run("apt-get", "update", "-qq")
        run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing)


def mirror():
    """The mirror that this system uses."""
    for path in [pathlib.Path("/etc/apt/sources.list.d/debian.sources"), pathlib.Path("/etc/apt/sources.list")]:
        found = re.search(r"^(?:URIs:|deb)\s+(?:\[.*?\]\s+)?(\S+://\S+)", path.read_text(), re.M) if path.exists() else None
        if found:
            return found[1]
    raise AssertionError("no mirror of Debian is configured")


def base_image():
    """The image that the file begins with, made from packages once."""
    archive = TARGET / f"{SUITE}.tar"
    if not archive.exists():
        TARGET.mkdir(parents=True, exist_ok=True)
        part = archive.with_suffix(".part.tar")
        run("mmdebstrap", "--variant=minbase", SUITE, part, f"deb {mirror()} {SUITE} main")
        part.rename(archive)
    if f"{SUITE}-slim" not in buildah("images", "--format", "{{.Tag}}"):
        container = buildah("from", "scratch").strip()
        buildah("add", container, archive, "/")
        buildah("commit", "--rm", container, BASE)


def build(name, programs):
    """Builds an image of a file, with programs in place of the stage that compiles; its name, and what it runs."""
    text = (ROOT / "packaging" / name).read_text()
    stages = re.split(r"(?m)^(?=FROM )", text)
    assert len(stages) == 3 and stages[1].startswith("FROM rust:"), f"{name} has two stages"
    with tempfile.TemporaryDirectory() as folder:
        context = pathlib.Path(folder)
        shutil.copytree(ROOT / "packaging", context / "packaging", ignore=shutil.ignore_patterns("*.md"))
        shutil.copy(ROOT / "LICENSE", context)
        (context / "out" / "data").mkdir(parents=True)
        for program in [*programs, ROOT / "LICENSE", ROOT / "packaging" / "THIRD-PARTY-NOTICES.txt"]:
            shutil.copy(program, context / "out")
        (context / "Containerfile").write_text("FROM scratch AS build\nCOPY out /out\n\n" + stages[2])
        image = f"localhost/larder-test:{name.rsplit('.', 1)[-1].lower()}"
        buildah("bud", "--isolation", "chroot", "--network", "host", "--pull-never", "-t", image, "-f", context / "Containerfile", context)
    config = json.loads(buildah("inspect", "--type", "image", image))["OCIv1"]["config"]
    return image, config


class Image:
    """The files of an image, in a folder."""

    def __init__(self, name, programs):
        self.image, self.config = build(name, programs)
        self.container = buildah("from", "--pull-never", self.image).strip()
        self.root = pathlib.Path(buildah("mount", self.container).strip())
        for place in ["proc", "dev"]:
            (self.root / place).mkdir(exist_ok=True)
            run("mount", "--bind", f"/{place}", self.root / place)

    def close(self):
        for place in ["dev", "proc"]:
            run("umount", self.root / place)
        buildah("rm", self.container)
        buildah("rmi", self.image)

    def environment(self, **variables):
        return {**dict(variable.split("=", 1) for variable in self.config["Env"]), **variables}

    def enter(self, uid=0):
        def change():
            os.chroot(self.root)
            os.chdir(self.config["WorkingDir"])
            os.umask(0o022)
            if uid:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
        return change

    def call(self, *command, uid=0, **variables):
        """What a command in the image prints."""
        return run(*command, env=self.environment(**variables), preexec_fn=self.enter(uid))

    def start(self, *words, uid=0, entry=True, **variables):
        """Starts the image with these arguments; without `entry` as a pod does whose `command` replaces the entry point."""
        command = [*self.config["Entrypoint"], *words] if entry else list(words)
        # The name is looked up in the image.
        path = self.environment()["PATH"].split(":")
        found = next((folder for folder in path if os.path.lexists(self.root / folder.lstrip("/") / command[0])), None)
        program = command[0] if command[0].startswith("/") else f"{found}/{command[0]}"
        return subprocess.Popen([program, *command[1:]], env=self.environment(**variables), preexec_fn=self.enter(uid),
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def scenario_description(image):
    config = image.config
    assert config["Entrypoint"] == ["docker-entrypoint.sh"] and config["Cmd"] == ["valkey-server"], config
    assert config["WorkingDir"] == "/data" and "/data" in config["Volumes"] and "6379/tcp" in config["ExposedPorts"], config
    assert not config.get("User"), "it starts as root and steps down"
    assert image.call("id", "valkey").startswith("uid=999(valkey) gid=999(valkey)")
    assert image.call("stat", "-c", "%U:%G", "/data").strip() == "valkey:valkey"


def scenario_programs(image):
    """All programs are found by name; those of Valkey are by both products' names what they are by its own."""
    for tool in TOOLS:
        image.call("sh", "-c", f"command -v {tool}")
    assert image.call("date", "-d", "@0", "+%Z", TZ="Europe/Berlin").strip() == "CET", "there are time zones"
    for product in ["valkey", "redis"]:
        assert image.call(f"{product}-server", "--version").startswith("Larder ")
        assert "valkey-cli" in image.call(f"{product}-cli", "--version")
        assert "valkey-benchmark" in image.call(f"{product}-benchmark", "--version")
        for tool in ["check-rdb", "check-aof"]:
            text = image.call("sh", "-c", f"{product}-{tool} 2>&1; true")
            assert "Usage" in text and tool.split("-")[1] in text, text
    assert (image.root / "usr/share/doc/larder/THIRD-PARTY-NOTICES.txt").stat().st_size > 100_000


def scenario_root_steps_down(image):
    """A data folder of another user and root's file in it, as volumes of other images have them."""
    port = free_port()
    data = image.root / "data"
    (data / "root-file").write_text("x")
    (data / "link").symlink_to("/etc/passwd")
    os.chown(data, 0, 0)
    process = image.start("--port", str(port), "--appendonly", "yes", VALKEY_EXTRA_FLAGS="--maxmemory 100mb")
    try:
        until("the server answers", lambda: answers(port))
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert fields["Uid"].split() == ["999"] * 4 and fields["Gid"].split() == ["999"] * 4, status
        assert fields["Groups"].strip() == "" and fields["Umask"] == "0077", status
        assert (data / "root-file").stat().st_uid == 999 and data.stat().st_uid == 999
        assert (image.root / "etc/passwd").stat().st_uid == 0, "what a link leads to stays root's"
        assert ask(port, "SET", "k", "v") == "+OK\r\n" and ask(port, "SAVE") == "+OK\r\n"
        saved = (data / "dump.rdb").stat()
        assert (saved.st_uid, saved.st_mode & 0o777) == (999, 0o600)
        assert "104857600" in ask(port, "CONFIG", "GET", "maxmemory")
        assert "no" in ask(port, "CONFIG", "GET", "protected-mode")
        # Probes of charts: the client's output and status.
        for product in ["valkey", "redis"]:
            assert image.call(f"{product}-cli", "-p", str(port), "PING").strip() == "PONG"
        assert image.call("larder-server", "--health", "--ready", "-p", str(port)).strip() == "PONG"
        assert image.call("sh", "-c", f"[ \"$(timeout -s 3 1 valkey-cli -h 127.0.0.1 -p {port} ping)\" = PONG ] && echo alive") == "alive\n"
        assert image.call("valkey-cli", "-p", str(port), "--rdb", "/tmp/backup.rdb") is not None
        assert "OK" in image.call("valkey-check-rdb", "/tmp/backup.rdb")
        assert "GET" in image.call("valkey-benchmark", "-p", str(port), "-t", "get", "-n", "100", "-q")
    finally:
        code, text = ended(process)
    assert code == 0 and "Ready to accept connections" in text, text


def scenario_other_users(image):
    """Pods run it as a user that the image does not know, with a file in place of the entry point."""
    port = free_port()
    data = image.root / "data"
    run("chown", "-R", "1000:1000", data)
    (data / "conf").mkdir(exist_ok=True)
    (data / "conf" / "valkey.conf").write_text(f"port {port}\nprotected-mode no\nbind * -::*\ndir /data\n")
    for entry in [True, False]:
        process = image.start("valkey-server", "/data/conf/valkey.conf", "--loglevel", "notice", uid=1000, entry=entry)
        try:
            until("the server answers", lambda: answers(port))
            assert ask(port, "GET", "k").startswith("$1\r\nv"), "the data of the other user's server"
        finally:
            code, text = ended(process)
        assert code == 0, text


def scenario_sentinel(image):
    port, primary = free_port(), free_port()
    server = image.start("redis-server", "--port", str(primary), "--save", "", uid=1000)
    try:
        until("the primary answers", lambda: answers(primary))
        for words in [["valkey-server", "/data/sentinel.conf", "--sentinel"], ["valkey-sentinel", "/data/sentinel.conf"],
                      ["redis-sentinel", "/data/sentinel.conf"]]:
            path = image.root / "data" / "sentinel.conf"
            path.write_text(f"port {port}\nsentinel monitor main 127.0.0.1 {primary} 1\n")
            os.chown(path, 1000, 1000)
            process = image.start(*words, uid=1000, entry=words[0] != "redis-sentinel")
            try:
                until("Sentinel answers", lambda: answers(port))
                assert str(primary) in ask(port, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main")
            finally:
                process.send_signal(signal.SIGTERM)
                text, _ = process.communicate(timeout=PATIENCE_S)
            assert "mode=sentinel" in text, text
    finally:
        ended(server)


SCENARIOS = [scenario_description, scenario_programs, scenario_root_steps_down, scenario_other_users, scenario_sentinel]


def scenario_small(image):
    """One binary, asked by itself; a file of options is an argument."""
    port = free_port()
    config = image.config
    assert config["Entrypoint"] == ["/larder-server"] and config["User"] == "999:999" and config["WorkingDir"] == "/data", config
    data = image.root / "data"
    assert data.stat().st_uid == 999
    (data / "l.conf").write_text(f"port {port}\nrequirepass secret\nappendonly yes\n")
    process = image.start("/data/l.conf", "--maxmemory", "64mb", uid=999)
    try:
        until("the server answers", lambda: image_is_healthy(image))
        assert image.call("/larder-server", "--health", "--ready", "/data/l.conf", uid=999) == "PONG\n"
        assert image.call("/larder-server", "--health", "--ready", "-p", str(port), uid=999, LARDERCLI_AUTH="secret") == "PONG\n"
    finally:
        code, text = ended(process)
    assert code == 0, text
    assert (data / "appendonlydir").stat().st_uid == 999


def image_is_healthy(image):
    try:
        return image.call("/larder-server", "--health", "/data/l.conf", uid=999) == "PONG\n"
    except AssertionError:
        return False


def check(name, programs, scenarios):
    image = Image(name, programs)
    try:
        return all([report(scenario.__name__.removeprefix("scenario_"), scenario, image) for scenario in scenarios])
    finally:
        image.close()


def main():
    options = arguments()
    if os.getuid() != 0:
        print("packaging: skipped: building an image needs root")
        return 0
    need_programs()
    base_image()
    good = check("Containerfile.compatible", [options.server, options.loader], SCENARIOS)
    if options.static:
        good &= check("Containerfile", [options.static], [scenario_small])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
