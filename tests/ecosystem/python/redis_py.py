"""redis-py: what applications do with it beyond single commands."""

import asyncio
import threading
import time

import redis
import redis.asyncio
from redis.cache import CacheConfig
from redis.connection import CacheProxyConnection
from redis.exceptions import LockNotOwnedError, NoScriptError, ResponseError, WatchError

from scenario import PORT, run, wait_for


def connect(**options):
    return redis.Redis(port=PORT, decode_responses=True, **options)


def locks():
    r = connect()
    lock = r.lock("lock", timeout=10)
    assert lock.acquire(blocking=False)
    assert not r.lock("lock", timeout=10).acquire(blocking=False)
    assert lock.owned() and r.pttl("lock") > 9000
    lock.extend(10)
    assert r.pttl("lock") > 19000
    lock.reacquire()
    assert 9000 < r.pttl("lock") <= 10000
    lock.release()
    assert r.get("lock") is None
    stolen = r.lock("lock", timeout=10)
    stolen.acquire()
    r.set("lock", "somebody else's")
    try:
        stolen.release()
        raise AssertionError("released what it did not own")
    except LockNotOwnedError:
        assert r.get("lock") == "somebody else's"


def locks_keep_threads_apart():
    total = [0]

    def work():
        r = connect()
        for _ in range(25):
            with r.lock("mutex", timeout=30, sleep=0.001):
                seen = total[0]
                time.sleep(0.0001)
                total[0] = seen + 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert total[0] == 100, total


def pipelines_with_watch():
    conflicts = [0]

    def work():
        r = connect()
        for _ in range(50):
            with r.pipeline() as pipe:
                while True:
                    try:
                        pipe.watch("counter")
                        value = int(pipe.get("counter") or 0)
                        pipe.multi()
                        pipe.set("counter", value + 1)
                        pipe.rpush("values", value + 1)
                        pipe.execute()
                        break
                    except WatchError:
                        conflicts[0] += 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    r = connect()
    assert r.get("counter") == "200"
    assert r.lrange("values", 0, -1) == [str(n) for n in range(1, 201)]


def pipeline_of_errors():
    r = connect()
    with r.pipeline(transaction=False) as pipe:
        results = pipe.set("s", 1).lpush("s", 1).incr("s").execute(raise_on_error=False)
    assert results[0] is True and isinstance(results[1], ResponseError) and results[2] == 2, results
    with r.pipeline() as pipe:
        results = pipe.set("s", 1).lpush("s", 1).incr("s").execute(raise_on_error=False)
    assert results[0] is True and isinstance(results[1], ResponseError) and results[2] == 2, results
    assert r.transaction(lambda pipe: pipe.multi() or pipe.incr("s"), "s") == [3]


def publish_subscribe():
    r = connect()
    heard = []
    pubsub = r.pubsub(ignore_subscribe_messages=True)
    pubsub.subscribe(**{"news": lambda message: heard.append(message["data"])})
    pubsub.psubscribe(**{"news.*": lambda message: heard.append(message["channel"])})
    thread = pubsub.run_in_thread(sleep_time=0.01)
    assert wait_for(lambda: r.pubsub_numsub("news") == [("news", 1)] and r.pubsub_numpat() == 1)
    assert r.publish("news", "one") == 1
    assert r.publish("news.sport", "two") == 1
    assert wait_for(lambda: len(heard) == 2) and heard == ["one", "news.sport"], heard
    thread.stop()
    thread.join()
    assert wait_for(lambda: r.pubsub_channels() == [])


def registered_scripts():
    r = connect()
    script = r.register_script("""
        local current = tonumber(redis.call('GET', KEYS[1]) or '0')
        if current + ARGV[1] > tonumber(ARGV[2]) then return {err = 'LIMIT reached'} end
        return redis.call('INCRBY', KEYS[1], ARGV[1])
    """)
    assert script(keys=["n"], args=[5, 10]) == 5
    r.script_flush()
    assert script(keys=["n"], args=[5, 10]) == 10
    try:
        script(keys=["n"], args=[1, 10])
        raise AssertionError("no limit")
    except ResponseError as error:
        assert "LIMIT reached" in str(error), error
    assert r.script_exists(script.sha) == [True]
    with r.pipeline() as pipe:
        pipe.set("n", 0)
        script(keys=["n"], args=[3, 10], client=pipe)
        assert pipe.execute() == [True, 3]
    try:
        r.evalsha("f" * 40, 0)
        raise AssertionError("ran an unknown script")
    except NoScriptError:
        pass


def script_results():
    r = connect(protocol=3)
    assert r.eval("return {1, 2.9, 'x', true, false, {3, {4}}, nil, 5}", 0) == [1, 2, "x", 1, None, [3, [4]]]
    assert r.eval("return redis.status_reply('FINE')", 0) == "FINE"
    assert r.eval("redis.setresp(3) return redis.call('HGETALL', KEYS[1])", 1, "none") == {}
    assert r.eval("return cjson.encode({a = {1, 2, cjson.null}})", 0) == '{"a":[1,2,null]}'
    assert r.eval("return redis.sha1hex('')", 0) == "da39a3ee5e6b4b0d3255bfef95601890afd80709"
    assert r.eval("return redis.pcall('NOSUCH')['err']", 0).startswith("ERR Unknown command")


