"""Commands that write. Names, arguments and replies are redis-py's; of a replica they are executed by the primary, and waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from .reads import Word, many, pairs


def seconds(time: int | timedelta) -> int:
    return int(time.total_seconds()) if isinstance(time, timedelta) else time


def milliseconds(time: int | timedelta) -> int:
    return int(time.total_seconds() * 1000) if isinstance(time, timedelta) else time


def unix(time: int | datetime) -> int:
    return int(time.timestamp()) if isinstance(time, datetime) else time


def as_it_is(reply: Any) -> Any:
    return reply


def is_ok(reply: Any) -> bool | None:
    """OK is True, as in redis-py; nothing is None."""
    return None if reply is None else True


def is_one(reply: Any) -> bool:
    return reply != 0


def number(reply: Any) -> Any:
    return None if reply is None else float(reply)


class Writes:
    """What writes; `_write_as` executes it and gives the reply to a function. For asyncio it returns what is to be awaited."""

    def _write_as(self, make: Callable[[Any], Any], *words: Word) -> Any:
        raise NotImplementedError

    # Keys.

    def delete(self, *names: Word) -> Any:
        return self._write_as(as_it_is, "DEL", *names)

    def unlink(self, *names: Word) -> Any:
        return self._write_as(as_it_is, "UNLINK", *names)

    def expire(
        self, name: Word, time: int | timedelta, nx: bool = False, xx: bool = False, gt: bool = False, lt: bool = False
    ) -> Any:
        return self._write_as(is_one, "EXPIRE", name, seconds(time), *flags(NX=nx, XX=xx, GT=gt, LT=lt))

    def pexpire(self, name: Word, time: int | timedelta) -> Any:
        return self._write_as(is_one, "PEXPIRE", name, milliseconds(time))

    def expireat(self, name: Word, when: int | datetime) -> Any:
        return self._write_as(is_one, "EXPIREAT", name, unix(when))

    def persist(self, name: Word) -> Any:
        return self._write_as(is_one, "PERSIST", name)

    def rename(self, src: Word, dst: Word) -> Any:
        return self._write_as(is_ok, "RENAME", src, dst)

    def flushdb(self, asynchronous: bool = False) -> Any:
        return self._write_as(is_ok, "FLUSHDB", *flags(ASYNC=asynchronous))

    def flushall(self, asynchronous: bool = False) -> Any:
        return self._write_as(is_ok, "FLUSHALL", *flags(ASYNC=asynchronous))

    # Strings.

    def set(
        self,
        name: Word,
        value: Word,
        ex: int | timedelta | None = None,
        px: int | timedelta | None = None,
        nx: bool = False,
        xx: bool = False,
        keepttl: bool = False,
        get: bool = False,
        exat: int | datetime | None = None,
        pxat: int | None = None,
    ) -> Any:
        """True; None if `nx` or `xx` has kept it from being set; the old value if `get`."""
        words: list[Any] = ["SET", name, value]
        if ex is not None:
            words += ["EX", seconds(ex)]
        if px is not None:
            words += ["PX", milliseconds(px)]
        if exat is not None:
            words += ["EXAT", unix(exat)]
        if pxat is not None:
            words += ["PXAT", pxat]
        words += flags(KEEPTTL=keepttl, NX=nx, XX=xx, GET=get)
        return self._write_as(as_it_is if get else is_ok, *words)

    def setex(self, name: Word, time: int | timedelta, value: Word) -> Any:
        return self._write_as(is_ok, "SETEX", name, seconds(time), value)

    def psetex(self, name: Word, time_ms: int | timedelta, value: Word) -> Any:
        return self._write_as(is_ok, "PSETEX", name, milliseconds(time_ms), value)

    def setnx(self, name: Word, value: Word) -> Any:
        return self._write_as(is_one, "SETNX", name, value)

    def mset(self, mapping: Mapping[Any, Word]) -> Any:
        return self._write_as(is_ok, "MSET", *flat(mapping))

    def getset(self, name: Word, value: Word) -> Any:
        return self._write_as(as_it_is, "GETSET", name, value)

    def getdel(self, name: Word) -> Any:
        return self._write_as(as_it_is, "GETDEL", name)

    def append(self, key: Word, value: Word) -> Any:
        return self._write_as(as_it_is, "APPEND", key, value)

    def setrange(self, name: Word, offset: int, value: Word) -> Any:
        return self._write_as(as_it_is, "SETRANGE", name, offset, value)

    def setbit(self, name: Word, offset: int, value: int) -> Any:
        return self._write_as(as_it_is, "SETBIT", name, offset, value)

    def incr(self, name: Word, amount: int = 1) -> Any:
        return self._write_as(as_it_is, "INCRBY", name, amount)

    incrby = incr

    def decr(self, name: Word, amount: int = 1) -> Any:
        return self._write_as(as_it_is, "DECRBY", name, amount)

    decrby = decr

    def incrbyfloat(self, name: Word, amount: float = 1.0) -> Any:
        return self._write_as(number, "INCRBYFLOAT", name, amount)

    def pfadd(self, name: Word, *values: Word) -> Any:
        return self._write_as(as_it_is, "PFADD", name, *values)

    # Hashes.

    def hset(
        self,
        name: Word,
        key: Word | None = None,
        value: Word | None = None,
        mapping: Mapping[Any, Word] | None = None,
        items: list[Word] | None = None,
    ) -> Any:
        """Sets a field, those of a mapping, or those of a flat list; the number of new ones."""
        one: list[Any] = [] if key is None else [key, value]
        return self._write_as(as_it_is, "HSET", name, *one, *flat(mapping or {}), *(items or []))

    def hsetnx(self, name: Word, key: Word, value: Word) -> Any:
        return self._write_as(is_one, "HSETNX", name, key, value)

    def hdel(self, name: Word, *keys: Word) -> Any:
        return self._write_as(as_it_is, "HDEL", name, *keys)

    def hincrby(self, name: Word, key: Word, amount: int = 1) -> Any:
        return self._write_as(as_it_is, "HINCRBY", name, key, amount)

    def hincrbyfloat(self, name: Word, key: Word, amount: float = 1.0) -> Any:
        return self._write_as(number, "HINCRBYFLOAT", name, key, amount)

    # Lists.

    def lpush(self, name: Word, *values: Word) -> Any:
        return self._write_as(as_it_is, "LPUSH", name, *values)

    def rpush(self, name: Word, *values: Word) -> Any:
        return self._write_as(as_it_is, "RPUSH", name, *values)

    def lpop(self, name: Word, count: int | None = None) -> Any:
        return self._write_as(as_it_is, "LPOP", name, *([] if count is None else [count]))

    def rpop(self, name: Word, count: int | None = None) -> Any:
        return self._write_as(as_it_is, "RPOP", name, *([] if count is None else [count]))

    def lset(self, name: Word, index: int, value: Word) -> Any:
        return self._write_as(is_ok, "LSET", name, index, value)

    def lrem(self, name: Word, count: int, value: Word) -> Any:
        return self._write_as(as_it_is, "LREM", name, count, value)

    def ltrim(self, name: Word, start: int, end: int) -> Any:
        return self._write_as(is_ok, "LTRIM", name, start, end)

    # Sets.

    def sadd(self, name: Word, *values: Word) -> Any:
        return self._write_as(as_it_is, "SADD", name, *values)

    def srem(self, name: Word, *values: Word) -> Any:
        return self._write_as(as_it_is, "SREM", name, *values)

    def spop(self, name: Word, count: int | None = None) -> Any:
        return self._write_as(as_it_is, "SPOP", name, *([] if count is None else [count]))

    def smove(self, src: Word, dst: Word, value: Word) -> Any:
        return self._write_as(is_one, "SMOVE", src, dst, value)

    # Sorted sets.

    def zadd(
        self,
        name: Word,
        mapping: Mapping[Any, float],
        nx: bool = False,
        xx: bool = False,
        ch: bool = False,
        incr: bool = False,
        gt: bool = False,
        lt: bool = False,
    ) -> Any:
        """Members and their scores; the number of new ones, or the score if `incr`."""
        scores = [word for member, score in mapping.items() for word in (score, member)]
        options = flags(NX=nx, XX=xx, GT=gt, LT=lt, CH=ch, INCR=incr)
        return self._write_as(as_it_is, "ZADD", name, *options, *scores)

    def zincrby(self, name: Word, amount: float, value: Word) -> Any:
        return self._write_as(as_it_is, "ZINCRBY", name, amount, value)

    def zrem(self, name: Word, *values: Word) -> Any:
        return self._write_as(as_it_is, "ZREM", name, *values)

    def zpopmin(self, name: Word, count: int = 1) -> Any:
        return self._write_as(pairs, "ZPOPMIN", name, count)

    def zpopmax(self, name: Word, count: int = 1) -> Any:
        return self._write_as(pairs, "ZPOPMAX", name, count)

    # Streams.

    def xadd(self, name: Word, fields: Mapping[Any, Word], id: Word = "*", maxlen: int | None = None) -> Any:
        limit: list[Any] = [] if maxlen is None else ["MAXLEN", "~", maxlen]
        return self._write_as(as_it_is, "XADD", name, *limit, id, *flat(fields))

    def xdel(self, name: Word, *ids: Word) -> Any:
        return self._write_as(as_it_is, "XDEL", name, *ids)

    # Set operations that store.

    def sunionstore(self, dest: Word, keys: Word | Iterable[Word], *args: Word) -> Any:
        return self._write_as(as_it_is, "SUNIONSTORE", dest, *many(keys, args))

    def sinterstore(self, dest: Word, keys: Word | Iterable[Word], *args: Word) -> Any:
        return self._write_as(as_it_is, "SINTERSTORE", dest, *many(keys, args))


def flags(**wanted: bool) -> list[str]:
    return [name for name, is_wanted in wanted.items() if is_wanted]


def flat(mapping: Mapping[Any, Word]) -> list[Word]:
    return [word for pair in mapping.items() for word in pair]
