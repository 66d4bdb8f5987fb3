"""A store inside of the process."""

import gc
import threading
import unittest

import larder


class StoreTest(unittest.TestCase):
    def setUp(self):
        self.store = larder.Store()
        self.addCleanup(self.store.close)

    def test_words_are_bytes_text_and_numbers(self):
        store = self.store
        for value, wanted in [
            (b"a\x00\xff", b"a\x00\xff"),
            ("\u00e4", "\u00e4".encode()),
            (bytearray(b"ab"), b"ab"),
            (memoryview(b"abcd")[::2], b"ac"),
            (-7, b"-7"),
            (1.5, b"1.5"),
            (2**70, str(2**70).encode()),
            (b"x" * 100_000, b"x" * 100_000),
        ]:
            self.assertIs(store.set("key", value), True)
            self.assertEqual(store.get(b"key"), wanted)
        for value in [None, True, object(), ["a"]]:
            with self.assertRaises(larder.DataError):
                store.set("key", value)
        with self.assertRaises(UnicodeEncodeError):
            store.get("\ud800")
        self.assertEqual(store.get(b"key"), b"x" * 100_000)

    def test_replies_of_every_type(self):
        store = self.store
        self.assertIsNone(store.get("none"))
        self.assertEqual(store.hset("h", mapping={"a": 1, "b": b"two"}), 2)
        self.assertEqual(store.hset("h", "c", "v" * 300), 1)
        self.assertEqual(store.hgetall("h"), {b"a": b"1", b"b": b"two", b"c": b"v" * 300})
        self.assertEqual(store.hgetall("none"), {})
        self.assertEqual(store.hget("h", "b"), b"two")
        self.assertEqual(store.hmget("h", ["a", "x"], "b"), [b"1", None, b"two"])
        self.assertEqual(store.hmget("h", "a"), [b"1"])
        self.assertEqual((store.hlen("h"), store.hexists("h", "a"), store.hexists("h", "x")), (3, True, False))
        self.assertEqual(sorted(store.hkeys("h")), [b"a", b"b", b"c"])
        self.assertIn(b"two", store.hvals("h"))
        self.assertEqual(dict(store.hscan_iter("h")), store.hgetall("h"))
        self.assertEqual(store.rpush("l", *range(20)), 20)
        self.assertEqual(store.lrange("l", 0, -1), [str(n).encode() for n in range(20)])
        self.assertEqual((store.llen("l"), store.lindex("l", -1), store.lindex("l", 99)), (20, b"19", None))
        self.assertEqual((store.lpop("l"), store.rpop("l", 2)), (b"0", [b"19", b"18"]))
        self.assertEqual(store.sadd("s", "a", "b"), 2)
        self.assertEqual(store.smembers("s"), {b"a", b"b"})
        self.assertEqual((store.sismember("s", "a"), store.sismember("s", "x"), store.scard("s")), (True, False, 2))
        self.assertEqual(store.smismember("s", ["a", "x"]), [True, False])
        self.assertEqual(store.zadd("z", {"a": 1, "b": 2.5}), 2)
        self.assertEqual((store.zscore("z", "b"), store.zscore("z", "x"), store.zcard("z")), (2.5, None, 2))
        self.assertEqual(store.zrange("z", 0, -1), [b"a", b"b"])
        self.assertEqual(store.zrange("z", 0, -1, desc=True, withscores=True), [(b"b", 2.5), (b"a", 1.0)])
        self.assertEqual(store.zrangebyscore("z", "(1", "+inf", withscores=True), [(b"b", 2.5)])
        self.assertEqual(store.zpopmin("z"), [(b"a", 1.0)])
        self.assertEqual(store.mget(["none", "h"], "l"), [None, None, None])
        store.mset({"k1": 1, "k2": 2})
        self.assertEqual(store.mget("k1", "k2"), [b"1", b"2"])
        self.assertEqual(store.exists("k1", "k1", "none"), 2)
        self.assertEqual((store.ttl("k1"), store.ttl("none")), (-1, -2))
        self.assertTrue(store.expire("k1", 100))
        self.assertIn(store.ttl("k1"), range(90, 101))
        self.assertIsNone(store.set("k1", "x", nx=True))
        self.assertEqual(store.set("k1", "x", xx=True, get=True), b"1")
        self.assertEqual((store.incr("n"), store.decr("n", 3), store.incrbyfloat("n", 0.5)), (1, -2, -1.5))
        self.assertEqual(store.xadd("x", {"f": "v"}, id="1-1"), b"1-1")
        self.assertEqual(store.xrange("x"), [(b"1-1", {b"f": b"v"})])
        self.assertEqual(set(store.scan_iter("k*")), {b"k1", b"k2"})
        self.assertEqual(store.execute_command("CONFIG", "GET", "databases"), {b"databases": b"16"})
        self.assertEqual(store.execute_command("SET", "a", "b"), b"OK")
        self.assertEqual(store.delete("a", "k1", "none"), 2)
        self.assertIs(store.flushall(), True)
        self.assertEqual(store.dbsize(), 0)

    def test_decoded_replies(self):
        with larder.Store(decode_responses=True) as store:
            store.hset("h", mapping={"\u00e4": "\u20ac"})
            self.assertEqual(store.hgetall("h"), {"\u00e4": "\u20ac"})
            self.assertEqual(store.execute_command("SET", "a", "b"), "OK")
            store.sadd("s", "m")
            self.assertEqual((store.smembers("s"), store.get("a"), store.type("s")), ({"m"}, "b", "set"))
            store.set("binary", b"\xff")
            with self.assertRaises(UnicodeDecodeError):
                store.get("binary")
            self.assertTrue(store.decode_responses)

    def test_errors(self):
        store = self.store
        store.set("key", "value")
        with self.assertRaisesRegex(larder.ResponseError, "^WRONGTYPE "):
            store.hgetall("key")
        with self.assertRaisesRegex(larder.ResponseError, "^unknown command"):
            store.execute_command("NOSUCH")
        with self.assertRaisesRegex(larder.ResponseError, "about a connection"):
            store.execute_command("MULTI")
        with self.assertRaises(larder.OptionError):
            larder.Store(options={"port": 1})
        with self.assertRaises(larder.ResponseError):
            larder.Store(db=99).get("key")
        with self.assertRaises(TypeError):
            store.get()

    def test_options_and_databases(self):
        with larder.Store(db=2, options={"databases": 3, "hash_max_listpack_entries": 1}) as store:
            store.hset("h", mapping={"a": 1, "b": 2})
            self.assertEqual(store.execute_command("OBJECT", "ENCODING", "h"), b"hashtable")

    def test_transactions(self):
        replies = self.store.transaction([("SET", "a", 1), ("HGET", "a", "x"), ("INCR", "a")])
        self.assertEqual((replies[0], replies[2]), (b"OK", 2))
        self.assertIsInstance(replies[1], larder.ResponseError)
        with self.assertRaises(larder.ResponseError):
            self.store.transaction([("SET", "a", 9), ("NOSUCH",)])
        self.assertEqual(self.store.get("a"), b"2")

    def test_scripts_and_what_they_return(self):
        run = self.store.execute_command
        self.assertEqual(run("EVAL", "return {1, 'a', {true, false}}", 0), [1, b"a", [1, None]])
        run("EVAL", "redis.setresp(3) return redis.call('HSET', KEYS[1], 'f', 'v')", 1, "h")
        self.assertEqual(run("EVAL", "return {map={a=1}}", 0), {b"a": 1})
        self.assertEqual(run("EVAL", "return {set={a=true}}", 0), {b"a"})
        self.assertEqual(run("EVAL", "return {double=1.5}", 0), 1.5)
        deep = run("EVAL", "local t = {} for i = 1, 100 do t = {t} end return t", 0)
        self.assertEqual(len(deep), 1)

    def test_threads_go_on_while_a_script_runs(self):
        """Another thread counts, and one reads what the script has locked: it waits without the lock of the interpreter."""
        self.store.set("key", "value")
        script = "local n = 0 for i = 1, 3e7 do n = n + 1 end return redis.call('GET', KEYS[1])"
        done = threading.Event()
        run = lambda: (self.store.execute_command("EVAL", script, 1, "key"), done.set())
        reads = lambda: [self.store.get("key") for _ in range(3)]
        threads = [threading.Thread(target=run), threading.Thread(target=reads)]
        for thread in threads:
            thread.start()
        count = 0
        while not done.is_set():
            count += 1
        self.assertGreater(count, 100)
        for thread in threads:
            thread.join()

    def test_many_threads(self):
        def work(number):
            for n in range(500):
                self.store.hset(f"h{number}", f"f{n % 20}", n)
                fields = self.store.hgetall(f"h{number}")
                self.assertLessEqual(len(fields), 20)
                self.store.incr("all")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.store.get("all"), b"4000")

    def test_closed(self):
        events = self.store.events()
        self.store.close()
        self.store.close()
        for call in [lambda: self.store.get("a"), lambda: self.store.keys(), self.store.events]:
            with self.assertRaises(larder.ClosedError):
                call()
        events.close()

    def test_events(self):
        with self.store.events(["a*"]) as events:
            self.store.set("b", 1)
            self.store.set("a1", 1)
            self.assertTrue(events.wait(60))
            self.assertEqual(events.get(60), larder.Event(b"a1"))
            self.store.flushall()
            match events.get(60):
                case larder.Event(None):
                    pass
                case other:
                    self.fail(other)
            self.assertIsNone(events.poll())
            self.assertIsNone(events.get(0.01))
        self.assertTrue(events.closed)
        self.assertEqual(list(events), [])

    def test_a_slow_listener_is_told_that_everything_may_have_changed(self):
        events = self.store.events(capacity=5)
        marks = self.store.events(["mark"])
        for n in range(20):
            self.store.set(f"k{n}", n)
        self.store.set("mark", 1)
        self.assertEqual(marks.get(60).key, b"mark")
        events.wait(60)
        self.assertIsNone(events.poll().key)

    def test_a_callback_and_its_errors(self):
        seen, done = [], threading.Event()

        def callback(event):
            seen.append(event.key)
            if event.key == b"bad":
                raise ValueError("as the test wants it")
            if event.key == b"last":
                done.set()

        with self.assertLogs("larder", "ERROR"), self.store.on_change(callback):
            for key in ["a", "bad", "last"]:
                self.store.set(key, 1)
            self.assertTrue(done.wait(60))
        self.store.set("later", 1)
        self.assertEqual(seen, [b"a", b"bad", b"last"])

    def test_a_listener_closes_itself(self):
        closed = threading.Event()

        def callback(event):
            listener.close()
            closed.set()

        listener = self.store.on_change(callback)
        self.store.set("a", 1)
        self.assertTrue(closed.wait(60))

    def test_panics_become_exceptions(self):
        with self.assertRaisesRegex(larder.InternalError, "as a test has wanted"):
            larder._larder._panic()
        self.assertTrue(issubclass(larder.InternalError, Exception))

    def test_times_are_checked(self):
        events = self.store.events()
        for time in [-1, float("nan")]:
            with self.assertRaises(ValueError):
                events.get(time)

    def test_objects_are_given_back(self):
        """What replies are made of is freed: the number of objects does not grow with the calls."""
        self.store.hset("h", mapping={f"f{n}": "v" for n in range(20)})
        for _ in range(100):
            self.store.hgetall("h")
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(2000):
            self.store.hgetall("h")
            self.store.execute_command("HGETALL", "h")
        gc.collect()
        self.assertLess(len(gc.get_objects()), before + 100)


if __name__ == "__main__":
    unittest.main()
