"""Commands that read, except those that `_larder` implements itself. Names, arguments and replies are those of redis-py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

#: What may be a word of a command.
Word = bytes | bytearray | memoryview | str | int | float


def many(first: Word | Iterable[Word], more: tuple[Word, ...]) -> list[Word]:
    """Words that come as one, as a sequence, or one after the other."""
    if isinstance(first, (bytes, bytearray, memoryview, str, int, float)):
        return [first, *more]
    return [*first, *more]


def as_it_is(reply: Any) -> Any:
    return reply


def is_one(reply: Any) -> bool:
    return reply != 0


def step(reply: Any) -> tuple[int, list[Any]]:
    """The cursor as a number, and what was found."""
    cursor, found = reply
    return int(cursor), found


def step_of_pairs(reply: Any) -> tuple[int, dict[Any, Any]]:
    cursor, found = step(reply)
    return cursor, dict(zip(found[::2], found[1::2]))


def step_of_scores(reply: Any) -> tuple[int, list[tuple[Any, float]]]:
    cursor, found = step(reply)
    return cursor, [(member, float(score)) for member, score in zip(found[::2], found[1::2])]


def mapping(reply: Any) -> Any:
    """A flat list of names and values as a dict."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))


def info(reply: Any) -> dict[str, Any]:
    """The text of INFO as a dict. Numbers are numbers, lists of `name=value` are dicts."""
    text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return {name: _info_value(value) for name, _, value in (line.partition(":") for line in lines)}


def _info_value(value: str) -> Any:
    if "," in value and "=" in value:
        return {name: _info_value(part) for name, _, part in (item.partition("=") for item in value.split(","))}
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def wanted(name: str, value: Word | None) -> list[Any]:
    """An option with its value, if it is given."""
    return [] if value is None else [name, value]


