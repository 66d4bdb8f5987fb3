"""What can go wrong. Everything that this package raises itself is a LarderError, but for arguments of a wrong type or value."""

import builtins
from typing import Any


class LarderError(Exception):
    """Any of those below."""


class AuthenticationError(LarderError):
    """The primary wants another user or password."""


class ClosedError(LarderError):
    """The store, the replica or the listener was closed."""


class ConnectionError(LarderError, builtins.ConnectionError):
    """The connection to the primary broke, or there is none. A write that was sent may have been executed, or not."""


class DataError(LarderError, ValueError):
    """An argument cannot be a word of a command."""


class ExecutedError(LarderError):
    """The write was executed, but it is not known when it can be read here. Done again it would be executed twice."""

    #: What the primary has answered to the write.
    reply: Any

    def __init__(self, message: str, reply: Any = None) -> None:
        super().__init__(message)
        self.reply = reply


class ForkError(LarderError):
    """What is used was opened before the process was forked."""


class InternalError(LarderError):
    """The library has failed where it must not. A report of it is welcome."""


class OptionError(LarderError, ValueError):
    """An option or an address is wrong."""


class ProtocolError(LarderError):
    """What came is no reply of the protocol, or one of another form than was to come."""


class ResponseError(LarderError):
    """The command was refused or failed; the text begins with the code of the error, unless that is ERR."""


class NoPermissionError(ResponseError):
    """The user may not do that."""


class ReadOnlyError(ResponseError):
    """A write, and the data is a replica's."""


class StorageError(LarderError):
    """The directory of a store is in use, or one of its files is damaged or cannot be written."""


class NotKeptError(StorageError):
    """The write was executed, but is not on the disk, as `appendfsync` had promised. The store takes no more until it is opened again."""


class TimeoutError(LarderError, builtins.TimeoutError):
    """It did not come about in time. A write has been executed nevertheless."""
