"""Messages between the parts of a program."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import _larder
from .exceptions import ClosedError
from .reads import Word

if TYPE_CHECKING:
    from .client import Store

Message = dict[str, Any]
Handler = Callable[[Message], Any]

SUBSCRIPTIONS = {"subscribe", "unsubscribe", "psubscribe", "punsubscribe"}


class PubSub:
    """Subscriptions of one client, with the interface of redis-py's: `subscribe`, `get_message`, `listen`, `run_in_thread`."""

    def __init__(self, store: Store, ignore_subscribe_messages: bool = False) -> None:
        self._connection = _larder.Connection(store)
        self._ignores = ignore_subscribe_messages
        self._decodes = store.decode_responses
        self._handlers: dict[Any, Handler] = {}
        #: How many subscriptions there are, as the last confirmation says.
        self._count = 0
        self._is_subscribing = False

    def subscribe(self, *channels: Word, **handlers: Handler) -> None:
        self._send("SUBSCRIBE", channels, handlers)

    def psubscribe(self, *patterns: Word, **handlers: Handler) -> None:
        self._send("PSUBSCRIBE", patterns, handlers)

    def unsubscribe(self, *channels: Word) -> None:
        self._send("UNSUBSCRIBE", channels, {})

    def punsubscribe(self, *patterns: Word) -> None:
        self._send("PUNSUBSCRIBE", patterns, {})

    def _send(self, command: str, names: tuple[Word, ...], handlers: dict[str, Handler]) -> None:
        for name, handler in handlers.items():
            self._handlers[name if self._decodes else name.encode()] = handler
        self._connection.send(command, *names, *handlers)
        self._is_subscribing = True

    @property
    def subscribed(self) -> bool:
        return self._is_subscribing or self._count > 0

    def get_message(
        self, ignore_subscribe_messages: bool = False, timeout: float | None = 0.0
    ) -> Message | None:
        """The next message; None if none comes in `timeout` seconds, or if a handler took it."""
        if not self._connection.wait(timeout):
            return None
        return self._message(self._connection.receive(), ignore_subscribe_messages)

    def listen(self) -> Iterator[Message]:
        """Messages as they come, as long as there are subscriptions."""
        while self.subscribed:
            message = self.get_message(timeout=None)
            if message is not None:
                yield message

    def _message(self, reply: Any, ignores: bool) -> Message | None:
        kind, *rest = reply
        kind = kind.decode() if isinstance(kind, bytes) else kind
        pattern = rest.pop(0) if kind == "pmessage" else None
        channel, data = rest
        if kind in SUBSCRIPTIONS:
            self._count, self._is_subscribing = data, False
            if kind.endswith("unsubscribe"):
                self._handlers.pop(channel, None)
            if ignores or self._ignores:
                return None
        message = {"type": kind, "pattern": pattern, "channel": channel, "data": data}
        handler = None if kind in SUBSCRIPTIONS else self._handlers.get(channel if pattern is None else pattern)
        if handler is None:
            return message
        handler(message)
        return None

    def run_in_thread(self, sleep_time: float = 1.0, daemon: bool = True) -> Worker:
        """Calls the handlers on a thread of its own, until `stop` is called on it."""
        worker = Worker(self, sleep_time, daemon)
        worker.start()
        return worker

    def close(self) -> None:
        self._connection.close()

    reset = close

    def __enter__(self) -> PubSub:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class Worker(threading.Thread):
    """A thread that takes the messages of a PubSub."""

    def __init__(self, pubsub: PubSub, sleep_time: float, daemon: bool) -> None:
        super().__init__(name="larder-pubsub", daemon=daemon)
        self._pubsub = pubsub
        self._sleep_time = sleep_time
        self._stops = threading.Event()

    def run(self) -> None:
        try:
            while not self._stops.is_set():
                self._pubsub.get_message(ignore_subscribe_messages=True, timeout=self._sleep_time)
        except ClosedError:
            return
        self._pubsub.close()

    def stop(self) -> None:
        self._stops.set()
