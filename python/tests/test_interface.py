"""What programs that know redis-py call on a store: pipelines, scripts, locks, commands that wait, messages, streams, places."""

import subprocess
import sys
import tempfile
import threading
import time
import unittest

import larder


class InterfaceTest(unittest.TestCase):
    def setUp(self):
        self.store = larder.Store(decode_responses=True)
        self.addCleanup(self.store.close)

    def test_pipelines(self):
        store = self.store
        with store.pipeline() as pipe:
            replies = pipe.set("a", 1).incr("a").hset("h", mapping={"f": "v"}).hgetall("h").zadd("z", {"m": 2}).zscore("z", "m").execute()
        self.assertEqual(replies, [True, 2, 1, {"f": "v"}, 1, 2.0])
        self.assertEqual(store.pipeline().execute(), [])
        pipe = store.pipeline()
        pipe.set("a", "text").incr("a").get("a")
        with self.assertRaisesRegex(larder.ResponseError, "not an integer"):
            pipe.execute()
        pipe.incr("a").get("a")
        self.assertEqual([type(reply).__name__ for reply in pipe.execute(raise_on_error=False)], ["ResponseError", "str"])
        with self.assertRaises(larder.ExecAbortError):
            store.pipeline().set("b", 1).execute_command("NOSUCH").execute()
        self.assertIsNone(store.get("b"))
        self.assertEqual(store.pipeline(transaction=False).set("b", 1).get("b").execute(), [True, "1"])

    def test_watched_keys(self):
        store = self.store
        with store.pipeline() as pipe:
            pipe.watch("k")
            self.assertIsNone(pipe.get("k"))
            store.set("k", "other")
            pipe.multi()
            pipe.set("k", "mine")
            with self.assertRaises(larder.WatchError):
                pipe.execute()
        self.assertEqual(store["k"], "other")
        store.set("n", 1)

        def double(pipe):
            number = int(pipe.get("n"))
            pipe.multi()
            pipe.set("n", 2 * number)

        self.assertEqual(store.transaction(double, "n"), [True])
        self.assertEqual(store["n"], "2")

    def test_items(self):
        store = self.store
        store["k"] = "v"
        self.assertEqual((store["k"], "k" in store, "x" in store), ("v", True, False))
        del store["k"]
        for missing in [lambda: store["k"], lambda: store.__delitem__("k")]:
            self.assertRaises(KeyError, missing)

    def test_the_store_itself(self):
        store = self.store
        self.assertIs(store.ping(), True)
        self.assertEqual(store.echo("x"), "x")
        self.assertEqual(store.info("keyspace"), {})
        store.set("k", 1)
        self.assertEqual(store.info("keyspace")["db0"]["keys"], 1)
        self.assertGreater(store.info()["uptime_in_seconds"], -1)
        self.assertEqual(store.config_get("databases"), {"databases": "16"})
        self.assertLess(abs(store.time()[0] - time.time()), 5)

    def test_scripts(self):
        store = self.store
        self.assertEqual(store.eval("return {KEYS[1], ARGV[1]}", 1, "k", "a"), ["k", "a"])
        script = store.register_script("return redis.call('incrby', KEYS[1], ARGV[1])")
        with self.assertRaises(larder.NoScriptError):
            store.evalsha(script.sha, 1, "n", 1)
        self.assertEqual((script(keys=["n"], args=[2]), script(keys=["n"], args=[3])), (2, 5))
        self.assertEqual(store.script_exists(script.sha, "0" * 40), [True, False])
        self.assertEqual(script(keys=["n"], args=[1], client=store.pipeline()).execute(), [6])

    def test_locks(self):
        store = self.store
        lock = store.lock("l", timeout=10)
        with lock:
            self.assertTrue(lock.locked() and lock.owned())
            self.assertFalse(store.lock("l").acquire(blocking=False))
            self.assertFalse(store.lock("l", sleep=0.001).acquire(blocking_timeout=0.005))
            self.assertTrue(lock.extend(10))
            self.assertGreater(store.pttl("l"), 10_000)
        self.assertFalse(lock.locked())
        with self.assertRaises(larder.LockError):
            lock.release()
        lock.acquire()
        store.delete("l")
        with self.assertRaises(larder.LockError):
            lock.release()
        order = []

        def work(number):
            with store.lock("shared", sleep=0.001):
                order.append(number)
                order.append(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        self.assertEqual(order[::2], order[1::2])

    def test_commands_that_wait(self):
        store = self.store
        store.rpush("l", "a", "b")
        self.assertEqual(store.blpop("l"), ("l", "a"))
        self.assertEqual(store.brpop(["none", "l"], timeout=1), ("l", "b"))
        self.assertIsNone(store.blpop("l", timeout=0.01))
        store.zadd("z", {"m": 1.5})
        self.assertEqual(store.bzpopmin("z", 1), ("z", "m", 1.5))
        self.assertIsNone(store.blmove("l", "m", 0.01))
        taken = []
        thread = threading.Thread(target=lambda: taken.append(store.blpop("later", 30)))
        thread.start()
        while not store.info("clients")["blocked_clients"]:
            time.sleep(0.001)
        store.rpush("later", "x")
        thread.join(30)
        self.assertEqual(taken, [("later", "x")])

    def test_messages(self):
        store = self.store
        heard = []
        with store.pubsub() as pubsub:
            pubsub.subscribe("a", b=heard.append)
            pubsub.psubscribe("p*")
            kinds = [pubsub.get_message(timeout=30)["type"] for _ in range(3)]
            self.assertEqual(kinds, ["subscribe", "subscribe", "psubscribe"])
            self.assertEqual((store.publish("a", 1), store.publish("b", 2), store.publish("px", 3), store.publish("x", 4)), (1, 1, 1, 0))
            self.assertEqual(pubsub.get_message(timeout=30), {"type": "message", "pattern": None, "channel": "a", "data": "1"})
            self.assertIsNone(pubsub.get_message(timeout=30))
            self.assertEqual(heard[0]["data"], "2")
            self.assertEqual(pubsub.get_message(timeout=30), {"type": "pmessage", "pattern": "p*", "channel": "px", "data": "3"})
            self.assertIsNone(pubsub.get_message())
        self.assertEqual(store.publish("a", 1), 0)
        came = threading.Event()
        pubsub = store.pubsub()
        pubsub.subscribe(c=lambda _message: came.set())
        worker = pubsub.run_in_thread(0.01)
        store.publish("c", "x")
        self.assertTrue(came.wait(30))
        worker.stop()
        worker.join(30)

    def test_streams(self):
        store = self.store
        first = store.xadd("s", {"f": "1"}, id="1-1")
        self.assertEqual(first, "1-1")
        store.xadd("s", {"f": "2"}, id="2-1")
        self.assertEqual(store.xrange("s", count=1), [("1-1", {"f": "1"})])
        self.assertEqual(store.xrevrange("s"), [("2-1", {"f": "2"}), ("1-1", {"f": "1"})])
        self.assertEqual(store.xread({"s": "1-1"}), [["s", [("2-1", {"f": "2"})]]])
        self.assertEqual(store.xread({"s": "$"}, block=1), [])
        self.assertTrue(store.xgroup_create("s", "g", "0"))
        self.assertEqual(store.xreadgroup("g", "c", {"s": ">"}, count=1), [["s", [("1-1", {"f": "1"})]]])
        self.assertEqual(store.xpending("s", "g"), {"pending": 1, "min": "1-1", "max": "1-1", "consumers": [{"name": "c", "pending": 1}]})
        self.assertEqual(store.xpending_range("s", "g", "-", "+", 9)[0]["message_id"], "1-1")
        self.assertEqual(store.xclaim("s", "g", "d", 0, ["1-1"]), [("1-1", {"f": "1"})])
        self.assertEqual(store.xautoclaim("s", "g", "c", 0)[1], [("1-1", {"f": "1"})])
        self.assertEqual(store.xack("s", "g", "1-1"), 1)
        self.assertEqual(store.xinfo_stream("s")["last-entry"], ("2-1", {"f": "2"}))
        self.assertEqual(store.xinfo_groups("s")[0]["name"], "g")
        self.assertEqual((store.xlen("s"), store.xtrim("s", maxlen=1, approximate=False), store.xdel("s", "2-1")), (2, 1, 1))

    def test_places(self):
        store = self.store
        self.assertEqual(store.geoadd("g", (13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania")), 2)
        self.assertAlmostEqual(store.geodist("g", "Palermo", "Catania", "km"), 166.27, 1)
        self.assertEqual(store.geohash("g", "Palermo"), ["sqc8b49rny0"])
        longitude, latitude = store.geopos("g", "Palermo")[0]
        self.assertAlmostEqual(longitude, 13.361389, 4)
        self.assertEqual(store.geopos("g", "none"), [None])
        self.assertEqual(store.geosearch("g", longitude=15, latitude=37, radius=200, unit="km", sort="ASC"), ["Catania", "Palermo"])
        found = store.geosearch("g", member="Palermo", radius=1, unit="km", withdist=True, withcoord=True)
        self.assertEqual((found[0][0], found[0][1]), ("Palermo", 0.0))
        self.assertEqual(store.geosearchstore("near", "g", member="Palermo", radius=1), 1)

    def test_fields_that_expire(self):
        store = self.store
        store.hset("h", mapping={"a": 1, "b": 2})
        self.assertEqual(store.hexpire("h", 100, "a", "x"), [1, -2])
        self.assertEqual(store.httl("h", "a", "b", "x"), [100, -1, -2])
        self.assertEqual(store.hpersist("h", "a"), [1])
        self.assertEqual(store.hgetex("h", "a", ex=50), ["1"])
        self.assertEqual(store.hsetex("h", {"c": 3}, ex=10), 1)
        self.assertGreater(store.hpttl("h", "c")[0], 5_000)

    def test_iterators_and_more(self):
        store = self.store
        store.sadd("s", *range(600))
        store.zadd("z", {str(n): n for n in range(600)})
        self.assertEqual(len(set(store.sscan_iter("s"))), 600)
        self.assertEqual(dict(store.zscan_iter("z"))["7"], 7.0)
        store.set("k", "v")
        self.assertEqual(store.getex("k", ex=100), "v")
        self.assertGreater(store.ttl("k"), 90)
        store.rpush("l", 3, 1, 2)
        self.assertEqual(store.sort("l"), ["1", "2", "3"])
        self.assertEqual(store.sort("l", desc=True, start=0, num=1, store="sorted"), 1)
        self.assertEqual(store.zrevrangebyscore("z", 2, 1, withscores=True), [("2", 2.0), ("1", 1.0)])
        self.assertEqual(store.zunion(["z", "none"])[:1], ["0"])
        self.assertEqual((store.linsert("l", "BEFORE", 1, "x"), store.lmove("l", "m")), (4, "3"))
        self.assertTrue(store.copy("k", "k2") and store.renamenx("k2", "k3"))
        self.assertEqual(store.bitop("AND", "b", "k", "k"), 1)

    def test_a_directory_keeps_everything(self):
        with tempfile.TemporaryDirectory() as directory:
            with larder.Store(directory=directory) as store:
                store.set("a", 1)
            with larder.Store(directory=directory) as store:
                self.assertEqual(store.get("a"), b"1")
            with larder.Store(directory=directory, persist=False) as store:
                store.set("b", 1)
            program = (
                "import larder, os, signal, sys\n"
                "store = larder.Store(directory=sys.argv[1])\n"
                "store.set('c', 1)\n"
                "os.kill(os.getpid(), signal.SIGKILL)\n"
            )
            subprocess.run([sys.executable, "-c", program, directory])
            with larder.Store(directory=directory) as store:
                self.assertEqual(store.mget("a", "b", "c"), [b"1", None, b"1"])


if __name__ == "__main__":
    unittest.main()
