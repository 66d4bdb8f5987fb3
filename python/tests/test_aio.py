"""A replica for asyncio: reads answer directly, writes and waits do not stop the loop."""

import asyncio
import socket
import unittest

from server import Server, until

import larder
import larder.aio


class AioTest(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)

    async def asyncSetUp(self):
        self.server.redis.flushall()
        self.replica = await larder.aio.Replica.connect(self.server.url, wait=60)

    async def asyncTearDown(self):
        await self.replica.close()

    async def counted_during(self, awaitable):
        """How often the loop turned meanwhile."""
        task = asyncio.ensure_future(awaitable)
        turns = 0
        while not task.done():
            turns += 1
            await asyncio.sleep(0)
        return turns, task

    async def test_reads_answer_and_writes_are_awaited(self):
        replica = self.replica
        self.assertIs(await replica.set("key", "value"), True)
        self.assertEqual(replica.get("key"), b"value")
        self.assertEqual(await replica.hset("h", mapping={"a": 1}), 1)
        self.assertEqual(replica.hgetall("h"), {b"a": b"1"})
        self.assertEqual(await replica.write("INCR", "n"), 1)
        self.assertEqual(replica.get("n"), b"1")
        self.assertEqual(await replica.incrbyfloat("n", 0.5), 1.5)
        self.assertEqual(await replica.execute_command("GET", "key"), b"value")
        self.assertEqual(await replica.execute_command("SET", "key", "2"), b"OK")
        self.assertEqual(replica.get("key"), b"2")
        with self.assertRaises(larder.ResponseError):
            await replica.lpush("key", "x")
        with self.assertRaises(larder.ReadOnlyError):
            replica._execute("SET", "key", "3")

    async def test_many_writes_at_once(self):
        await asyncio.gather(*(self.replica.incr("n") for _ in range(100)))
        self.assertEqual(self.replica.get("n"), b"100")

    async def test_the_loop_turns_during_a_sync(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"redis://127.0.0.1:{silent.getsockname()[1]}"
            turns, task = await self.counted_during(larder.aio.Replica.connect(url, sync_timeout=0.5))
            self.assertIsInstance(task.exception(), larder.ConnectionError)
            self.assertGreater(turns, 100)

    async def test_the_loop_turns_during_a_write(self):
        """The primary is stopped until the loop has turned often enough."""
        await self.replica.set("key", "old")
        self.server.halt()
        try:
            task = asyncio.ensure_future(self.replica.set("key", "new"))
            for _ in range(200):
                await asyncio.sleep(0)
                self.assertEqual(self.replica.get("key"), b"old")
            self.assertFalse(task.done())
        finally:
            self.server.resume()
        await task
        self.assertEqual(self.replica.get("key"), b"new")

    async def test_events(self):
        async with self.replica.events(["e*"]) as events:
            for n in range(30):
                await asyncio.to_thread(self.server.redis.set, f"e{n}", n)
                event = await asyncio.wait_for(anext(events), 60)
                self.assertEqual(event.key, f"e{n}".encode())
                self.assertEqual(self.replica.get(event.key), str(n).encode())

    async def test_a_waiter_that_is_cancelled_loses_no_event(self):
        events = self.replica.events(["e"])
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        waiting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waiting
        await self.replica.set("e", 1)
        self.assertEqual((await asyncio.wait_for(anext(events), 60)).key, b"e")
        events.close()

    async def test_closing_ends_the_iteration(self):
        events = self.replica.events()

        async def collect():
            return [event async for event in events]

        task = asyncio.ensure_future(collect())
        await asyncio.sleep(0)
        events.close()
        self.assertEqual(await asyncio.wait_for(task, 60), [])
        self.assertEqual(await collect(), [])

    async def test_a_context(self):
        async with await larder.aio.Replica.connect(self.server.url) as replica:
            self.assertIsNone(replica.get("none"))
        with self.assertRaises(larder.ClosedError):
            replica.get("none")
        with self.assertRaises(larder.ClosedError):
            await replica.write("SET", "a", "b")

    async def test_a_callback(self):
        seen = []
        listener = self.replica.on_change(seen.append, ["e"])
        await self.replica.set("e", 1)
        await asyncio.to_thread(until, lambda: seen)
        await asyncio.to_thread(listener.close)
        self.assertEqual(seen, [larder.Event(b"e")])


class AioStoreTest(unittest.IsolatedAsyncioTestCase):
    async def test_every_method_is_awaited(self):
        async with larder.aio.Store(decode_responses=True) as store:
            self.assertIs(await store.set("k", "v"), True)
            self.assertEqual(await store.get("k"), "v")
            self.assertEqual(await store.hset("h", mapping={"a": 1}), 1)
            self.assertEqual(await store.hgetall("h"), {"a": "1"})
            self.assertEqual(await store.pipeline().incr("n").get("n").execute(), [1, "1"])
            self.assertEqual([key async for key in store.scan_iter(match="k*")], ["k"])
            waiting = asyncio.create_task(store.blpop("q", timeout=30))
            while not (await store.info("clients"))["blocked_clients"]:
                await asyncio.sleep(0.001)
            await store.rpush("q", "x")
            self.assertEqual(await waiting, ("q", "x"))
            script = store.register_script("return 7")
            self.assertEqual(await script(), 7)
        with self.assertRaises(larder.ClosedError):
            await store.get("k")


if __name__ == "__main__":
    unittest.main()
