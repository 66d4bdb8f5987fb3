"""Jobs that the workers of rq_jobs.py run."""

import os
import signal

import redis

from scenario import PORT

notes = redis.Redis(port=PORT, db=2, decode_responses=True)


def add(a, b):
    return a + b


def fail(message):
    raise ValueError(message)


def flaky(name, failures):
    """Fails so often before it succeeds."""
    attempt = notes.incr(name)
    if attempt <= failures:
        raise RuntimeError(f"attempt {attempt}")
    return attempt


def note(text):
    notes.rpush("notes", text)
    return text


def die(name):
    """Ends the process that runs the job, not the worker."""
    notes.incr(name)
    os.kill(os.getpid(), signal.SIGKILL)


def hang(name):
    """Tells which worker has it and stays."""
    import time

    if notes.incr(f"{name}:count") == 1:
        notes.set(name, os.getppid())
        time.sleep(600)
    return "finished"


def succeeded(job, connection, result, *_):
    notes.rpush("notes", f"callback {result}")
