"""The commands that `_larder.Data` implements itself, for objects that do not execute a command at once: pipelines, and asyncio."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .reads import Reads, Word, is_one, many, mapping


def score(reply: Any) -> float | None:
    return None if reply is None else float(reply)


class Basics(Reads):
    def get(self, name: Word) -> Any:
        return self._read("GET", name)

    def mget(self, keys: Word | Iterable[Word], *args: Word) -> Any:
        return self._read("MGET", *many(keys, args))

    def exists(self, *names: Word) -> Any:
        return self._read("EXISTS", *names)

    def ttl(self, name: Word) -> Any:
        return self._read("TTL", name)

    def pttl(self, name: Word) -> Any:
        return self._read("PTTL", name)

    def strlen(self, name: Word) -> Any:
        return self._read("STRLEN", name)

    def hget(self, name: Word, key: Word) -> Any:
        return self._read("HGET", name, key)

    def hmget(self, name: Word, keys: Word | Iterable[Word], *args: Word) -> Any:
        return self._read("HMGET", name, *many(keys, args))

    def hgetall(self, name: Word) -> Any:
        return self._read_as(mapping, "HGETALL", name)

    def hexists(self, name: Word, key: Word) -> Any:
        return self._read_as(is_one, "HEXISTS", name, key)

    def hlen(self, name: Word) -> Any:
        return self._read("HLEN", name)

    def hkeys(self, name: Word) -> Any:
        return self._read("HKEYS", name)

    def hvals(self, name: Word) -> Any:
        return self._read("HVALS", name)

    def llen(self, name: Word) -> Any:
        return self._read("LLEN", name)

    def lindex(self, name: Word, index: int) -> Any:
        return self._read("LINDEX", name, index)

    def lrange(self, name: Word, start: int, end: int) -> Any:
        return self._read("LRANGE", name, start, end)

    def smembers(self, name: Word) -> Any:
        return self._read_as(set, "SMEMBERS", name)

    def sismember(self, name: Word, value: Word) -> Any:
        return self._read_as(is_one, "SISMEMBER", name, value)

    def scard(self, name: Word) -> Any:
        return self._read("SCARD", name)

    def zcard(self, name: Word) -> Any:
        return self._read("ZCARD", name)

    def zscore(self, name: Word, value: Word) -> Any:
        return self._read_as(score, "ZSCORE", name, value)
