"""Commands that wait for elements. Names, arguments and replies are those of redis-py; a timeout of 0 is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .reads import Word, as_it_is, many, wanted


def popped(reply: Any) -> Any:
    """The key and the element."""
    return None if reply is None else tuple(reply)


def popped_score(reply: Any) -> Any:
    """The key, the member and its score."""
    return None if reply is None else (reply[0], reply[1], float(reply[2]))


class Waiting:
    def _wait_as(self, make: Callable[[Any], Any], *words: Word) -> Any:
        raise NotImplementedError

    def blpop(self, keys: Word | Iterable[Word], timeout: float | None = 0) -> Any:
        return self._wait_as(popped, "BLPOP", *many(keys, ()), timeout or 0)

    def brpop(self, keys: Word | Iterable[Word], timeout: float | None = 0) -> Any:
        return self._wait_as(popped, "BRPOP", *many(keys, ()), timeout or 0)

    def blmove(
        self, first_list: Word, second_list: Word, timeout: float, src: str = "LEFT", dest: str = "RIGHT"
    ) -> Any:
        return self._wait_as(as_it_is, "BLMOVE", first_list, second_list, src, dest, timeout)

    def brpoplpush(self, src: Word, dst: Word, timeout: float | None = 0) -> Any:
        return self._wait_as(as_it_is, "BRPOPLPUSH", src, dst, timeout or 0)

    def blmpop(self, timeout: float, numkeys: int, *args: Word, direction: str, count: int | None = 1) -> Any:
        return self._wait_as(as_it_is, "BLMPOP", timeout, numkeys, *args, direction, *wanted("COUNT", count))

    def bzpopmin(self, keys: Word | Iterable[Word], timeout: float | None = 0) -> Any:
        return self._wait_as(popped_score, "BZPOPMIN", *many(keys, ()), timeout or 0)

    def bzpopmax(self, keys: Word | Iterable[Word], timeout: float | None = 0) -> Any:
        return self._wait_as(popped_score, "BZPOPMAX", *many(keys, ()), timeout or 0)
