"""redis-py on a store: its own interface, and its exceptions."""

import threading
import unittest

import redis

import larder
import larder.redis


class RedisTest(unittest.TestCase):
    def setUp(self):
        self.store = larder.Store()
        self.addCleanup(self.store.close)
        self.client = self.store.client()

    def test_both_see_the_same_data(self):
        self.store.set("k", "v")
        self.assertEqual(self.client.get("k"), b"v")
        self.client.hset("h", mapping={"f": 1})
        self.assertEqual(self.store.hgetall("h"), {b"f": b"1"})
        self.assertEqual(self.store.client(decode_responses=True).hgetall("h"), {"f": "1"})
        self.assertEqual(self.store.client(protocol=3, decode_responses=True).zadd("z", {"m": 1}), 1)
        self.assertEqual(self.store.client(db=3).dbsize(), 0)
        self.assertIn("redis_version", self.client.info())
        self.assertEqual(self.client.config_get("databases"), {"databases": "16"})

    def test_transactions(self):
        with self.client.pipeline() as pipe:
            self.assertEqual(pipe.set("a", 1).incr("a").get("a").execute(), [True, 2, b"2"])
            pipe.watch("a")
            self.store.set("a", 5)
            pipe.multi()
            pipe.set("a", 6)
            self.assertRaises(redis.WatchError, pipe.execute)
        self.assertEqual(self.client.pipeline(transaction=False).get("a").get("b").execute(), [b"5", None])
        with self.assertRaisesRegex(redis.ResponseError, "not an integer"):
            self.client.pipeline().set("t", "x").incr("t").execute()

    def test_commands_that_wait_and_messages(self):
        self.assertIsNone(self.client.blpop("q", timeout=0.01))
        taken = []
        thread = threading.Thread(target=lambda: taken.append(self.client.blpop("q", timeout=30)))
        thread.start()
        while not self.client.info("clients")["blocked_clients"]:
            pass
        self.store.rpush("q", "x")
        thread.join(30)
        self.assertEqual(taken, [(b"q", b"x")])
        pubsub = self.client.pubsub()
        pubsub.subscribe("c")
        self.assertEqual(pubsub.get_message(timeout=30)["type"], "subscribe")
        self.client.publish("c", "hi")
        self.assertEqual(pubsub.get_message(timeout=30)["data"], b"hi")
        self.assertIsNone(pubsub.get_message())
        pubsub.close()

    def test_scripts_and_locks(self):
        script = self.client.register_script("return redis.call('incr', KEYS[1])")
        self.assertEqual((script(keys=["n"]), script(keys=["n"])), (1, 2))
        with self.client.lock("l", timeout=5) as lock:
            self.assertTrue(lock.owned())
        self.assertEqual(self.client.exists("l"), 0)

    def test_errors_are_those_of_redis_py(self):
        self.store.set("k", "v")
        with self.assertRaises(redis.ResponseError):
            self.client.lpush("k", 1)
        with self.assertRaises(redis.exceptions.NoScriptError):
            self.client.evalsha("0" * 40, 0)
        with self.assertRaises(redis.DataError):
            self.client.set("k", None)
        with self.assertRaises(redis.ResponseError):
            self.store.lpush("k", 1)
        with self.assertRaises(redis.exceptions.RedisError):
            larder.Store(options={"nosuch": 1})
        self.store.close()
        with self.assertRaises(redis.ConnectionError):
            self.client.get("k")

    def test_stores_by_their_names(self):
        self.addCleanup(larder.redis.stores.clear)
        clients = [
            redis.Redis(connection_pool=redis.ConnectionPool.from_url(url, connection_class=larder.redis.Connection))
            for url in ("redis://jobs/0", "redis://jobs/1", "redis://jobs/0", "redis://other/0")
        ]
        clients[0].set("k", "v")
        self.assertEqual([client.get("k") for client in clients], [b"v", None, b"v", None])
        self.assertEqual(sorted(larder.redis.stores), ["jobs", "other"])
        one, other = larder.redis.Redis(decode_responses=True), larder.redis.Redis()
        one.set("k", "v")
        self.assertEqual((one.get("k"), other.get("k")), ("v", None))


if __name__ == "__main__":
    unittest.main()
