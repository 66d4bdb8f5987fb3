"""redis-py on a store inside of the process, without a socket: all that redis-py has, and what is built on it.

    import larder.redis

    client = larder.redis.Redis()                 # a store of its own, gone with the last client
    client = larder.Store(directory="data").client(decode_responses=True)

Libraries that make their client themselves are given the connection class, and name a store by the host of the address:

    redis.Redis.from_url("redis://jobs/0", connection_class=larder.redis.Connection)

`stores` has the stores by their names; one that is not there is made, in memory, when it is named first.
"""

from __future__ import annotations

import inspect
import socket
import threading
from collections.abc import Iterable
from typing import Any

import redis
from redis.connection import AbstractConnection

from . import _larder
from .client import Store
from .exceptions import ClosedError, ResponseError

try:
    from redis._parsers.base import BaseParser
except ImportError:  # redis-py before 5
    from redis.connection import BaseParser  # type: ignore[no-redef,attr-defined]

__all__ = ["Connection", "Redis", "client", "stores"]

#: Stores by the names that addresses have as their host.
stores: dict[str, Store[bytes]] = {}
_making = threading.Lock()


def _named(name: str) -> Store[bytes]:
    with _making:
        if name not in stores:
            stores[name] = Store()
        return stores[name]


def error_of(error: ResponseError) -> Exception:
    """The exception of redis-py for an error reply."""
    text = str(error)
    has_code = text.split(" ", 1)[0].isupper()
    return BaseParser.parse_error(text if has_code else f"ERR {text}")


class _Socket:
    """What redis-py does to a socket, done to a connection of a store. A command is sent as a tuple of its words."""

    def __init__(self, store: Store[Any], timeout: float | None) -> None:
        self.link = _larder.Connection(store, False)
        self.timeout = timeout

    def sendall(self, words: tuple[Any, ...]) -> None:
        try:
            self.link.send(*words)
        except ClosedError as error:
            raise OSError("the store was closed") from error

    def settimeout(self, timeout: float | None) -> None:
        self.timeout = timeout

    def shutdown(self, _how: int) -> None:
        pass

    def close(self) -> None:
        self.link.close()


class _Packer:
    """Leaves the words of a command as they are."""

    def pack(self, *words: Any) -> list[tuple[Any, ...]]:
        name = words[0]
        # The name of a command may be several words.
        if isinstance(name, str) and " " in name:
            words = (*name.split(), *words[1:])
        elif isinstance(name, bytes) and b" " in name:
            words = (*name.split(), *words[1:])
        return [words]


#: No timeout is given for a reply.
_UNSET = object()


class _Parser:
    """Reads replies from the socket above."""

    EXCEPTION_CLASSES: Any = getattr(BaseParser, "EXCEPTION_CLASSES", {})

    def __init__(self, socket_read_size: int = 0) -> None:
        self._socket: _Socket | None = None
        self._decodes = False
        self.pubsub_push_handler_func: Any = None
        self.invalidation_push_handler_func: Any = None

    def on_connect(self, connection: AbstractConnection) -> None:
        self._socket = connection._sock
        self._decodes = bool(connection.encoder.decode_responses)

    def on_disconnect(self) -> None:
        self._socket = None

    def can_read(self, timeout: float | None) -> bool:
        try:
            return self._open().wait(timeout)
        except ClosedError as error:
            raise redis.ConnectionError("the store was closed") from error

    def _open(self) -> _larder.Connection:
        if self._socket is None:
            raise redis.ConnectionError("the connection was closed")
        return self._socket.link

    def read_response(
        self, disable_decoding: bool = False, push_request: bool = False, timeout: Any = _UNSET, **_other: Any
    ) -> Any:
        link = self._open()
        if timeout is not None and not isinstance(timeout, (int, float)):
            # None is given: that of the socket.
            timeout = self._socket.timeout if self._socket is not None else None
        try:
            if timeout is not None and not link.wait(timeout):
                raise socket.timeout("no reply came in time")
            reply = link.receive(self._decodes and not disable_decoding)
        except ClosedError as error:
            raise redis.ConnectionError("the store was closed") from error
        return _with_errors(reply)

    def set_pubsub_push_handler(self, handler: Any) -> None:
        self.pubsub_push_handler_func = handler

    def set_invalidation_push_handler(self, handler: Any) -> None:
        self.invalidation_push_handler_func = handler


