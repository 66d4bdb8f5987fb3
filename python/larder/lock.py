"""A lock that several threads or programs share by a key of a store."""

from __future__ import annotations

import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

from .exceptions import LockError
from .reads import Word

if TYPE_CHECKING:
    from .client import Store

#: Each compares the token of the lock before it changes the key.
RELEASE = "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('del', KEYS[1]) return 1"
EXTEND = """\
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
local left = redis.call('pttl', KEYS[1])
if left < 0 then return 0 end
local more = tonumber(ARGV[2])
if ARGV[3] == '0' then more = more + left end
redis.call('pexpire', KEYS[1], more)
return 1
"""


class Lock:
    """A lock with the interface of redis-py's: a context manager, or `acquire` and `release`.

    `timeout`: seconds after which the lock is released by itself. `blocking_timeout`: seconds that `acquire` waits. `sleep`: seconds between
    tries. `thread_local`: whether each thread has a token of its own, so that a thread cannot release the lock of another one.
    """

    def __init__(
        self,
        store: Store,
        name: Word,
        timeout: float | None = None,
        sleep: float = 0.1,
        blocking: bool = True,
        blocking_timeout: float | None = None,
        thread_local: bool = True,
    ) -> None:
        self.name = name
        self.timeout = timeout
        self._store = store
        self._sleep = sleep
        self._blocking = blocking
        self._blocking_timeout = blocking_timeout
        self._local: Any = threading.local() if thread_local else type("Local", (), {})()

    def acquire(
        self, blocking: bool | None = None, blocking_timeout: float | None = None, token: str | None = None
    ) -> bool:
        token = token or uuid.uuid4().hex
        waits = self._blocking if blocking is None else blocking
        patience = self._blocking_timeout if blocking_timeout is None else blocking_timeout
        deadline = None if patience is None else time.monotonic() + patience
        lifetime = None if self.timeout is None else max(1, int(self.timeout * 1000))
        while not self._store.set(self.name, token, nx=True, px=lifetime):
            if not waits or deadline is not None and time.monotonic() + self._sleep > deadline:
                return False
            time.sleep(self._sleep)
        self._local.token = token
        return True

    def release(self) -> None:
        token = self._token("released")
        self._local.token = None
        if not self._store.eval(RELEASE, 1, self.name, token):
            raise LockError("the lock is not held any more")

    def extend(self, additional_time: float, replace_ttl: bool = False) -> bool:
        """Adds seconds to the time after which the lock is released by itself, or replaces it."""
        if self.timeout is None:
            raise LockError("a lock without a timeout cannot be extended")
        words: list[Word] = [self._token("extended"), int(additional_time * 1000), int(replace_ttl)]
        if not self._store.eval(EXTEND, 1, self.name, *words):
            raise LockError("the lock is not held any more")
        return True

    def reacquire(self) -> bool:
        """Sets the time after which the lock is released by itself back to `timeout`."""
        return self.extend(self.timeout or 0, replace_ttl=True)

    def locked(self) -> bool:
        return self._store.exists(self.name) != 0

    def owned(self) -> bool:
        held = self._store.get(self.name)
        held = held.decode() if isinstance(held, bytes) else held
        return held is not None and held == getattr(self._local, "token", None)

    def _token(self, what: str) -> str:
        token = getattr(self._local, "token", None)
        if token is None:
            raise LockError(f"a lock that is not held cannot be {what}")
        return token

    def __enter__(self) -> Lock:
        if not self.acquire():
            raise LockError("the lock could not be acquired in time")
        return self

    def __exit__(self, *_error: object) -> None:
        self.release()
