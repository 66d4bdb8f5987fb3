"""A store and a replica, as programs with threads use them."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from . import _larder
from .exceptions import LarderError, ReadOnlyError, WatchError
from .fields import Fields
from .geo import Geo
from .lock import Lock
from .pipeline import Pipeline
from .pubsub import PubSub
from .reads import Reads, Word
from .scripts import Scripts
from .streams import Streams
from .waiting import Waiting
from .writes import Writes

if TYPE_CHECKING:
    import redis
    from typing_extensions import Self

#: What strings are: bytes, or str with `decode_responses`.
T = TypeVar("T", bytes, str)

#: How many connections of a store are kept for the next command that waits.
IDLE_CONNECTIONS_MAX = 16

log = logging.getLogger("larder")

#: Events that are not closed. When the interpreter ends, who waits for them must go on first.
_open: weakref.WeakSet[_larder.Events] = weakref.WeakSet()

#: Stores with files that may be open. What they are to save at their end is saved when the interpreter ends.
_stores: weakref.WeakSet[Store] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for events in list(_open):
        events.close()
    for listener in list(Listener._running):
        listener._thread.join(5)
    for store in list(_stores):
        try:
            store.close()
        except LarderError:
            log.exception("a store could not be closed")


class Listener:
    """A thread that calls a function with every event. What the function raises is logged, and the next event is taken."""

    _running: weakref.WeakSet[Listener] = weakref.WeakSet()

    def __init__(self, events: _larder.Events, callback: Callable[[_larder.Event], Any]) -> None:
        self._events = events
        self._callback = callback
        self._thread = threading.Thread(target=self._run, name="larder-listener", daemon=True)
        Listener._running.add(self)
        self._thread.start()

    def _run(self) -> None:
        for event in self._events:
            try:
                self._callback(event)
            except Exception:
                log.exception("a listener has failed for %r", event)

    def close(self) -> None:
        """Calls the function no more. Returns when it is not running, unless it is the function that calls this."""
        self._events.close()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class Common(Reads):
    """What a store and a replica have in common, beside `_larder.Data`."""

    _execute: Callable[..., Any]
    _events: Callable[..., _larder.Events]

    def _read_as(self, make: Callable[[Any], Any], *words: Word) -> Any:
        return make(self._execute(*words))

    def events(self, patterns: Iterable[Word] = (), capacity: int = 10_000) -> _larder.Events:
        """Events of every change of keys that match one of these patterns, or of all keys: an iterator that waits.

        At most `capacity` events wait to be taken. Beyond that one takes the place of all, whose key is None: any key may have changed. An
        event comes after the change can be read.
        """
        events = self._events(list(patterns), capacity)
        _open.add(events)
        return events

    def on_change(
        self, callback: Callable[[_larder.Event], Any], patterns: Iterable[Word] = (), capacity: int = 10_000
    ) -> Listener:
        """Calls a function with each of these events, on a thread of its own."""
        return Listener(self.events(patterns, capacity), callback)

    def close(self) -> None:
        raise NotImplementedError

    def __exit__(self, *_error: object) -> None:
        self.close()


class Store(Common, Fields, Geo, Scripts, Streams, Waiting, _larder.Store[T]):
    """A store inside of the process: in memory, or with files in a `directory`, as a server has them.

    With a `directory` every write is kept, in the append-only file; with `persist=False` only what SAVE, save points or `save_on_close` save.
    `options` are those of the server that are about data, as `{"hash-max-listpack-entries": 512}`, and with a directory those about its files, as
    `{"appendfsync": "always"}`; `db` is the database that is used. With `decode_responses` strings are `str` and not `bytes`.
    """

    @overload
    def __init__(
        self: Store[bytes],
        *,
        directory: str | os.PathLike[str] | None = None,
        persist: bool | None = None,
        save_on_close: bool = False,
        decode_responses: Literal[False] = False,
        db: int = 0,
        options: dict[str, Any] | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Store[str],
        *,
        directory: str | os.PathLike[str] | None = None,
        persist: bool | None = None,
        save_on_close: bool = False,
        decode_responses: Literal[True],
        db: int = 0,
        options: dict[str, Any] | None = None,
    ) -> None: ...
    def __init__(self, *, directory: str | os.PathLike[str] | None = None, **_options: Any) -> None:
        #: Connections that no command uses.
        self._idle: list[_larder.Connection] = []
        if directory is not None:
            _stores.add(self)

    def __enter__(self) -> Self:
        return self

    def _write_as(self, make: Callable[[Any], Any], *words: Word) -> Any:
        return make(self._execute(*words))

    def _wait_as(self, make: Callable[[Any], Any], *words: Word) -> Any:
        return make(self._connected(*words))

    def _connected(self, *words: Word) -> Any:
        """Executes a command on a connection: it may wait, and may be about messages."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = _larder.Connection(self)
            connection.send("HELLO", 3)
            connection.receive()
        connection.send(*words)
        # A connection whose wait was interrupted is dropped, and with it the wait.
        reply = connection.receive()
        if len(self._idle) < IDLE_CONNECTIONS_MAX:
            self._idle.append(connection)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def execute_command(self, *words: Word) -> Any:
        """Any command that is about data, by its words, with the reply of RESP3."""
        return self._execute(*words)

    def pipeline(self, transaction: bool = True, shard_hint: None = None) -> Pipeline:
        """Collects commands, to execute them together."""
        return Pipeline(self, transaction)

    def transaction(self, commands: Any, *watches: Word) -> list[Any]:
        """Executes commands as a transaction, of which no other client sees a part. Returns the reply to each; for one that has failed the exception.

        `commands`: sequences of words; or, as with redis-py, a function that is given a pipeline, and is called again if one of `watches` changes.
        """
        if not callable(commands):
            return self._transaction([list(command) for command in commands])
        while True:
            with self.pipeline() as pipe:
                try:
                    if watches:
                        pipe.watch(*watches)
                    commands(pipe)
                    return pipe.execute()
                except WatchError:
                    continue

    def publish(self, channel: Word, message: Word) -> int:
        """Sends a message to the subscribers of a channel, and returns how many got it."""
        return self._connected("PUBLISH", channel, message)

    def pubsub(self, ignore_subscribe_messages: bool = False) -> PubSub:
        """A client that subscribes to channels."""
        return PubSub(self, ignore_subscribe_messages)

    def lock(
        self,
        name: Word,
        timeout: float | None = None,
        sleep: float = 0.1,
        blocking: bool = True,
        blocking_timeout: float | None = None,
        thread_local: bool = True,
    ) -> Lock:
        """A lock that is a key of the store."""
        return Lock(self, name, timeout, sleep, blocking, blocking_timeout, thread_local)

    def client(self, **options: Any) -> redis.Redis:
        """A client of redis-py that works on this store, with all that redis-py has. `larder.redis` has more about it."""
        from .redis import client

        return client(self, **options)

    def __getitem__(self, name: Word) -> T:
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __setitem__(self, name: Word, value: Word) -> None:
        self.set(name, value)

    def __delitem__(self, name: Word) -> None:
        if not self.delete(name):
            raise KeyError(name)

    def __contains__(self, name: Word) -> bool:
        return self.exists(name) != 0

    def close(self) -> None:
        """Closes the store, with all its connections. With a directory everything is on the disk then, as far as that is asked for; if it cannot be,
        that raises StorageError, and the store stays open. Using it afterwards raises ClosedError."""
        self._close()
        self._idle.clear()


