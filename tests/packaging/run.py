#!/usr/bin/env python3
"""The Debian package, on a Debian that has nothing else: it is installed, started as its unit says, upgraded, removed and purged.

    run.py [--server PATH] [--loader PATH] [--static PATH]

Makes the package of the server (LARDER_SERVER, or what --server names), and a Debian below target/packaging by mmdebstrap. Needs root,
for chroot. What --static names is started in a folder that holds nothing else, as the container image does. Prints a line for each
scenario; the exit code is 1 when one fails.
"""

import argparse
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = ROOT / "target" / "packaging"
PACKAGES = {"mmdebstrap": "mmdebstrap", "dpkg-shlibdeps": "dpkg-dev", "groff": "groff", "strace": "strace", "systemd-analyze": "systemd",
            "zsh": "zsh", "fish": "fish", "lintian": "lintian"}
UNIT = "larder-server.service"
# What systemd-analyze may find exposed, of 10.
EXPOSURE_MAX = 1.5
PATIENCE_S = 60


def run(*command, **options):
    """Runs a command that must succeed, and returns what it printed."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    assert result.returncode == 0, f"{' '.join(map(str, command))}: {result.returncode}\n{result.stdout}"
    return result.stdout


def need_programs():
    missing = sorted({package for program, package in PACKAGES.items() if shutil.which(program) is None})
    if missing:
        run("apt-get", "update", "-qq")
        run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq", *missing)


def sources():
    """The lists of packages of this system, as mmdebstrap wants them."""
    folder = pathlib.Path("/etc/apt/sources.list.d")
    found = [path for path in [pathlib.Path("/etc/apt/sources.list"), folder / "debian.sources"]
             if path.exists() and path.read_text().strip()]
    return found[:1]


def base_system():
    """A Debian with systemd's programs, made once."""
    archive = TARGET / "debian.tar"
    if not archive.exists():
        TARGET.mkdir(parents=True, exist_ok=True)
        suite = run("sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME").strip()
        part = archive.with_suffix(".part.tar")
        run("mmdebstrap", "--variant=apt", "--include=systemd,adduser", suite, part, *sources())
        part.rename(archive)
    return archive


