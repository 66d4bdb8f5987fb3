"""Runs functions as scenarios against the server at REDIS_PORT: a line for each, exit code 1 when one fails."""

import os
import signal
import subprocess
import sys
import time
import traceback

PORT = int(os.environ["REDIS_PORT"])
URL = f"redis://127.0.0.1:{PORT}"


class Skip(Exception):
    """A scenario that this server cannot be asked for."""


def wait_for(condition, seconds=20.0):
    """Asks until the condition holds; what it returned last is returned."""
    deadline = time.monotonic() + seconds
    while True:
        result = condition()
        if result or time.monotonic() > deadline:
            return result
        time.sleep(0.02)


workers = []


def start_module(*arguments):
    """Starts a Python module as a worker in a process group of its own, and keeps it among `workers`."""
    worker = subprocess.Popen([sys.executable, "-m", *arguments], cwd=os.path.dirname(__file__), start_new_session=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    workers.append(worker)


def end(worker):
    """Ends a worker and its children at once."""
    try:
        os.killpg(worker.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    worker.wait()


def run(suite, scenarios, before=lambda: None):
    """Runs all, or those whose names are among the program's arguments."""
    failed = False
    for scenario in scenarios:
        name = scenario.__name__
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        begin = time.monotonic()
        try:
            before()
            scenario()
            print(f"ok   {suite}: {name} ({(time.monotonic() - begin) * 1000:.0f} ms)", flush=True)
        except Skip as reason:
            print(f"skip {suite}: {name}: {reason}", flush=True)
        except Exception as error:  # Whatever goes wrong is the scenario's result.
            failed = True
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            print(f"FAIL {suite}: {name}: {reason}", flush=True)
            traceback.print_exc()
    sys.exit(1 if failed else 0)