class Replica(Common, Fields, Geo, Scripts, Streams, _larder.Replica):
    """A replica of a server inside of the process. Returns when the data is there.

    Reads see the data in this process. Writes are executed by the primary, and return when they can be read here.

    `url`: `redis://[user[:password]@]host[:port][/database]`; with `rediss://` by TLS.
    `patterns`: only keys that match one of them are held.
    `decode_responses`: strings are `str` (UTF-8) and not `bytes`.
    `sync_timeout`: seconds until the data must be there.
    `link_timeout`: whole seconds without a byte after which the link is taken for broken.
    `wait`: seconds that a write waits until it can be read here. None: it returns when the primary has answered.
    `options`: those of the store that holds the data, as of `Store`.
    `ssl_ca_certs`: the file of the authorities that are trusted, which `rediss://` needs.
    `ssl_certfile`, `ssl_keyfile`, `ssl_password`: the files of a certificate and its key, for a primary that asks for one.
    """

    _wait: float | None

    def __new__(cls, url: str, *, wait: float | None = 1.0, **options: Any) -> Self:
        replica = super().__new__(cls, url, **options)
        replica._wait = wait
        return replica

    def __enter__(self) -> Replica:
        return self

    def write(self, *words: Word, wait: float | bool | None = True) -> Any:
        """Executes a command on the primary. `wait` as that of the replica: True is what the replica has, False or None is not at all.

        Raises ConnectionError if it is not known whether it was executed; TimeoutError and ExecutedError if it was, and cannot be read here yet.
        """
        return self._write(words, self._seconds(wait))

    def _seconds(self, wait: float | bool | None) -> float | None:
        return self._wait if wait is True else None if wait is False else wait

    def _write_as(self, make: Callable[[Any], Any], *words: Word) -> Any:
        return make(self._write(words, self._wait))

    def _wait_as(self, make: Callable[[Any], Any], *words: Word) -> Any:
        # It waits on the primary, no longer than the link's timeout allows.
        return self._write_as(make, *words)

    def execute_command(self, *words: Word) -> Any:
        """Any command that is about data, by its words: here, and if it writes, on the primary."""
        try:
            return self._execute(*words)
        except ReadOnlyError:
            return self._write(words, self._wait)

    def close(self) -> None:
        """Ends the link and drops the data. Using the replica afterwards raises ClosedError."""
        self._close_link()
        self._close_data()
