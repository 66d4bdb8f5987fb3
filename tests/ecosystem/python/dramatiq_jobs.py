"""Dramatiq: its broker is one script; groups, pipelines, rate limits, a worker that is killed."""

import time

import dramatiq
import redis
from dramatiq.rate_limits import WindowRateLimiter

from dramatiq_app import add, alone, die_once, flaky, hopeless, limits, note, notes
from scenario import PORT, end, run, start_module, wait_for, workers

connection = redis.Redis(port=PORT)
WAIT = {"block": True, "timeout": 30000}


def start_worker():
    start_module("dramatiq", "dramatiq_app", "-p", "1", "-t", "4")


def results():
    messages = [add.send(n, n) for n in range(50)]
    assert [message.get_result(**WAIT) for message in messages] == [2 * n for n in range(50)]


def retries():
    assert flaky.send("flaky", 3).get_result(**WAIT) == 4
    hopeless.send("hopeless")
    assert wait_for(lambda: connection.zcard("dramatiq:default.XQ") == 1)
    assert notes.get("hopeless") == "2"


def delays():
    begin = time.time()
    note.send_with_options(args=("late",), delay=800)
    note.send("now")
    assert wait_for(lambda: notes.llen("notes") == 2)
    assert notes.lrange("notes", 0, -1) == ["now", "late"] and time.time() - begin >= 0.7


def groups_and_pipelines():
    group = dramatiq.group([add.message(n, 1) for n in range(20)]).run()
    assert list(group.get_results(**WAIT)) == [n + 1 for n in range(20)]
    assert (add.message(1, 2) | add.message(3) | add.message(4)).run().get_result(**WAIT) == 10
    called = dramatiq.group([add.message(1, 1), add.message(2, 2)])
    called.add_completion_callback(note.message("callback"))
    called.run()
    assert wait_for(lambda: notes.lrange("notes", 0, -1) == ["callback"])


def rate_limits():
    for n in range(10):
        alone.send(n)
    assert wait_for(lambda: notes.llen("notes") == 10)
    assert notes.lrange("notes", 0, -1) == ["1"] * 10
    window = WindowRateLimiter(limits, "window", limit=5, window=60)
    entered = 0
    for _ in range(8):
        with window.acquire(raise_on_failure=False) as acquired:
            entered += acquired
    assert entered == 5, entered


def killed_worker():
    message = die_once.send("victim")
    assert wait_for(lambda: notes.get("victim") == "1")
    workers[-1].wait(20)
    # As if its heartbeats had been missing for a minute.
    for worker in connection.zrange("dramatiq:__heartbeats__", 0, -1):
        connection.zadd("dramatiq:__heartbeats__", {worker: int((time.time() - 60) * 1000)})
    start_worker()
    assert wait_for(lambda: notes.get("victim") == "2", 60)
    assert message.get_result(**WAIT) == "rescued"


connection.flushall()
start_worker()
try:
    run("dramatiq", [results, retries, delays, groups_and_pipelines, rate_limits, killed_worker], before=notes.flushdb)
finally:
    for started in workers:
        end(started)
