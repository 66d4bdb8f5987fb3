"""The Celery application that the workers of celery_jobs.py run. Messages in database 0, results in database 1."""

import os
import time

import redis
from celery import Celery
from celery.utils.log import get_task_logger

from scenario import PORT, URL

app = Celery("jobs", broker=f"{URL}/0", backend=f"{URL}/1")
app.conf.update(
    broker_connection_retry_on_startup=True,
    broker_transport_options={"visibility_timeout": 4, "unacked_restore_interval": 1},
    result_expires=60,
    task_acks_late=True,
    task_default_queue="celery",
    task_track_started=True,
    worker_hijack_root_logger=False,
    worker_prefetch_multiplier=1,
    worker_send_task_events=True,
)
log = get_task_logger(__name__)
notes = redis.Redis(port=PORT, db=2, decode_responses=True)


@app.task
def add(a, b):
    return a + b


@app.task
def total(numbers):
    return sum(numbers)


@app.task
def fail(message):
    raise ValueError(message)


@app.task
def note(*arguments):
    notes.rpush("notes", str(arguments[-1]))


@app.task(bind=True, max_retries=5)
def flaky(self, name, failures):
    """Fails so often before it succeeds."""
    attempt = notes.incr(name)
    if attempt <= failures:
        raise self.retry(countdown=0.1, exc=RuntimeError(f"attempt {attempt}"))
    return attempt


@app.task(autoretry_for=(KeyError,), retry_backoff=1, retry_backoff_max=1, retry_jitter=False, max_retries=1)
def hopeless(name):
    notes.incr(name)
    raise KeyError(name)


@app.task
def started_at():
    return time.time()


@app.task
def die_once(name):
    """Takes the whole worker with it the first time."""
    if notes.incr(name) == 1:
        notes.set(f"{name}:pid", os.getppid())
        time.sleep(600)
    return notes.get(name)


@app.task(bind=True)
def sleepy(self, seconds):
    time.sleep(seconds)
    return "slept"


@app.task(rate_limit="5/s")
def limited(n):
    notes.rpush("limited", time.time())
    return n
