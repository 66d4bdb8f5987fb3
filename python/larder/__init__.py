"""Larder inside of a Python process: a store (Store), or a replica of a Redis, Valkey or Larder server (Replica), whose reads are calls.

    store = larder.Store()
    store.set("user:1", "Ada")

    import larder

    replica = larder.Replica("redis://127.0.0.1:6379")
    replica.hgetall("user:1")

Methods have the names, arguments and replies of redis-py's. `Store.client()` is a client of redis-py itself on a store; `larder.aio` is for
asyncio. See docs/embed.md of the project.
"""

from ._larder import Connection, Event, Events, Status
from .client import Listener, Replica, Store
from .exceptions import (
    AuthenticationError,
    ClosedError,
    ConnectionError,
    DataError,
    ExecAbortError,
    ExecutedError,
    ForkError,
    InternalError,
    LarderError,
    LockError,
    NoPermissionError,
    NoScriptError,
    NotKeptError,
    OptionError,
    ProtocolError,
    ReadOnlyError,
    ResponseError,
    StorageError,
    TimeoutError,
    WatchError,
)
from .lock import Lock
from .pipeline import Pipeline
from .pubsub import PubSub

__all__ = [
    "AuthenticationError",
    "ClosedError",
    "Connection",
    "ConnectionError",
    "DataError",
    "Event",
    "Events",
    "ExecAbortError",
    "ExecutedError",
    "ForkError",
    "InternalError",
    "LarderError",
    "Listener",
    "Lock",
    "LockError",
    "NoPermissionError",
    "NoScriptError",
    "NotKeptError",
    "OptionError",
    "Pipeline",
    "ProtocolError",
    "PubSub",
    "ReadOnlyError",
    "Replica",
    "ResponseError",
    "Status",
    "StorageError",
    "Store",
    "TimeoutError",
    "WatchError",
]
