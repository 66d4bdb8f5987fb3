"""A replica inside of the process, beside a server and redis-py."""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from server import Server, free_port, until

import larder


class ReplicaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--enable-debug-command", "yes")
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        self.server.redis.flushall()
        self.server.redis.set("first", "1")
        self.replica = larder.Replica(self.server.url, wait=60)
        self.addCleanup(self.replica.close)

    def test_the_data_is_there_and_follows(self):
        self.assertEqual(self.replica.get("first"), b"1")
        self.server.redis.hset("h", mapping={"a": 1})
        until(lambda: self.replica.hgetall("h") == {b"a": b"1"})
        status = self.replica.status()
        self.assertEqual((status.link, status.full_syncs, status.last_error), ("up", 1, None))
        self.assertGreaterEqual(status.received, status.offset)
        self.assertIn("link=", repr(status))

    def test_what_was_written_can_be_read(self):
        for n in range(200):
            self.assertIs(self.replica.set("key", n), True)
            self.assertEqual(self.replica.get("key"), str(n).encode())
        self.assertEqual(self.replica.hset("h", mapping={"a": 1, "b": 2}), 2)
        self.assertEqual(self.replica.hgetall("h"), {b"a": b"1", b"b": b"2"})
        self.assertEqual(self.replica.write("INCR", "n", wait=60), 1)
        self.assertEqual(self.replica.get("n"), b"1")
        self.assertEqual(self.replica.write("INCR", "n", wait=False), 2)
        self.assertEqual(self.server.redis.get("n"), b"2")
        self.assertEqual(self.replica.execute_command("SET", "by words", "x"), b"OK")
        self.assertEqual(self.replica.execute_command("GET", "by words"), b"x")
        self.assertEqual(self.replica.execute_command("EVAL", "return redis.call('INCR', KEYS[1])", 1, "n"), 3)
        self.assertEqual(self.replica.get("n"), b"3")

    def test_errors_of_writes(self):
        with self.assertRaisesRegex(larder.ResponseError, "^WRONGTYPE"):
            self.replica.lpush("first", "x")
        with self.assertRaisesRegex(larder.ResponseError, "about a connection"):
            self.replica.write("MULTI")
        for wait in [-1, float("nan")]:
            with self.assertRaises(ValueError):
                self.replica.write("SET", "a", "b", wait=wait)
        self.assertIsNone(self.server.redis.get("a"))

    def test_random_data_is_read_as_redis_py_reads_it(self):
        seed = int(os.environ.get("SEED", "5"))
        print(f"SEED={seed}", file=sys.stderr)
        rng = random.Random(seed)
        direct = self.server.redis
        word = lambda: rng.randbytes(rng.choice([0, 1, 5, 9, 10, 99, 100, 101, 1000]))
        for n in range(60):
            key = f"{rng.choice('hlsz')}{rng.randrange(8)}"
            match key[0]:
                case "h":
                    direct.hset(key, mapping={word(): word() for _ in range(rng.randrange(1, 30))})
                case "l":
                    direct.rpush(key, *[word() for _ in range(rng.randrange(1, 30))])
                case "s":
                    direct.sadd(key, *[word() for _ in range(rng.randrange(1, 30))])
                case "z":
                    direct.zadd(key, {word(): rng.choice([1, -2.5, 1e300, float("inf")]) for _ in range(9)})
        self.replica.set("end", 1)
        for key in direct.keys():
            name = key.decode()
            calls = {
                "h": [("hgetall",), ("hkeys",), ("hvals",), ("hlen",)],
                "l": [("lrange", 0, -1), ("lrange", 2, 5), ("llen",), ("lindex", 0)],
                "s": [("smembers",), ("scard",)],
                "z": [("zrange", 0, -1, False, True), ("zrange", 0, -1), ("zcard",)],
            }.get(name[0] if name[1:].isdigit() else "", [("get",)])
            for method, *more in calls:
                mine, theirs = (getattr(r, method)(name, *more) for r in (self.replica, direct))
                if method in ("hkeys", "hvals"):
                    mine, theirs = sorted(mine), sorted(theirs)
                self.assertEqual(mine, theirs, (method, key))

    def test_patterns(self):
        with larder.Replica(self.server.url, patterns=["only:*"], decode_responses=True, wait=60) as part:
            part.set("only:a", "x")
            part.set("other", "x")
            self.assertEqual(part.keys(), ["only:a"])

    def test_events_come_when_the_change_can_be_read(self):
        with self.replica.events(["e*"]) as events:
            for n in range(50):
                self.server.redis.set("e", n)
                event = events.get(60)
                self.assertEqual(event.key, b"e")
                self.assertGreaterEqual(int(self.replica.get("e")), n)

    def test_addresses_and_options_that_are_wrong(self):
        for url in ["localhost", "rediss://localhost", "redis://h:99999"]:
            with self.assertRaises(larder.OptionError):
                larder.Replica(url)
        with self.assertRaises(ValueError):
            larder.Replica(self.server.url, sync_timeout=-1)
        with self.assertRaises(TypeError):
            larder.Replica(self.server.url, nosuch=1)
        with self.assertRaises(larder.ConnectionError):
            larder.Replica(f"redis://127.0.0.1:{free_port()}", sync_timeout=0.05)

    def test_closed(self):
        self.replica.close()
        self.replica.close()
        for call in [lambda: self.replica.get("a"), lambda: self.replica.set("a", 1), self.replica.status]:
            with self.assertRaises(larder.ClosedError):
                call()
        until(lambda: not self.server.redis.info("replication")["connected_slaves"], "the link ends")

    def test_dropped_without_being_closed(self):
        self.replica.close()
        other = larder.Replica(self.server.url)
        until(lambda: self.server.redis.info("replication")["connected_slaves"] == 1)
        del other
        until(lambda: self.server.redis.info("replication")["connected_slaves"] == 0)