def functions():
    r = connect()
    code = """#!lua name=shop
        local function stock(keys, args)
            return redis.call('HINCRBY', keys[1], args[1], args[2])
        end
        redis.register_function('stock', stock)
        redis.register_function{function_name = 'left', callback = function(keys, args)
            return redis.call('HGET', keys[1], args[1]) end, flags = {'no-writes'}}
    """
    assert r.function_load(code) == "shop"
    assert r.fcall("stock", 1, "warehouse", "apples", 7) == 7
    assert r.fcall_ro("left", 1, "warehouse", "apples") == "7"
    assert [library[1] for library in r.function_list()] == ["shop"] or len(r.function_list()) == 1
    dump = r.execute_command("FUNCTION", "DUMP", NEVER_DECODE=True)
    r.function_flush()
    r.execute_command("FUNCTION", "RESTORE", dump)
    assert r.fcall("stock", 1, "warehouse", "apples", 1) == 8
    r.function_delete("shop")


def client_side_cache():
    # The library wants to be told that this is Redis, of version 7.4 at least, though it uses nothing that Valkey has not.
    CacheProxyConnection.DEFAULT_SERVER_NAME = "valkey"
    CacheProxyConnection.MIN_ALLOWED_VERSION = "7.0.0"
    cached = redis.Redis(port=PORT, decode_responses=True, protocol=3, cache_config=CacheConfig())
    other = connect()
    other.set("k", "old")
    assert cached.get("k") == "old" and cached.get("k") == "old"
    assert cached.get_cache().size == 1
    other.set("k", "new")
    assert wait_for(lambda: cached.get("k") == "new")
    other.hset("h", "f", "1")
    assert cached.hget("h", "f") == "1"
    other.hset("h", "f", "2")
    assert wait_for(lambda: cached.hget("h", "f") == "2")


def stream_consumers():
    r = connect()
    r.xgroup_create("jobs", "workers", mkstream=True)
    ids = [r.xadd("jobs", {"n": n}) for n in range(20)]
    crashed = r.xreadgroup("workers", "crashed", {"jobs": ">"}, count=8)
    assert [entry[0] for entry in crashed[0][1]] == ids[:8]
    done = []
    while batch := r.xreadgroup("workers", "alive", {"jobs": ">"}, count=5):
        for entry, _ in batch[0][1]:
            done.append(entry)
            r.xack("jobs", "workers", entry)
    assert done == ids[8:]
    assert r.xpending("jobs", "workers")["pending"] == 8
    start = "0-0"
    while True:
        start, entries, gone = r.xautoclaim("jobs", "workers", "alive", min_idle_time=0, start_id=start, count=3)
        assert gone == []
        done.extend(entry for entry, _ in entries)
        if entries:
            r.xack("jobs", "workers", *[entry for entry, _ in entries])
        if start == "0-0":
            break
    assert sorted(done) == sorted(ids)
    assert r.xpending("jobs", "workers")["pending"] == 0
    info = r.xinfo_groups("jobs")[0]
    assert info["lag"] == 0 and info["entries-read"] == 20, info


def blocking_queue():
    r = connect()
    taken = []

    def work():
        own = connect()
        while (item := own.blmove("queue", "taken", 5, "RIGHT", "LEFT")) != "stop":
            taken.append(item)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(60):
        r.lpush("queue", n)
    for _ in threads:
        r.lpush("queue", "stop")
    for thread in threads:
        thread.join()
    assert sorted(taken, key=int) == [str(n) for n in range(60)]


def asynchronous():
    async def work():
        r = redis.asyncio.Redis(port=PORT, decode_responses=True)
        async with r.pipeline(transaction=True) as pipe:
            assert await pipe.set("a", 1).incr("a").execute() == [True, 2]
        await asyncio.gather(*[r.incr("total") for _ in range(100)])
        assert await r.get("total") == "100"
        async with r.pubsub() as pubsub:
            await pubsub.subscribe("c")
            assert (await pubsub.get_message(timeout=5))["type"] == "subscribe"
            await r.publish("c", "hello")
            assert (await pubsub.get_message(timeout=5))["data"] == "hello"
        async with r.lock("async-lock", timeout=5):
            assert await r.exists("async-lock")
        assert not await r.exists("async-lock")
        await r.aclose()

    asyncio.run(work())


def reconnects():
    r = connect()
    r.set("k", "v")
    connect().client_kill_filter(_type="normal", skipme=True)
    assert r.get("k") == "v"


run("redis-py", [
    locks, locks_keep_threads_apart, pipelines_with_watch, pipeline_of_errors, publish_subscribe, registered_scripts,
    script_results, functions, client_side_cache, stream_consumers, blocking_queue, asynchronous, reconnects,
], before=lambda: connect().flushall())
