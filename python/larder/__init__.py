"""Larder inside of a Python process: a store (Store), or a replica of a Redis, Valkey or Larder server (Replica), whose reads are calls.

    import larder

    replica = larder.Replica("redis://127.0.0.1:6379")
    replica.hgetall("user:1")

Methods have the names, arguments and replies of redis-py's. `larder.aio` is for asyncio. See docs/embed.md of the project.
"""

from ._larder import Event, Events, Status
from .client import Listener, Replica, Store
from .exceptions import (
    AuthenticationError,
    ClosedError,
    ConnectionError,
    DataError,
    ExecutedError,
    ForkError,
    InternalError,
    LarderError,
    NoPermissionError,
    NotKeptError,
    OptionError,
    ProtocolError,
    ReadOnlyError,
    ResponseError,
    StorageError,
    TimeoutError,
)

__all__ = [
    "AuthenticationError",
    "ClosedError",
    "ConnectionError",
    "DataError",
    "Event",
    "Events",
    "ExecutedError",
    "ForkError",
    "InternalError",
    "LarderError",
    "Listener",
    "NoPermissionError",
    "NotKeptError",
    "OptionError",
    "ProtocolError",
    "ReadOnlyError",
    "Replica",
    "ResponseError",
    "Status",
    "StorageError",
    "Store",
    "TimeoutError",
]