class GilTest(unittest.TestCase):
    """Another thread of Python counts while this one waits for a primary that never answers."""

    def setUp(self):
        self.silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.silent.close)
        self.url = f"redis://127.0.0.1:{self.silent.getsockname()[1]}"

    def count_during(self, call):
        counted, stop = [0], threading.Event()

        def count():
            while not stop.is_set():
                counted[0] += 1

        thread = threading.Thread(target=count)
        thread.start()
        try:
            begun = counted[0]
            call()
            return counted[0] - begun
        finally:
            stop.set()
            thread.join()

    def test_a_sync(self):
        def call():
            with self.assertRaises(larder.ConnectionError):
                larder.Replica(self.url, sync_timeout=0.5)

        self.assertGreater(self.count_during(call), 1000)

    def test_waiting_for_events(self):
        with larder.Store() as store, store.events() as events:
            self.assertGreater(self.count_during(lambda: events.get(0.5)), 1000)

    def test_a_write_that_is_waited_for(self):
        """The primary is stopped in the middle: the write waits, and others go on, reads of the replica among them."""
        server = Server()
        self.addCleanup(server.close)
        replica = larder.Replica(server.url, link_timeout=60, wait=60)
        self.addCleanup(replica.close)
        replica.set("key", "value")
        server.halt()
        thread = threading.Thread(target=lambda: replica.set("key", "other"))
        thread.start()
        try:
            for _ in range(1000):
                self.assertEqual(replica.get("key"), b"value")
            self.assertTrue(thread.is_alive())
        finally:
            server.resume()
        thread.join()
        until(lambda: replica.get("key") == b"other")

    def test_an_interrupt_ends_a_sync(self):
        # Who starts the tests in the background has the signal ignored, and so would the child.
        heeds = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
        begins = f"import larder; print('begun', flush=True); larder.Replica('{self.url}', sync_timeout=600)"
        code = f"{heeds}\n{begins}"
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.assertEqual(child.stdout.readline(), "begun\n")
        # It has connected: so the sync has begun.
        self.silent.settimeout(60)
        connection, _ = self.silent.accept()
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
        connection.close()
        self.assertIn("KeyboardInterrupt", errors)


class LinkTest(unittest.TestCase):
    def test_the_primary_goes_and_comes_back(self):
        server = Server()
        self.addCleanup(server.close)
        with larder.Replica(server.url, wait=60, link_timeout=2) as replica:
            replica.set("key", "old")
            events = replica.events()
            server.stop()
            until(lambda: replica.status().link == "down")
            self.assertEqual(replica.get("key"), b"old")
            with self.assertRaises(larder.ConnectionError):
                replica.set("key", "lost")
            server.start()
            server.redis.set("key", "new")
            until(lambda: replica.get("key") == b"new")
            self.assertIsNotNone(events.get(60))
            self.assertIsNotNone(replica.status().last_error)
            replica.set("key", "newer")
            self.assertEqual(replica.get("key"), b"newer")

    def test_passwords_and_rights(self):
        server = Server("--requirepass", "secret", password="secret")
        self.addCleanup(server.close)
        url = f"redis://:secret@127.0.0.1:{server.port}"
        with larder.Replica(url, wait=60) as replica:
            replica.set("key", "value")
            self.assertEqual(replica.get("key"), b"value")
        server.redis.execute_command("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+psync", "+replconf", "+ping", "+hello", "+select")
        with larder.Replica(f"redis://reader:pw@127.0.0.1:{server.port}", wait=60) as replica:
            with self.assertRaises(larder.NoPermissionError):
                replica.set("key", "other")
            server.redis.execute_command("ACL", "SETUSER", "reader", "+set")
            with self.assertRaises(larder.ExecutedError) as caught:
                replica.set("key", "other")
            self.assertEqual(caught.exception.reply, b"OK")


class EndTest(unittest.TestCase):
    """A program that ends while something of it waits."""

    def run_program(self, code):
        return subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, text=True)

    def test_a_listener_and_an_iterator_that_wait(self):
        code = """
import larder, threading
store = larder.Store()
listener = store.on_change(lambda event: None)
events = store.events()
threading.Thread(target=lambda: list(events), daemon=True).start()
store.set("a", 1)
print("end")
"""
        done = self.run_program(code)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "end\n", ""))

    def test_a_store_in_a_module_that_is_torn_down(self):
        done = self.run_program("import larder; s = larder.Store(); s.set('a', 1); t = [s]; t.append(t)")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