def _with_errors(reply: Any) -> Any:
    """A reply with the exceptions of redis-py, in the replies of a transaction too."""
    if isinstance(reply, ResponseError):
        return error_of(reply)
    if isinstance(reply, list):
        for at, one in enumerate(reply):
            if isinstance(one, ResponseError):
                reply[at] = error_of(one)
    return reply


#: Options about what a client tells a server about itself: nothing here.
_ABOUT_DRIVER = (
    ["driver_info"]
    if "driver_info" in inspect.signature(AbstractConnection.__init__).parameters
    else ["lib_name", "lib_version"]
)


class Connection(AbstractConnection):
    """A connection of redis-py to a `store`, or to the one that is named by `host`."""

    def __init__(
        self,
        store: Store[Any] | None = None,
        host: str = "default",
        port: int = 0,
        socket_timeout: float | None = None,
        **options: Any,
    ) -> None:
        self.store = _named(host) if store is None else store
        self.host, self.port = host, port
        for of_sockets in ("path", "socket_keepalive", "socket_keepalive_options", "socket_type", "parser_class"):
            options.pop(of_sockets, None)
        for name in _ABOUT_DRIVER:
            options.setdefault(name, None)
        packer: Any = _Packer()
        super().__init__(socket_timeout=socket_timeout, parser_class=_Parser, command_packer=packer, **options)

    def _configure_maintenance_notifications(self, *_given: Any, **_options: Any) -> None:
        # There is no server that could be moved.
        self.maint_notifications_config = None
        self._maint_notifications_pool_handler = None
        self._maint_notifications_connection_handler = None
        self._oss_cluster_maint_notifications_handler = None

    def repr_pieces(self) -> list[tuple[str, Any]]:
        return [("store", self.store), ("db", self.db)]

    def _connect(self) -> Any:
        try:
            return _Socket(self.store, self.socket_timeout)
        except ClosedError as error:
            raise OSError("the store was closed") from error

    def _host_error(self) -> str:
        return "the store"

    def _error_message(self, exception: BaseException) -> str:
        return f"{self._host_error()}: {exception}"

    def pack_commands(self, commands: Iterable[Any]) -> list[Any]:
        return [words for command in commands for words in self._command_packer.pack(*command)]

    def can_read(self, timeout: float | None = 0) -> bool:
        if self._sock is None:
            self.connect()
        return self._parser.can_read(timeout)


def client(store: Store[Any], **options: Any) -> redis.Redis:
    """A client of redis-py on a store; `options` are those of `redis.ConnectionPool`."""
    options.setdefault("decode_responses", store.decode_responses)
    return redis.Redis(connection_pool=redis.ConnectionPool(connection_class=Connection, store=store, **options))


class Redis(redis.Redis):
    """A client of redis-py on a store in memory: a given one, or one of its own. Takes the arguments of `redis.Redis` that are not about sockets."""

    def __init__(self, store: Store[Any] | None = None, **options: Any) -> None:
        if options.get("connection_pool") is None:
            store = Store() if store is None else store
            of_pool = {name: value for name, value in options.items() if name in _OF_POOL}
            options["connection_pool"] = redis.ConnectionPool(connection_class=Connection, store=store, **of_pool)
        super().__init__(connection_pool=options["connection_pool"])
        self.store = store


#: Options of a client that are those of its connections.
_OF_POOL = frozenset(
    ["client_name", "db", "decode_responses", "encoding", "encoding_errors", "max_connections", "protocol", "retry", "retry_on_error", "socket_timeout"]
)