class System:
    """A Debian in a folder of its own."""

    def __init__(self, folder, package):
        self.root = pathlib.Path(folder) / "debian"
        self.root.mkdir()
        run("tar", "-xf", base_system(), "-C", self.root)
        for place in ["proc", "dev"]:
            run("mount", "--bind", f"/{place}", self.root / place)
        shutil.copy(package, self.root / "package.deb")

    def close(self):
        for place in ["dev", "proc"]:
            run("umount", self.root / place)

    def call(self, *command, **options):
        return run("chroot", self.root, *command, **options)

    def install(self, *flags):
        return self.call("dpkg", *flags, "-i", "/package.deb", env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})

    def owner_and_mode(self, path):
        return self.call("stat", "-c", "%U:%G %a", path).strip()

    def ids(self):
        return [int(self.call("id", flag, "larder")) for flag in ["-u", "-g"]]

    def start(self, *args, **variables):
        """Starts the server as the unit does: its user, its folder, its command."""
        uid, gid = self.ids()

        def enter():
            os.chroot(self.root)
            os.chdir("/var/lib/larder")
            os.setgroups([])
            os.setgid(gid)
            os.setuid(uid)
            os.umask(0o077)

        return subprocess.Popen([*unit_command(self.root), *args], env={"PATH": "/usr/bin", **variables}, preexec_fn=enter,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def unit_command(root):
    unit = (root / "lib/systemd/system" / UNIT).read_text()
    [line] = [line for line in unit.splitlines() if line.startswith("ExecStart=")]
    return line.removeprefix("ExecStart=").split()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def ask(port, *words):
    """One command and its reply, as it comes."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        parts = [f"*{len(words)}\r\n", *(f"${len(word)}\r\n{word}\r\n" for word in words)]
        connection.sendall("".join(parts).encode())
        return connection.recv(1 << 16).decode()


def until(what, holds):
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def ended(process):
    process.send_signal(signal.SIGTERM)
    text, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, text


def answers(port):
    try:
        return ask(port, "PING") == "+PONG\r\n"
    except OSError:
        return False


def scenario_install(system):
    system.install()
    assert system.owner_and_mode("/etc/larder") == "larder:larder 750"
    assert system.owner_and_mode("/etc/larder/larder.conf") == "larder:larder 640"
    assert system.owner_and_mode("/var/lib/larder") == "larder:larder 750"
    assert system.owner_and_mode("/usr/bin/larder-server") == "root:root 755"
    assert system.call("larder-server", "--version").startswith("Larder ")
    assert "--rdb FILE" in system.call("larder-load", "--help")
    shutil.copy(ROOT / "crates/larder-load/tests/parquet/data/arrow-snappy.parquet", system.root / "rows.parquet")
    words = ["--parquet", "/rows.parquet", "--key", "{id}", "--hash", "--dry-run", "--quiet"]
    assert "would load 40 keys" in system.call("larder-load", *words)
    wants = system.root / "etc/systemd/system/multi-user.target.wants" / UNIT
    assert wants.is_symlink(), "the service starts with the system"


def scenario_unit(system):
    text = system.call("systemd-analyze", "verify", "--man=no", f"/lib/systemd/system/{UNIT}")
    assert text.strip() == "", text
    limit = str(round(EXPOSURE_MAX * 10))
    system.call("systemd-analyze", "security", "--offline=true", f"--threshold={limit}", f"/lib/systemd/system/{UNIT}")


def scenario_service(system):
    """It says that it is ready, saves where it may, rewrites its file, and says that it stops."""
    port = free_port()
    path = system.root / "var/lib/larder/notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
        notices.bind(str(path))
        os.chmod(path, 0o777)
        notices.settimeout(PATIENCE_S)
        process = system.start("--port", str(port), NOTIFY_SOCKET="/var/lib/larder/notify")
        try:
            assert b"READY=1" in notices.recv(4096)
            assert ask(port, "SET", "key", "value") == "+OK\r\n"
            assert ask(port, "SAVE") == "+OK\r\n"
            assert system.owner_and_mode("/var/lib/larder/dump.rdb") == "larder:larder 600"
            assert ask(port, "CONFIG", "SET", "maxmemory", "100mb") == "+OK\r\n"
            assert ask(port, "CONFIG", "REWRITE") == "+OK\r\n"
            assert "maxmemory 100mb" in (system.root / "etc/larder/larder.conf").read_text()
        finally:
            code, text = ended(process)
        assert code == 0, text
        assert b"STOPPING=1" in notices.recv(4096)
    path.unlink()


def scenario_calls(system):
    """What the server asks of the kernel is what its unit allows."""
    port = free_port()
    allowed = allowed_calls("@system-service") - allowed_calls("@privileged")
    trace = system.root / "trace"
    # strace sees the whole of chroot, of which what comes after the server's own execve counts.
    process = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", str(trace), "chroot", "--userspec=larder:larder", system.root,
         "/usr/bin/larder-server", "/etc/larder/larder.conf", "--port", str(port), "--appendonly", "yes", "--save", "60 1"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        until("the server answers", lambda: answers(port))
        for words in [["SET", "k", "v"], ["BGREWRITEAOF"], ["EVAL", "return redis.call('GET', 'k')", "0"], ["MEMORY", "PURGE"],
                      ["CONFIG", "SET", "maxclients", "20000"], ["INFO", "everything"], ["SAVE"]]:
            ask(port, *words)
    finally:
        run("pkill", "-TERM", "-P", str(process.pid))
        process.communicate(timeout=PATIENCE_S)
    lines = trace.read_text().splitlines()
    first = next(at for at, line in enumerate(lines) if 'execve("/usr/bin/larder-server"' in line)
    calls = {call for line in lines[first + 1:] for call in [called(line)] if call}
    assert len(calls) > 30, calls
    assert not calls - allowed, f"the unit forbids {sorted(calls - allowed)}"
    trace.unlink()


def called(line):
    """The call of a line of strace: `123 name(..`."""
    word = line.split(" ", 1)[-1].strip().split("(", 1)
    return word[0] if len(word) == 2 and word[0].isidentifier() else None


def allowed_calls(group):
    """The calls of a group of systemd's, and of the groups in it."""
    calls = set()
    for line in run("systemd-analyze", "syscall-filter", group).splitlines():
        word = line.strip()
        if word.startswith("@") and word != group:
            calls |= allowed_calls(word)
        elif word and not word.startswith("#") and " " not in word and not word.startswith("@"):
            calls.add(word)
    return calls


def scenario_background(system):
    """daemonize and pidfile: the caller gets its prompt back, and the file is there as long as the server."""
    port = free_port()
    # As larder, below its own folder.
    pidfile = "/var/lib/larder/larder.pid"
    system.call("runuser", "-u", "larder", "--", "larder-server", "--port", str(port), "--dir", "/var/lib/larder", "--daemonize", "yes",
                "--pidfile", pidfile, "--logfile", "/var/lib/larder/log", "--save", "")
    until("the server answers", lambda: answers(port))
    number = (system.root / pidfile[1:]).read_text().strip()
    assert f"process_id:{number}\r\n" in ask(port, "INFO", "server")
    os.kill(int(number), signal.SIGTERM)
    until("the pidfile goes", lambda: not (system.root / pidfile[1:]).exists())
    until("the process ends", lambda: not answers(port))
    (system.root / "var/lib/larder/log").unlink()


def scenario_syslog(system):
    """Lines reach the socket of the system's log, with the name and the facility that are configured."""
    run("umount", system.root / "dev")
    path = system.root / "dev/log"
    port = free_port()
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
            log.bind(str(path))
            os.chmod(path, 0o777)
            log.settimeout(PATIENCE_S)
            process = system.start("--port", str(port), "--supervised", "no", "--save", "", "--syslog-enabled", "yes", "--syslog-ident",
                                   "pantry", "--syslog-facility", "local3")
            line = log.recv(4096).decode()
            # Signals are not caught before it serves.
            until("the server answers", lambda: answers(port))
            code, text = ended(process)
            assert code == 0, text
            # Facility 19 (local3) times 8, and a severity below 8.
            assert 19 * 8 <= int(line[1:line.index(">")]) < 20 * 8, line
            assert " pantry[" in line, line
    finally:
        path.unlink(missing_ok=True)
        run("mount", "--bind", "/dev", system.root / "dev")


def scenario_pages(system):
    """Manual pages are formatted without a complaint, and shells take the completions."""
    for page in ["man1/larder-server.1", "man1/larder-load.1", "man5/larder.conf.5"]:
        path = system.root / "usr/share/man" / f"{page}.gz"
        text = subprocess.run(["gzip", "-dc", path], stdout=subprocess.PIPE, check=True).stdout
        result = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        assert not result.stderr, result.stderr.decode()
        assert b"LARDER" in result.stdout
    share = system.root / "usr/share"
    bash = (f"source {share}/bash-completion/completions/larder-server; "
            "COMP_WORDS=(larder-server --appendfsync al); COMP_CWORD=2; _larder_server; echo ${COMPREPLY[@]}; "
            "COMP_WORDS=(larder-server --maxmemory-po); COMP_CWORD=1; _larder_server; echo ${COMPREPLY[@]}")
    assert run("bash", "-c", bash).split() == ["always", "--maxmemory-policy"]
    for program in ["larder-server", "larder-load"]:
        run("zsh", "-n", share / "zsh/vendor-completions" / f"_{program}")
        run("bash", "-n", share / "bash-completion/completions" / program)
        run("fish", "--no-config", "--no-execute", share / "fish/vendor_completions.d" / f"{program}.fish")
    fish = f"source {share}/fish/vendor_completions.d/larder-server.fish; complete -C 'larder-server --maxmemory-po'"
    assert run("fish", "--no-config", "-c", fish).startswith("--maxmemory-policy")


def scenario_upgrade(system):
    """What the administrator has changed stays, as do the data."""
    changed = (system.root / "etc/larder/larder.conf").read_text()
    assert "maxmemory 100mb" in changed
    system.call("chmod", "0600", "/etc/larder/larder.conf")
    system.install("--force-confold")
    assert (system.root / "etc/larder/larder.conf").read_text() == changed
    assert system.owner_and_mode("/etc/larder/larder.conf") == "larder:larder 600"
    assert (system.root / "var/lib/larder/dump.rdb").exists()


def scenario_removal(system):
    system.call("dpkg", "-r", "larder-server")
    assert not (system.root / "usr/bin/larder-server").exists()
    assert (system.root / "etc/larder/larder.conf").exists(), "removal keeps the configuration"
    assert (system.root / "var/lib/larder/dump.rdb").exists(), "removal keeps the data"
    system.call("dpkg", "-P", "larder-server")
    for path in ["etc/larder", "var/lib/larder", "lib/systemd/system/" + UNIT,
                 "etc/systemd/system/multi-user.target.wants/" + UNIT]:
        assert not (system.root / path).exists() and not (system.root / path).is_symlink(), f"{path} is left"


SCENARIOS = [scenario_install, scenario_unit, scenario_service, scenario_calls, scenario_background, scenario_syslog, scenario_pages,
             scenario_upgrade, scenario_removal]


def check_lint(package):
    """What lintian calls an error."""
    result = subprocess.run(["lintian", "--fail-on", "error", "--tag-display-limit", "0", "--allow-root", package], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False)
    assert result.returncode == 0, result.stdout


def check_static(binary, folder):
    """The binary needs no other file: it is alone in its world, as in a container image made from nothing."""
    root = pathlib.Path(folder) / "alone"
    (root / "data").mkdir(parents=True)
    shutil.copy(binary, root / "larder-server")
    os.chown(root / "data", 999, 999)
    port = free_port()
    process = subprocess.Popen(["chroot", "--userspec=999:999", root, "/larder-server", "--dir", "/data", "--port", str(port)],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        until("the server answers", lambda: answers(port))
        assert ask(port, "EVAL", "return redis.sha1hex('x')", "0").startswith("$40")
        assert ask(port, "SAVE") == "+OK\r\n"
        assert (root / "data/dump.rdb").exists()
    finally:
        code, text = ended(process)
    assert code == 0, text


def report(name, check, *args):
    """Runs a scenario and prints how it went; false when it failed."""
    try:
        check(*args)
    except Exception as error:  # pylint: disable=broad-except
        print(f"packaging: {name}: FAILED: {error}", flush=True)
        return False
    print(f"packaging: {name}: ok", flush=True)
    return True


def arguments():
    """Parses the arguments: the programs to test."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=os.environ.get("LARDER_SERVER", ROOT / "target/release/larder-server"))
    parser.add_argument("--loader", default=ROOT / "target/release/larder-load")
    parser.add_argument("--static")
    return parser.parse_args()


def main():
    options = arguments()
    if os.getuid() != 0:
        print("packaging: skipped: chroot needs root")
        return 0
    need_programs()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        package = run(ROOT / "packaging/debian/build.sh", options.server, options.loader, folder).strip()
        good &= report("lint", check_lint, package)
        system = System(folder, package)
        try:
            for scenario in SCENARIOS:
                good &= report(scenario.__name__.removeprefix("scenario_"), scenario, system)
        finally:
            system.close()
        if options.static:
            good &= report("static", check_static, options.static, folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
