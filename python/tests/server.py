"""A server for tests: LARDER_SERVER on a free port and a unix socket, ended by its own handle."""

import ctypes
import os
import signal
import socket
import subprocess
import tempfile
import time

import redis


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


#: Of prctl: the signal that a process gets when its parent ends.
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None)


def end_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    def __init__(self, *options, password=None):
        self.dir = tempfile.TemporaryDirectory()
        self.port = free_port()
        self.socket = f"{self.dir.name}/socket"
        self.options = options
        self.password = password
        self.start()

    def start(self):
        path = os.environ["LARDER_SERVER"]
        options = ["--port", str(self.port), "--unixsocket", self.socket, "--save", "", "--dir", self.dir.name]
        # A replica gets its snapshot at once, and not together with others that might come.
        options += ["--repl-diskless-sync-delay", "0"]
        self.process = subprocess.Popen([path, *options, *self.options], stdout=subprocess.DEVNULL, preexec_fn=end_with_parent)
        self.redis = redis.Redis(port=self.port, password=self.password)
        deadline = time.monotonic() + 60
        while True:
            try:
                self.redis.ping()
                return
            except redis.ConnectionError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.01)

    def stop(self):
        self.redis.close()
        self.process.terminate()
        assert self.process.wait(60) == 0

    def halt(self):
        """Stops it until `resume`. None of its threads runs any more afterwards: one of them takes the signal and stops the others, and
        on a busy machine they go on until it is its turn."""
        os.kill(self.process.pid, signal.SIGSTOP)
        tasks = f"/proc/{self.process.pid}/task"

        def stands(task):
            with open(f"{tasks}/{task}/stat") as stat:
                return stat.read().rpartition(")")[2].split()[0] == "T"

        until(lambda: all(stands(task) for task in os.listdir(tasks)), "it stands")

    def resume(self):
        os.kill(self.process.pid, signal.SIGCONT)

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def close(self):
        self.stop()
        self.dir.cleanup()


def until(is_so, what="it comes true"):
    """Looks again and again, for a minute at most."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, f"a minute has passed until {what}"
        time.sleep(0.005)
