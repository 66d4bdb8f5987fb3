"""Commands about places. Names, arguments and replies are those of redis-py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .reads import Reads, Word, as_it_is, wanted
from .writes import Writes, flags


def distance(reply: Any) -> float | None:
    return None if reply is None else float(reply)


def positions(reply: Any) -> list[tuple[float, float] | None]:
    return [None if place is None else (float(place[0]), float(place[1])) for place in reply]


class Geo(Reads, Writes):
    def geoadd(self, name: Word, values: Sequence[Any], nx: bool = False, xx: bool = False, ch: bool = False) -> Any:
        """Adds places: longitude, latitude, name, longitude.."""
        return self._write_as(as_it_is, "GEOADD", name, *flags(NX=nx, XX=xx, CH=ch), *values)

    def geodist(self, name: Word, place1: Word, place2: Word, unit: str | None = None) -> Any:
        return self._read_as(distance, "GEODIST", name, place1, place2, *([] if unit is None else [unit]))

    def geohash(self, name: Word, *values: Word) -> Any:
        return self._read("GEOHASH", name, *values)

    def geopos(self, name: Word, *values: Word) -> Any:
        return self._read_as(positions, "GEOPOS", name, *values)

    def geosearch(
        self,
        name: Word,
        member: Word | None = None,
        longitude: float | None = None,
        latitude: float | None = None,
        unit: str = "m",
        radius: float | None = None,
        width: float | None = None,
        height: float | None = None,
        sort: str | None = None,
        count: int | None = None,
        any: bool = False,
        withcoord: bool = False,
        withdist: bool = False,
        withhash: bool = False,
    ) -> Any:
        """Places near a member or a position; as lists of name, distance, hash and position if any of these is asked for."""
        words = _area(member, longitude, latitude, unit, radius, width, height, sort, count, any)
        details = flags(WITHDIST=withdist, WITHHASH=withhash, WITHCOORD=withcoord)

        def found(reply: Any) -> Any:
            return [_details(place, withdist, withcoord) for place in reply] if details else reply

        return self._read_as(found, "GEOSEARCH", name, *words, *details)

    def geosearchstore(
        self,
        dest: Word,
        name: Word,
        member: Word | None = None,
        longitude: float | None = None,
        latitude: float | None = None,
        unit: str = "m",
        radius: float | None = None,
        width: float | None = None,
        height: float | None = None,
        sort: str | None = None,
        count: int | None = None,
        any: bool = False,
        storedist: bool = False,
    ) -> Any:
        words = _area(member, longitude, latitude, unit, radius, width, height, sort, count, any)
        return self._write_as(as_it_is, "GEOSEARCHSTORE", dest, name, *words, *flags(STOREDIST=storedist))


def _area(
    member: Word | None,
    longitude: float | None,
    latitude: float | None,
    unit: str,
    radius: float | None,
    width: float | None,
    height: float | None,
    sort: str | None,
    count: int | None,
    any: bool,
) -> list[Any]:
    words: list[Any] = ["FROMLONLAT", longitude, latitude] if member is None else ["FROMMEMBER", member]
    words += ["BYBOX", width, height, unit] if radius is None else ["BYRADIUS", radius, unit]
    words += [] if sort is None else [sort]
    return words + wanted("COUNT", count) + flags(ANY=any and count is not None)


def _details(place: list[Any], withdist: bool, withcoord: bool) -> list[Any]:
    name, *rest = place
    if withdist:
        rest[0] = float(rest[0])
    if withcoord:
        rest[-1] = (float(rest[-1][0]), float(rest[-1][1]))
    return [name, *rest]
