"""Commands that write. Names, arguments and replies are those of redis-py. Those of a replica are executed by the primary, and waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from .reads import Word, as_it_is, is_one, many, pairs, wanted


def seconds(time: int | timedelta) -> int:
    return int(time.total_seconds()) if isinstance(time, timedelta) else time


def milliseconds(time: int | timedelta) -> int:
    return int(time.total_seconds() * 1000) if isinstance(time, timedelta) else time


def unix_ms(time: int | datetime) -> int:
    return int(time.timestamp() * 1000) if isinstance(time, datetime) else time


def unix(time: int | datetime) -> int:
    return int(time.timestamp()) if isinstance(time, datetime) else time


def is_ok(reply: Any) -> bool | None:
    """OK is True, as in redis-py; nothing is None."""
    return None if reply is None else True


def number(reply: Any) -> Any:
    return None if reply is None else float(reply)


class Writes:
    """Commands that write. `_write_as` executes one and passes the reply to a function. For asyncio it returns an awaitable."""

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

    def pexpire(
        self, name: Word, time: int | timedelta, nx: bool = False, xx: bool = False, gt: bool = False, lt: bool = False
    ) -> Any:
        return self._write_as(is_one, "PEXPIRE", name, milliseconds(time), *flags(NX=nx, XX=xx, GT=gt, LT=lt))

    def expireat(
        self, name: Word, when: int | datetime, nx: bool = False, xx: bool = False, gt: bool = False, lt: bool = False
    ) -> Any:
        return self._write_as(is_one, "EXPIREAT", name, unix(when), *flags(NX=nx, XX=xx, GT=gt, LT=lt))

    def pexpireat(
        self, name: Word, when: int | datetime, nx: bool = False, xx: bool = False, gt: bool = False, lt: bool = False
    ) -> Any:
        return self._write_as(is_one, "PEXPIREAT", name, unix_ms(when), *flags(NX=nx, XX=xx, GT=gt, LT=lt))

    def persist(self, name: Word) -> Any:
        return self._write_as(is_one, "PERSIST", name)

    def rename(self, src: Word, dst: Word) -> Any:
        return self._write_as(is_ok, "RENAME", src, dst)

    def renamenx(self, src: Word, dst: Word) -> Any:
        return self._write_as(is_one, "RENAMENX", src, dst)

    def copy(self, source: Word, destination: Word, destination_db: int | None = None, replace: bool = False) -> Any:
        options = [*wanted("DB", destination_db), *flags(REPLACE=replace)]
        return self._write_as(is_one, "COPY", source, destination, *options)

    def move(self, name: Word, db: int) -> Any:
        return self._write_as(is_one, "MOVE", name, db)

    def restore(self, name: Word, ttl: int, value: Word, replace: bool = False, absttl: bool = False) -> Any:
        return self._write_as(is_ok, "RESTORE", name, ttl, value, *flags(REPLACE=replace, ABSTTL=absttl))

    def swapdb(self, first: int, second: int) -> Any:
        return self._write_as(is_ok, "SWAPDB", first, second)

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

    def getex(
        self,
        name: Word,
        ex: int | timedelta | None = None,
        px: int | timedelta | None = None,
        exat: int | datetime | None = None,
        pxat: int | datetime | None = None,
        persist: bool = False,
    ) -> Any:
        """The value; sets or removes the expiry."""
        words: list[Any] = ["GETEX", name]
        if ex is not None:
            words += ["EX", seconds(ex)]
        if px is not None:
            words += ["PX", milliseconds(px)]
        if exat is not None:
            words += ["EXAT", unix(exat)]
        if pxat is not None:
            words += ["PXAT", unix_ms(pxat)]
        return self._write_as(as_it_is, *words, *flags(PERSIST=persist))

    def msetnx(self, mapping: Mapping[Any, Word]) -> Any:
        return self._write_as(is_one, "MSETNX", *flat(mapping))

    def bitop(self, operation: str, dest: Word, *keys: Word) -> Any:
        return self._write_as(as_it_is, "BITOP", operation, dest, *keys)

    def pfmerge(self, dest: Word, *sources: Word) -> Any:
        return self._write_as(is_ok, "PFMERGE", dest, *sources)

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

    def hmset(self, name: Word, mapping: Mapping[Any, Word]) -> Any:
        return self._write_as(is_ok, "HMSET", name, *flat(mapping))

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

    def lpushx(self, name: Word, *values: Word) -> Any:
        return self._write_as(as_it_is, "LPUSHX", name, *values)

    def rpushx(self, name: Word, *values: Word) -> Any:
        return self._write_as(as_it_is, "RPUSHX", name, *values)

    def linsert(self, name: Word, where: str, refvalue: Word, value: Word) -> Any:
        return self._write_as(as_it_is, "LINSERT", name, where, refvalue, value)

    def lmove(self, first_list: Word, second_list: Word, src: str = "LEFT", dest: str = "RIGHT") -> Any:
        return self._write_as(as_it_is, "LMOVE", first_list, second_list, src, dest)

    def rpoplpush(self, src: Word, dst: Word) -> Any:
        return self._write_as(as_it_is, "RPOPLPUSH", src, dst)

    def lmpop(self, num_keys: int, *args: Word, direction: str, count: int | None = None) -> Any:
        return self._write_as(as_it_is, "LMPOP", num_keys, *args, direction, *wanted("COUNT", count))

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

    def zremrangebyrank(self, name: Word, min: int, max: int) -> Any:
        return self._write_as(as_it_is, "ZREMRANGEBYRANK", name, min, max)

    def zremrangebyscore(self, name: Word, min: Word, max: Word) -> Any:
        return self._write_as(as_it_is, "ZREMRANGEBYSCORE", name, min, max)

    def zremrangebylex(self, name: Word, min: Word, max: Word) -> Any:
        return self._write_as(as_it_is, "ZREMRANGEBYLEX", name, min, max)

    def zunionstore(
        self, dest: Word, keys: Iterable[Word] | Mapping[Any, float], aggregate: str | None = None
    ) -> Any:
        return self._write_as(as_it_is, "ZUNIONSTORE", dest, *weighted(keys), *wanted("AGGREGATE", aggregate))

    def zinterstore(
        self, dest: Word, keys: Iterable[Word] | Mapping[Any, float], aggregate: str | None = None
    ) -> Any:
        return self._write_as(as_it_is, "ZINTERSTORE", dest, *weighted(keys), *wanted("AGGREGATE", aggregate))

    def zdiffstore(self, dest: Word, keys: Iterable[Word]) -> Any:
        return self._write_as(as_it_is, "ZDIFFSTORE", dest, *weighted(keys))

    def zrangestore(self, dest: Word, name: Word, start: Word, end: Word, byscore: bool = False, bylex: bool = False, desc: bool = False) -> Any:
        options = flags(BYSCORE=byscore, BYLEX=bylex, REV=desc)
        return self._write_as(as_it_is, "ZRANGESTORE", dest, name, start, end, *options)

    def zpopmin(self, name: Word, count: int = 1) -> Any:
        return self._write_as(pairs, "ZPOPMIN", name, count)

    def zpopmax(self, name: Word, count: int = 1) -> Any:
        return self._write_as(pairs, "ZPOPMAX", name, count)

    # Set operations that store.

    def sunionstore(self, dest: Word, keys: Word | Iterable[Word], *args: Word) -> Any:
        return self._write_as(as_it_is, "SUNIONSTORE", dest, *many(keys, args))

    def sdiffstore(self, dest: Word, keys: Word | Iterable[Word], *args: Word) -> Any:
        return self._write_as(as_it_is, "SDIFFSTORE", dest, *many(keys, args))

    def sinterstore(self, dest: Word, keys: Word | Iterable[Word], *args: Word) -> Any:
        return self._write_as(as_it_is, "SINTERSTORE", dest, *many(keys, args))


def weighted(keys: Iterable[Word] | Mapping[Any, float]) -> list[Any]:
    """The number of keys, the keys, and their weights if they are a mapping."""
    names: list[Any] = list(keys)
    weights = ["WEIGHTS", *keys.values()] if isinstance(keys, Mapping) else []
    return [len(names), *names, *weights]


def flags(**given: bool) -> list[str]:
    return [name for name, is_given in given.items() if is_given]


def flat(mapping: Mapping[Any, Word]) -> list[Word]:
    return [word for pair in mapping.items() for word in pair]
