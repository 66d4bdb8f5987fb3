"""Commands that are collected, and executed together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _larder
from .basics import Basics
from .exceptions import ExecAbortError, ResponseError, WatchError
from .fields import Fields
from .geo import Geo
from .reads import Word, as_it_is
from .scripts import Scripts
from .streams import Streams

if TYPE_CHECKING:
    from .client import Store


class Pipeline(Basics, Fields, Geo, Scripts, Streams):
    """Commands of a store that `execute` executes: as one transaction, which no other client sees a part of, unless `transaction` is false.

    Every method returns the pipeline. After `watch`, methods execute at once and return replies, until `multi` is called; `execute` raises
    WatchError if a watched key has changed by then.
    """

    def __init__(self, store: Store, transaction: bool = True) -> None:
        self._store = store
        self._is_transaction = transaction
        self._commands: list[tuple[Callable[[Any], Any], tuple[Word, ...]]] = []
        #: The connection that watches keys.
        self._connection: _larder.Connection | None = None
        self._collects = True

    def _read_as(self, make: Callable[[Any], Any], *words: Word) -> Any:
        if not self._collects:
            return make(self._ask(*words))
        self._commands.append((make, words))
        return self

    _write_as = _read_as
    _wait_as = _read_as

    def execute_command(self, *words: Word) -> Any:
        return self._read_as(as_it_is, *words)

    def _ask(self, *words: Word) -> Any:
        connection = self._connection
        assert connection is not None
        connection.send(*words)
        reply = connection.receive()
        if isinstance(reply, Exception):
            raise reply
        return reply

    def watch(self, *names: Word) -> bool:
        """Has `execute` raise WatchError if one of these keys changes before it."""
        if self._commands:
            raise ResponseError("WATCH after commands have been collected")
        if self._connection is None:
            self._connection = _larder.Connection(self._store)
            self._ask("HELLO", 3)
        self._ask("WATCH", *names)
        self._collects = False
        return True

    def unwatch(self) -> bool:
        self.reset()
        return True

    def multi(self) -> None:
        """Collects the commands that follow."""
        self._collects = True

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        """Executes what was collected, and returns a list of the replies. Raises the first error, after all were executed."""
        commands = self._commands
        try:
            replies = self._replies([words for _, words in commands])
        finally:
            self.reset()
        made = [_made(make, reply) for (make, _), reply in zip(commands, replies)]
        error = next((reply for reply in made if isinstance(reply, Exception)), None)
        if error is not None and raise_on_error:
            raise error
        return made

    def _replies(self, commands: list[tuple[Word, ...]]) -> list[Any]:
        if self._connection is not None:
            return self._watched(commands)
        if not commands:
            return []
        if self._is_transaction:
            try:
                return self._store.transaction(commands)
            except ResponseError as error:
                raise ExecAbortError(f"the transaction was not executed: {error}") from error
        return [self._one(words) for words in commands]

    def _one(self, words: tuple[Word, ...]) -> Any:
        try:
            return self._store.execute_command(*words)
        except ResponseError as error:
            return error

    def _watched(self, commands: list[tuple[Word, ...]]) -> list[Any]:
        self._ask("MULTI")
        for words in commands:
            self._ask(*words)
        replies = self._ask("EXEC")
        if replies is None:
            raise WatchError("a watched key has changed")
        return list(replies)

    def reset(self) -> None:
        """Forgets the commands and the watched keys."""
        self._commands = []
        self._collects = True
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    discard = reset

    def __len__(self) -> int:
        return len(self._commands)

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *_error: object) -> None:
        self.reset()


def _made(make: Callable[[Any], Any], reply: Any) -> Any:
    return reply if isinstance(reply, Exception) else make(reply)