class Reads:
    """Commands that read. `_read_as` executes one and passes the reply to a function."""

    def _read_as(self, make: Callable[[Any], Any], *words: Word) -> Any:
        raise NotImplementedError

    def _read(self, *words: Word) -> Any:
        return self._read_as(as_it_is, *words)

    # The store.

    def ping(self) -> Any:
        return self._read_as(lambda _reply: True, "PING")

    def echo(self, value: Word) -> Any:
        return self._read("ECHO", value)

    def time(self) -> Any:
        """Seconds and microseconds since 1970."""
        return self._read_as(lambda reply: (int(reply[0]), int(reply[1])), "TIME")

    def info(self, section: str | None = None, *more: str) -> Any:
        return self._read_as(info, "INFO", *([] if section is None else [section]), *more)

    def config_get(self, pattern: str = "*", *more: str) -> Any:
        return self._read_as(mapping, "CONFIG", "GET", pattern, *more)

    def memory_usage(self, key: Word, samples: int | None = None) -> Any:
        return self._read("MEMORY", "USAGE", key, *wanted("SAMPLES", samples))

    # Keys.

    def type(self, name: Word) -> Any:
        return self._read("TYPE", name)

    def keys(self, pattern: Word = "*") -> Any:
        return self._read("KEYS", pattern)

    def dbsize(self) -> Any:
        return self._read("DBSIZE")

    def randomkey(self) -> Any:
        return self._read("RANDOMKEY")

    def touch(self, *names: Word) -> Any:
        return self._read("TOUCH", *names)

    def expiretime(self, key: Word) -> Any:
        return self._read("EXPIRETIME", key)

    def pexpiretime(self, key: Word) -> Any:
        return self._read("PEXPIRETIME", key)

    def dump(self, name: Word) -> Any:
        return self._read("DUMP", name)

    def object(self, infotype: str, key: Word) -> Any:
        return self._read("OBJECT", infotype, key)

    def scan(
        self, cursor: int = 0, match: Word | None = None, count: int | None = None, _type: str | None = None
    ) -> Any:
        options = [*wanted("MATCH", match), *wanted("COUNT", count), *wanted("TYPE", _type)]
        return self._read_as(step, "SCAN", cursor, *options)

    def scan_iter(
        self, match: Word | None = None, count: int | None = None, _type: str | None = None
    ) -> Iterator[Any]:
        """Every key that is there from the beginning to the end, at least once."""
        return self._walk(lambda cursor: self.scan(cursor, match, count, _type))

    @staticmethod
    def _walk(look: Callable[[int], Any]) -> Iterator[Any]:
        """The items of all steps of a scan."""
        cursor = None
        while cursor != 0:
            cursor, found = look(cursor or 0)
            yield from found.items() if isinstance(found, dict) else found

    def sort(
        self,
        name: Word,
        start: int | None = None,
        num: int | None = None,
        by: Word | None = None,
        get: Word | Iterable[Word] | None = None,
        desc: bool = False,
        alpha: bool = False,
        store: Word | None = None,
        groups: bool = False,
    ) -> Any:
        """The sorted elements, or their number if they are stored; `groups` makes tuples of the values of several `get`."""
        patterns = [] if get is None else many(get, ())
        limit: list[Any] = [] if start is None or num is None else ["LIMIT", start, num]
        words: list[Any] = ["SORT", name, *wanted("BY", by), *limit]
        words += [word for pattern in patterns for word in ("GET", pattern)]
        words += [*(["DESC"] if desc else []), *(["ALPHA"] if alpha else []), *wanted("STORE", store)]
        size = len(patterns)
        if groups and size > 1:
            return self._read_as(lambda found: list(zip(*(found[at::size] for at in range(size)))), *words)
        return self._read(*words)

    # Strings.

    def getrange(self, key: Word, start: int, end: int) -> Any:
        return self._read("GETRANGE", key, start, end)

    substr = getrange

    def lcs(self, key1: Word, key2: Word, len: bool = False) -> Any:
        return self._read("LCS", key1, key2, *(["LEN"] if len else []))

    def bitpos(self, key: Word, bit: int, start: int | None = None, end: int | None = None) -> Any:
        bounds = [] if start is None else [start] if end is None else [start, end]
        return self._read("BITPOS", key, bit, *bounds)

    def getbit(self, name: Word, offset: int) -> int:
        return self._read("GETBIT", name, offset)

    def bitcount(self, key: Word, start: int | None = None, end: int | None = None) -> int:
        return self._read("BITCOUNT", key, *([] if start is None else [start, -1 if end is None else end]))

    def pfcount(self, *sources: Word) -> int:
        return self._read("PFCOUNT", *sources)

    # Hashes.

    def hscan(self, name: Word, cursor: int = 0, match: Word | None = None, count: int | None = None) -> Any:
        options = [*wanted("MATCH", match), *wanted("COUNT", count)]
        return self._read_as(step_of_pairs, "HSCAN", name, cursor, *options)

    def hscan_iter(self, name: Word, match: Word | None = None, count: int | None = None) -> Iterator[Any]:
        """Fields with their values."""
        return self._walk(lambda cursor: self.hscan(name, cursor, match, count))

    def hstrlen(self, name: Word, key: Word) -> Any:
        return self._read("HSTRLEN", name, key)

    def hrandfield(self, key: Word, count: int | None = None, withvalues: bool = False) -> Any:
        words: list[Any] = [] if count is None else [count, *(["WITHVALUES"] if withvalues else [])]
        return self._read_as(pairs if withvalues else as_it_is, "HRANDFIELD", key, *words)

    # Lists.

    def lpos(self, name: Word, value: Word, rank: int | None = None, count: int | None = None) -> Any:
        words: list[Any] = ["LPOS", name, value]
        if rank is not None:
            words += ["RANK", rank]
        if count is not None:
            words += ["COUNT", count]
        return self._read(*words)

    # Sets.

    def smismember(self, name: Word, values: Word | Iterable[Word], *args: Word) -> Any:
        return self._read_as(lambda reply: [found != 0 for found in reply], "SMISMEMBER", name, *many(values, args))

    def sscan(self, name: Word, cursor: int = 0, match: Word | None = None, count: int | None = None) -> Any:
        return self._read_as(step, "SSCAN", name, cursor, *wanted("MATCH", match), *wanted("COUNT", count))

    def sscan_iter(self, name: Word, match: Word | None = None, count: int | None = None) -> Iterator[Any]:
        return self._walk(lambda cursor: self.sscan(name, cursor, match, count))

    def sintercard(self, numkeys: int, keys: Iterable[Word], limit: int = 0) -> Any:
        return self._read("SINTERCARD", numkeys, *keys, "LIMIT", limit)

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

    def zrevrange(self, name: Word, start: int, end: int, withscores: bool = False) -> Any:
        return self._members(["ZREVRANGE", name, start, end], withscores)

    def zrangebyscore(
        self,
        name: Word,
        min: Word,
        max: Word,
        start: int | None = None,
        num: int | None = None,
        withscores: bool = False,
    ) -> Any:
        limit: list[Any] = [] if start is None or num is None else ["LIMIT", start, num]
        words: list[Any] = ["ZRANGEBYSCORE", name, min, max, *(["WITHSCORES"] if withscores else []), *limit]
        return self._read_as(pairs if withscores else as_it_is, *words)

    def zrevrangebyscore(
        self,
        name: Word,
        max: Word,
        min: Word,
        start: int | None = None,
        num: int | None = None,
        withscores: bool = False,
    ) -> Any:
        limit: list[Any] = [] if start is None or num is None else ["LIMIT", start, num]
        words: list[Any] = ["ZREVRANGEBYSCORE", name, max, min, *(["WITHSCORES"] if withscores else []), *limit]
        return self._read_as(pairs if withscores else as_it_is, *words)

    def zrangebylex(self, name: Word, min: Word, max: Word, start: int | None = None, num: int | None = None) -> Any:
        limit: list[Any] = [] if start is None or num is None else ["LIMIT", start, num]
        return self._read("ZRANGEBYLEX", name, min, max, *limit)

    def zlexcount(self, name: Word, min: Word, max: Word) -> Any:
        return self._read("ZLEXCOUNT", name, min, max)

    def zrandmember(self, key: Word, count: int | None = None, withscores: bool = False) -> Any:
        words: list[Any] = [] if count is None else [count, *(["WITHSCORES"] if withscores else [])]
        return self._read_as(pairs if withscores else as_it_is, "ZRANDMEMBER", key, *words)

    def zscan(self, name: Word, cursor: int = 0, match: Word | None = None, count: int | None = None) -> Any:
        options = [*wanted("MATCH", match), *wanted("COUNT", count)]
        return self._read_as(step_of_scores, "ZSCAN", name, cursor, *options)

    def zscan_iter(self, name: Word, match: Word | None = None, count: int | None = None) -> Iterator[Any]:
        """Members with their scores."""
        return self._walk(lambda cursor: self.zscan(name, cursor, match, count))

    def zunion(self, keys: Iterable[Word], withscores: bool = False) -> Any:
        return self._of_several("ZUNION", keys, withscores)

    def zinter(self, keys: Iterable[Word], withscores: bool = False) -> Any:
        return self._of_several("ZINTER", keys, withscores)

    def zdiff(self, keys: Iterable[Word], withscores: bool = False) -> Any:
        return self._of_several("ZDIFF", keys, withscores)

    def _of_several(self, name: str, keys: Iterable[Word], withscores: bool) -> Any:
        keys = list(keys)
        return self._members([name, len(keys), *keys], withscores)

    def _members(self, words: list[Any], withscores: bool) -> Any:
        return self._read_as(pairs if withscores else as_it_is, *words, *(["WITHSCORES"] if withscores else []))

    def zmscore(self, key: Word, members: Iterable[Word]) -> list[float | None]:
        return self._read("ZMSCORE", key, *members)

    def zrank(self, name: Word, value: Word) -> int | None:
        return self._read("ZRANK", name, value)

    def zrevrank(self, name: Word, value: Word) -> int | None:
        return self._read("ZREVRANK", name, value)

    def zcount(self, name: Word, min: Word, max: Word) -> int:
        return self._read("ZCOUNT", name, min, max)


def pairs(found: Any) -> list[tuple[Any, Any]]:
    """The lists of two of RESP3 as tuples."""
    return [tuple(pair) for pair in found]
