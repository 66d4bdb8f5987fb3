"""Stores and replicas for asyncio.

    store = larder.aio.Store()
    await store.set("key", "value")        # every method is awaited, as with redis.asyncio
    await store.blpop("queue")             # a command that waits does so on a thread

    replica = await larder.aio.Replica.connect("redis://127.0.0.1:6379")
    value = replica.get("key")             # a read is a call: a microsecond, nothing to wait for
    await replica.set("key", "value")      # a write is awaited
    async for event in replica.events():
        ...
"""

from __future__ import annotations

import asyncio
import functools
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from . import _larder, client
from .basics import Basics
from .exceptions import ClosedError, ReadOnlyError
from .fields import Fields
from .geo import Geo
from .pipeline import Pipeline
from .reads import Word, as_it_is
from .scripts import Scripts
from .streams import Streams
from .waiting import Waiting

__all__ = ["Events", "Replica", "Store"]


#: Who waits for the next event.
Wanted = tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"]


def _wait_for_each(events: _larder.Events, all_wanted: queue.SimpleQueue[Wanted | None]) -> None:
    while (wanted := all_wanted.get()) is not None:
        loop, future = wanted
        events.wait()
        try:
            loop.call_soon_threadsafe(_answer, future)
        except RuntimeError:
            # The loop has ended, and who waited with it.
            continue


def _answer(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Events(AsyncIterator[_larder.Event]):
    """Events that are awaited. A thread waits for them; what has come is taken without it."""

    def __init__(self, events: _larder.Events) -> None:
        self._events = events
        self._wanted: queue.SimpleQueue[Wanted | None] = queue.SimpleQueue()
        thread = threading.Thread(
            target=_wait_for_each, args=(events, self._wanted), name="larder-events", daemon=True
        )
        thread.start()

    async def __anext__(self) -> _larder.Event:
        while (event := self._events.poll()) is None:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[None] = loop.create_future()
            self._wanted.put((loop, future))
            # After it was put: the thread ends when they are closed, and may not have seen it.
            if self._events.closed:
                raise StopAsyncIteration
            await future
        return event

    def poll(self) -> _larder.Event | None:
        """The next event that is there, or None."""
        return self._events.poll()

    @property
    def closed(self) -> bool:
        return self._events.closed

    def close(self) -> None:
        """Hears no more; who waits for the next event gets none."""
        self._events.close()
        self._wanted.put(None)

    def __del__(self) -> None:
        if hasattr(self, "_wanted"):
            self.close()

    async def __aenter__(self) -> Events:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.close()


class Store(Basics, Fields, Geo, Scripts, Streams, Waiting):
    """As `larder.Store`, with methods that are awaited.

    Commands run on the loop's own thread, as they take microseconds; commands that wait, and with a directory those that write, run on other threads.
    """

    def __init__(self, **options: Any) -> None:
        #: The store itself, whose calls return replies at once.
        self.store: client.Store[Any] = client.Store(**options)
        self._writes_files = options.get("directory") is not None

    async def _on_thread(self, call: Callable[..., Any], *words: Word) -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, call, *words)

    async def _read_as(self, make: Callable[[Any], Any], *words: Word) -> Any:
        return make(self.store.execute_command(*words))

    async def _write_as(self, make: Callable[[Any], Any], *words: Word) -> Any:
        if self._writes_files:
            return make(await self._on_thread(self.store.execute_command, *words))
        return make(self.store.execute_command(*words))

    async def _wait_as(self, make: Callable[[Any], Any], *words: Word) -> Any:
        return make(await self._on_thread(self.store._connected, *words))

    async def execute_command(self, *words: Word) -> Any:
        return await self._write_as(as_it_is, *words)

    async def publish(self, channel: Word, message: Word) -> int:
        return self.store.publish(channel, message)

    @staticmethod
    async def _walk(look: Callable[[int], Any]) -> AsyncIterator[Any]:  # type: ignore[override]
        cursor = None
        while cursor != 0:
            cursor, found = await look(cursor or 0)
            for item in found.items() if isinstance(found, dict) else found:
                yield item

    def pipeline(self, transaction: bool = True) -> StorePipeline:
        return StorePipeline(self.store, transaction)

    def events(self, patterns: Iterable[Word] = (), capacity: int = 10_000) -> Events:
        return Events(self.store.events(patterns, capacity))

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.store.close)

    aclose = close

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()


class StorePipeline(Pipeline):
    """As `larder.Pipeline`, whose `execute` is awaited."""

    async def execute(self, raise_on_error: bool = True) -> list[Any]:  # type: ignore[override]
        execute = functools.partial(super().execute, raise_on_error)
        return await asyncio.get_running_loop().run_in_executor(None, execute)

    async def __aenter__(self) -> StorePipeline:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.reset()


class Replica(client.Replica):
    """As `larder.Replica`: reads are the same calls, everything that writes is awaited. Made by `await Replica.connect(..)`."""

    _writer: ThreadPoolExecutor
    _is_closed: bool

    @classmethod
    async def connect(cls, url: str, **options: Any) -> Replica:
        """As `larder.Replica`, while the loop goes on."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, functools.partial(cls, url, **options))

    def __init__(self, *_given: Any, **_options: Any) -> None:
        # The writes of a replica go one after the other anyway.
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="larder-writer")
        self._is_closed = False

    async def _awaited(self, call: Callable[[], Any]) -> Any:
        if self._is_closed:
            raise ClosedError("it is closed")
        return await asyncio.get_running_loop().run_in_executor(self._writer, call)

    async def _write_as(self, make: Callable[[Any], Any], *words: Word) -> Any:
        return make(await self._awaited(functools.partial(self._write, words, self._wait)))

    async def _wait_as(self, make: Callable[[Any], Any], *words: Word) -> Any:
        return await self._write_as(make, *words)

    async def write(self, *words: Word, wait: float | bool | None = True) -> Any:
        return await self._awaited(functools.partial(self._write, words, self._seconds(wait)))

    async def execute_command(self, *words: Word) -> Any:
        """As that of `larder.Replica`, on a thread."""
        try:
            return await asyncio.get_running_loop().run_in_executor(None, self._execute, *words)
        except ReadOnlyError:
            return await self._write_as(as_it_is, *words)

    def events(self, patterns: Iterable[Word] = (), capacity: int = 10_000) -> Events:  # type: ignore[override]
        return Events(super().events(patterns, capacity))

    def on_change(self, callback: Callable[[_larder.Event], Any], patterns: Iterable[Word] = (), capacity: int = 10_000) -> client.Listener:
        """Calls a function with each of these events, on a thread of its own."""
        return client.Listener(super().events(patterns, capacity), callback)

    async def close(self) -> None:  # type: ignore[override]
        self._is_closed = True
        # Writes that are under way end first.
        await asyncio.get_running_loop().run_in_executor(None, self._writer.shutdown)
        await asyncio.get_running_loop().run_in_executor(None, super().close)

    def __enter__(self) -> Replica:
        raise TypeError("use 'async with'")

    async def __aenter__(self) -> Replica:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()
