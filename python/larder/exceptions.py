"""What can go wrong. Everything that this package raises itself is a LarderError, but for arguments of a wrong type or value.

Where redis-py is installed, each of these is also the exception of that name of redis-py, so that `except redis.ResponseError` catches it.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    class _Base(Exception): ...

    class _AuthenticationError(Exception): ...

    class _ConnectionError(Exception): ...

    class _DataError(Exception): ...

    class _ExecAbortError(Exception): ...

    class _LockError(Exception): ...

    class _NoPermissionError(Exception): ...

    class _NoScriptError(Exception): ...

    class _ReadOnlyError(Exception): ...

    class _ResponseError(Exception): ...

    class _TimeoutError(Exception): ...

    class _WatchError(Exception): ...

else:
    try:
        import redis.exceptions as _redis
    except ImportError:
        _redis = None

    def _of_redis(name: str) -> type:
        return getattr(_redis, name, None) or type(name, (Exception,), {})

    _Base = _of_redis("RedisError")
    _AuthenticationError = _of_redis("AuthenticationError")
    _ConnectionError = _of_redis("ConnectionError")
    _DataError = _of_redis("DataError")
    _ExecAbortError = _of_redis("ExecAbortError")
    _LockError = _of_redis("LockError")
    _NoPermissionError = _of_redis("NoPermissionError")
    _NoScriptError = _of_redis("NoScriptError")
    _ReadOnlyError = _of_redis("ReadOnlyError")
    _ResponseError = _of_redis("ResponseError")
    _TimeoutError = _of_redis("TimeoutError")
    _WatchError = _of_redis("WatchError")


class LarderError(_Base):
    """Any of those below."""


class AuthenticationError(LarderError, _AuthenticationError):
    """The primary requires another user or password."""


class ClosedError(LarderError):
    """The store, the replica, the connection or the listener was closed."""


class ConnectionError(LarderError, _ConnectionError, builtins.ConnectionError):
    """The connection to the primary broke, or there is none. A write that was sent may have been executed or not."""


class DataError(LarderError, _DataError, ValueError):
    """An argument cannot be a word of a command."""


class ExecutedError(LarderError):
    """The write was executed, but it is not known when it can be read here. Done again it would be executed twice."""

    #: The primary's reply to the write.
    reply: Any

    def __init__(self, message: str, reply: Any = None) -> None:
        super().__init__(message)
        self.reply = reply


class ForkError(LarderError):
    """The object was opened before the process was forked."""


class InternalError(LarderError):
    """A bug of the library. Please report it."""


class LockError(LarderError, _LockError, ValueError):
    """A lock cannot be acquired, or is not held by the caller."""


class OptionError(LarderError, ValueError):
    """An option or an address is wrong."""


class ProtocolError(LarderError):
    """The reply is not one of the protocol, or has an unexpected form."""


class ResponseError(LarderError, _ResponseError):
    """The command was refused or failed. The text begins with the code of the error, unless that is ERR."""


class ExecAbortError(ResponseError, _ExecAbortError):
    """A command of the transaction cannot be executed, so none was."""


class NoPermissionError(ResponseError, _NoPermissionError):
    """The user may not do that."""


class NoScriptError(ResponseError, _NoScriptError):
    """There is no script with this digest."""


class ReadOnlyError(ResponseError, _ReadOnlyError):
    """A write to the data of a replica."""


class StorageError(LarderError):
    """The directory of a store is in use, or one of its files is damaged or cannot be written."""


class NotKeptError(StorageError):
    """The write was executed, but is not on the disk, as `appendfsync` had promised. The store takes no more writes until it is opened again."""


class TimeoutError(LarderError, _TimeoutError, builtins.TimeoutError):
    """It did not come about in time. A write has been executed nevertheless."""


class WatchError(LarderError, _WatchError):
    """A watched key has changed, so the transaction was not executed."""
