"""Commands about fields of hashes that expire. Names, arguments and replies are those of redis-py."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from .reads import Reads, Word, as_it_is
from .writes import Writes, flags, flat, milliseconds, seconds, unix, unix_ms


class Fields(Reads, Writes):
    """Each replies with a list that has a number for each field; -2 for a field that does not exist."""

    def _of_fields(self, command: str, name: Word, *words: Any, fields: tuple[Word, ...]) -> Any:
        return self._write_as(as_it_is, command, name, *words, "FIELDS", len(fields), *fields)

    def hexpire(
        self, name: Word, seconds_: int | timedelta, *fields: Word, nx: bool = False, xx: bool = False, gt: bool = False, lt: bool = False
    ) -> Any:
        options = flags(NX=nx, XX=xx, GT=gt, LT=lt)
        return self._of_fields("HEXPIRE", name, seconds(seconds_), *options, fields=fields)

    def hpexpire(
        self, name: Word, milliseconds_: int | timedelta, *fields: Word, nx: bool = False, xx: bool = False, gt: bool = False, lt: bool = False
    ) -> Any:
        options = flags(NX=nx, XX=xx, GT=gt, LT=lt)
        return self._of_fields("HPEXPIRE", name, milliseconds(milliseconds_), *options, fields=fields)

    def hexpireat(
        self, name: Word, when: int | datetime, *fields: Word, nx: bool = False, xx: bool = False, gt: bool = False, lt: bool = False
    ) -> Any:
        return self._of_fields("HEXPIREAT", name, unix(when), *flags(NX=nx, XX=xx, GT=gt, LT=lt), fields=fields)

    def hpexpireat(
        self, name: Word, when: int | datetime, *fields: Word, nx: bool = False, xx: bool = False, gt: bool = False, lt: bool = False
    ) -> Any:
        return self._of_fields("HPEXPIREAT", name, unix_ms(when), *flags(NX=nx, XX=xx, GT=gt, LT=lt), fields=fields)

    def hpersist(self, name: Word, *fields: Word) -> Any:
        return self._of_fields("HPERSIST", name, fields=fields)

    def _about_fields(self, command: str, name: Word, fields: tuple[Word, ...]) -> Any:
        return self._read(command, name, "FIELDS", len(fields), *fields)

    def httl(self, key: Word, *fields: Word) -> Any:
        return self._about_fields("HTTL", key, fields)

    def hpttl(self, key: Word, *fields: Word) -> Any:
        return self._about_fields("HPTTL", key, fields)

    def hexpiretime(self, key: Word, *fields: Word) -> Any:
        return self._about_fields("HEXPIRETIME", key, fields)

    def hpexpiretime(self, key: Word, *fields: Word) -> Any:
        return self._about_fields("HPEXPIRETIME", key, fields)

    def hgetex(
        self, name: Word, *keys: Word, ex: int | timedelta | None = None, px: int | timedelta | None = None, persist: bool = False
    ) -> Any:
        """The values of fields; sets or removes their expiry."""
        return self._of_fields("HGETEX", name, *_expiry(ex, px), *flags(PERSIST=persist), fields=keys)

    def hsetex(
        self, name: Word, mapping: Mapping[Any, Word], ex: int | timedelta | None = None, px: int | timedelta | None = None, keepttl: bool = False
    ) -> Any:
        """Sets fields with an expiry; 1 if they were set."""
        words = [*_expiry(ex, px), *flags(KEEPTTL=keepttl), "FIELDS", len(mapping), *flat(mapping)]
        return self._write_as(as_it_is, "HSETEX", name, *words)


def _expiry(ex: int | timedelta | None, px: int | timedelta | None) -> list[Any]:
    words: list[Any] = [] if ex is None else ["EX", seconds(ex)]
    return words if px is None else [*words, "PX", milliseconds(px)]
