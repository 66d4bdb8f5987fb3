"""Commands that read, beside those that `_larder` has itself because they are called most. Names, arguments and replies are redis-py's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

#: What may be a word of a command.
Word = bytes | bytearray | memoryview | str | int | float


def many(first: Word | Iterable[Word], more: tuple[Word, ...]) -> list[Word]:
    """Words that come as one, as a sequence, or one after the other."""
    if isinstance(first, (bytes, bytearray, memoryview, str, int, float)):
        return [first, *more]
    return [*first, *more]


class Reads:
    """What reads; `_read` executes it."""

    def _read(self, *words: Word) -> Any:
        raise NotImplementedError

    # Keys.

    def type(self, name: Word) -> Any:
        return self._read("TYPE", name)

    def keys(self, pattern: Word = "*") -> list[Any]:
        return self._read("KEYS", pattern)

    def dbsize(self) -> int:
        return self._read("DBSIZE")

    def scan(
        self, cursor: int = 0, match: Word | None = None, count: int | None = None, _type: str | None = None
    ) -> tuple[int, list[Any]]:
        kind = [] if _type is None else ["TYPE", _type]
        return self._step(["SCAN", cursor, *kind], match, count)

    def scan_iter(
        self, match: Word | None = None, count: int | None = None, _type: str | None = None
    ) -> Iterator[Any]:
        """Every key that is there from the beginning to the end, at least once."""
        cursor = None
        while cursor != 0:
            cursor, found = self.scan(cursor or 0, match, count, _type)
            yield from found

    def _step(self, words: list[Any], match: Word | None, count: int | None) -> tuple[int, list[Any]]:
        if match is not None:
            words += ["MATCH", match]
        if count is not None:
            words += ["COUNT", count]
        cursor, found = self._read(*words)
        return int(cursor), found

    # Strings.

    def getrange(self, key: Word, start: int, end: int) -> Any:
        return self._read("GETRANGE", key, start, end)

    def getbit(self, name: Word, offset: int) -> int:
        return self._read("GETBIT", name, offset)

    def bitcount(self, key: Word, start: int | None = None, end: int | None = None) -> int:
        return self._read("BITCOUNT", key, *([] if start is None else [start, -1 if end is None else end]))

    def pfcount(self, *sources: Word) -> int:
        return self._read("PFCOUNT", *sources)

    # Hashes.

    def hscan(
        self, name: Word, cursor: int = 0, match: Word | None = None, count: int | None = None
    ) -> tuple[int, dict[Any, Any]]:
        cursor, flat = self._step(["HSCAN", name, cursor], match, count)
        return cursor, dict(zip(flat[::2], flat[1::2]))

    def hscan_iter(self, name: Word, match: Word | None = None, count: int | None = None) -> Iterator[Any]:
        cursor = None
        while cursor != 0:
            cursor, found = self.hscan(name, cursor or 0, match, count)
            yield from found.items()

    def hstrlen(self, name: Word, key: Word) -> int:
        return self._read("HSTRLEN", name, key)

    # Lists.

    def lpos(self, name: Word, value: Word, rank: int | None = None, count: int | None = None) -> Any:
        words: list[Any] = ["LPOS", name, value]
        if rank is not None:
            words += ["RANK", rank]
        if count is not None:
            words += ["COUNT", count]
        return self._read(*words)

    # Sets.

    def smismember(self, name: Word, values: Word | Iterable[Word], *args: Word) -> list[bool]:
        return [found != 0 for found in self._read("SMISMEMBER", name, *many(values, args))]

    def srandmember(self, name: Word, number: int | None = None) -> Any:
        return self._read("SRANDMEMBER", name, *([] if number is None else [number]))

    def sinter(self, keys: Word | Iterable[Word], *args: Word) -> set[Any]:
        return self._read("SINTER", *many(keys, args))

    def sunion(self, keys: Word | Iterable[Word], *args: Word) -> set[Any]:
        return self._read("SUNION", *many(keys, args))

    def sdiff(self, keys: Word | Iterable[Word], *args: Word) -> set[Any]:
        return self._read("SDIFF", *many(keys, args))

    # Sorted sets.

    def zrange(
        self,
        name: Word,
        start: Word,
        end: Word,
        desc: bool = False,
        withscores: bool = False,
        byscore: bool = False,
        bylex: bool = False,
        offset: int | None = None,
        num: int | None = None,
    ) -> list[Any]:
        """Members; with their scores as pairs if `withscores`."""
        words: list[Any] = ["ZRANGE", name, start, end]
        words += ["BYSCORE"] if byscore else ["BYLEX"] if bylex else []
        words += ["REV"] if desc else []
        if offset is not None and num is not None:
            words += ["LIMIT", offset, num]
        return self._members(words, withscores)

    def zrevrange(self, name: Word, start: int, end: int, withscores: bool = False) -> list[Any]:
        return self._members(["ZREVRANGE", name, start, end], withscores)

    def zrangebyscore(
        self,
        name: Word,
        min: Word,
        max: Word,
        start: int | None = None,
        num: int | None = None,
        withscores: bool = False,
    ) -> list[Any]:
        limit: list[Any] = [] if start is None or num is None else ["LIMIT", start, num]
        words: list[Any] = ["ZRANGEBYSCORE", name, min, max, *(["WITHSCORES"] if withscores else []), *limit]
        return pairs(self._read(*words)) if withscores else self._read(*words)

    def _members(self, words: list[Any], withscores: bool) -> list[Any]:
        return pairs(self._read(*words, "WITHSCORES")) if withscores else self._read(*words)

    def zmscore(self, key: Word, members: Iterable[Word]) -> list[float | None]:
        return self._read("ZMSCORE", key, *members)

    def zrank(self, name: Word, value: Word) -> int | None:
        return self._read("ZRANK", name, value)

    def zrevrank(self, name: Word, value: Word) -> int | None:
        return self._read("ZREVRANK", name, value)

    def zcount(self, name: Word, min: Word, max: Word) -> int:
        return self._read("ZCOUNT", name, min, max)

    # Streams.

    def xlen(self, name: Word) -> int:
        return self._read("XLEN", name)

    def xrange(self, name: Word, min: Word = "-", max: Word = "+", count: int | None = None) -> list[Any]:
        """Entries: pairs of an id and a dict."""
        limit: list[Any] = [] if count is None else ["COUNT", count]
        found = self._read("XRANGE", name, min, max, *limit)
        return [(id, dict(zip(fields[::2], fields[1::2]))) for id, fields in found]


def pairs(found: list[Any]) -> list[tuple[Any, Any]]:
    """What RESP3 has as lists of two."""
    return [tuple(pair) for pair in found]
