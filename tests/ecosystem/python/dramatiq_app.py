"""The actors that the workers of dramatiq_jobs.py run."""

import os
import signal
import time

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker
from dramatiq.rate_limits import ConcurrentRateLimiter, WindowRateLimiter
from dramatiq.rate_limits.backends import RedisBackend as LimitBackend
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from scenario import PORT, URL

notes = redis.Redis(port=PORT, db=2, decode_responses=True)
results = RedisBackend(url=URL)
broker = RedisBroker(url=URL, heartbeat_timeout=3000, dead_message_ttl=60000,
                     maintenance_chance=100000)
broker.add_middleware(Results(backend=results, store_results=True))
broker.add_middleware(dramatiq.middleware.GroupCallbacks(LimitBackend(url=URL)))
dramatiq.set_broker(broker)
limits = LimitBackend(url=URL)


@dramatiq.actor
def add(a, b):
    return a + b


@dramatiq.actor
def note(text):
    notes.rpush("notes", text)


@dramatiq.actor(max_retries=5, min_backoff=50, max_backoff=100)
def flaky(name, failures):
    """Fails so often before it succeeds."""
    attempt = notes.incr(name)
    if attempt <= failures:
        raise RuntimeError(f"attempt {attempt}")
    return attempt


@dramatiq.actor(max_retries=1, min_backoff=10, max_backoff=10)
def hopeless(name):
    notes.incr(name)
    raise RuntimeError("always")


@dramatiq.actor(max_retries=50, min_backoff=20, max_backoff=50)
def alone(n):
    """One at a time, whatever the number of workers."""
    with ConcurrentRateLimiter(limits, "alone", limit=1).acquire():
        inside = notes.incr("inside")
        time.sleep(0.02)
        notes.decr("inside")
        notes.rpush("notes", inside)


@dramatiq.actor(max_retries=3)
def die_once(name):
    """Takes the worker with it the first time."""
    if notes.incr(name) == 1:
        os.killpg(os.getpgrp(), signal.SIGKILL)
    return "rescued"
