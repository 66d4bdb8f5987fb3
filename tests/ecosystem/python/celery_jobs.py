"""Celery with the server as broker and as result backend; one worker that is killed, and another."""

import time

import redis
from celery import chain, chord, group

from celery_app import add, app, die_once, fail, flaky, hopeless, limited, note, notes, sleepy, started_at, total
from scenario import PORT, end, run, start_module, wait_for, workers

WAIT = {"timeout": 60, "interval": 0.02}


def start_worker(name):
    start_module("celery", "-A", "celery_app", "worker", "-c", "2", "-n", f"{name}@here", "-l", "WARNING")


def results():
    assert add.delay(2, 3).get(**WAIT) == 5
    pending = [add.delay(n, n) for n in range(50)]
    assert [result.get(**WAIT) for result in pending] == [2 * n for n in range(50)]


def errors():
    result = fail.delay("on purpose")
    try:
        result.get(**WAIT)
        raise AssertionError("no error")
    except ValueError as error:
        assert "on purpose" in str(error)
    assert result.state == "FAILURE"
    fail.apply_async(["second"], link_error=note.s("error callback"))
    assert wait_for(lambda: notes.lrange("notes", 0, -1) == ["error callback"])


def retries():
    assert flaky.delay("flaky", 3).get(**WAIT) == 4
    result = hopeless.delay("hopeless")
    try:
        result.get(**WAIT)
        raise AssertionError("no error")
    except KeyError:
        assert notes.get("hopeless") == "2"


def countdown():
    begin = time.time()
    later = started_at.apply_async(countdown=1.5)
    now = started_at.delay()
    assert now.get(**WAIT) - begin < 1.4
    assert later.get(**WAIT) - begin >= 1.4


def chains():
    assert chain(add.s(1, 2), add.s(10), add.s(100)).delay().get(**WAIT) == 113


def groups():
    result = group(add.s(n, 1) for n in range(20)).delay()
    assert result.get(**WAIT) == [n + 1 for n in range(20)]


def chords():
    assert chord((add.s(n, n) for n in range(15)), total.s()).delay().get(**WAIT) == 210
    assert chord([add.s(1, 1), chain(add.s(2, 2), add.s(3))], total.s())().get(**WAIT) == 9
    broken = chord([add.s(1, 1), fail.s("in a chord")], total.s())()
    try:
        broken.get(**WAIT)
        raise AssertionError("no error")
    except Exception as error:
        assert "in a chord" in str(error), error


def rate_limits():
    pending = [limited.delay(n) for n in range(6)]
    assert [result.get(**WAIT) for result in pending] == list(range(6))
    times = [float(text) for text in notes.lrange("limited", 0, -1)]
    assert max(times) - min(times) > 0.7, times


def remote_control():
    assert app.control.ping(timeout=5, limit=1)[0]["first@here"] == {"ok": "pong"}
    result = sleepy.apply_async([0.1], countdown=3600)
    assert wait_for(lambda: (app.control.inspect(limit=1, timeout=5).scheduled() or {}).get("first@here"))
    result.revoke()
    assert wait_for(lambda: result.id in (app.control.inspect(limit=1, timeout=5).revoked() or {}).get("first@here", []))


def priorities_and_queues():
    add.apply_async([1, 1], queue="other")
    r = redis.Redis(port=PORT)
    assert r.llen("other") == 1
    app.control.add_consumer("other", reply=True, destination=["first@here"])
    assert wait_for(lambda: r.llen("other") == 0)


def expired_results():
    result = add.delay(1, 1)
    assert result.get(**WAIT) == 2
    r = redis.Redis(port=PORT, db=1)
    assert 0 < r.ttl(f"celery-task-meta-{result.id}") <= 60
    result.forget()
    assert not r.exists(f"celery-task-meta-{result.id}")


def killed_worker():
    """A task whose worker is killed comes back when the time for its acknowledgement is over."""
    result = die_once.delay("victim")
    assert wait_for(lambda: notes.get("victim:pid"))
    end(workers[0])
    start_worker("second")
    assert result.get(timeout=90, interval=0.05) == "2"


def before():
    notes.flushdb()


redis.Redis(port=PORT).flushall()
start_worker("first")
try:
    run("celery", [
        results, errors, retries, countdown, chains, groups, chords, rate_limits, remote_control, priorities_and_queues,
        expired_results, killed_worker,
    ], before=before)
finally:
    for started in workers:
        end(started)
