"""Commands about streams. Names, arguments and replies are those of redis-py; an entry is a pair of an ID and a dict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .reads import Reads, Word, as_it_is, wanted
from .writes import Writes, flags, flat, is_ok


def entry(found: Any) -> Any:
    if found is None:
        return None
    id, fields = found
    return id, None if fields is None else dict(zip(fields[::2], fields[1::2]))


def entries(found: Any) -> list[Any]:
    return [entry(one) for one in found]


def of_streams(found: Any) -> list[Any]:
    """The entries of several streams: a list of pairs of a name and its entries."""
    if found is None:
        return []
    pairs = found.items() if isinstance(found, dict) else found
    return [[name, entries(of_one)] for name, of_one in pairs]


def texts(reply: Any) -> Any:
    """A map whose names are words of the protocol."""
    pairs = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2])
    return {name.decode() if isinstance(name, bytes) else name: value for name, value in pairs}


def summary(reply: Any) -> dict[str, Any]:
    pending, first, last, consumers = reply
    of_each = [{"name": name, "pending": int(count)} for name, count in consumers or []]
    return {"pending": pending, "min": first, "max": last, "consumers": of_each}


def pending(reply: Any) -> list[dict[str, Any]]:
    names = ("message_id", "consumer", "time_since_delivered", "times_delivered")
    return [dict(zip(names, one)) for one in reply]


class Streams(Reads, Writes):
    def _wait_as(self, make: Callable[[Any], Any], *words: Word) -> Any:
        """Executes a command that may wait."""
        raise NotImplementedError

    def xadd(
        self,
        name: Word,
        fields: Mapping[Any, Word],
        id: Word = "*",
        maxlen: int | None = None,
        approximate: bool = True,
        nomkstream: bool = False,
        minid: Word | None = None,
        limit: int | None = None,
    ) -> Any:
        words = [*flags(NOMKSTREAM=nomkstream), *_trim(maxlen, minid, approximate, limit)]
        return self._write_as(as_it_is, "XADD", name, *words, id, *flat(fields))

    def xtrim(
        self,
        name: Word,
        maxlen: int | None = None,
        approximate: bool = True,
        minid: Word | None = None,
        limit: int | None = None,
    ) -> Any:
        return self._write_as(as_it_is, "XTRIM", name, *_trim(maxlen, minid, approximate, limit))

    def xdel(self, name: Word, *ids: Word) -> Any:
        return self._write_as(as_it_is, "XDEL", name, *ids)

    def xlen(self, name: Word) -> Any:
        return self._read("XLEN", name)

    def xrange(self, name: Word, min: Word = "-", max: Word = "+", count: int | None = None) -> Any:
        return self._read_as(entries, "XRANGE", name, min, max, *wanted("COUNT", count))

    def xrevrange(self, name: Word, max: Word = "+", min: Word = "-", count: int | None = None) -> Any:
        return self._read_as(entries, "XREVRANGE", name, max, min, *wanted("COUNT", count))

    def xread(self, streams: Mapping[Any, Word], count: int | None = None, block: int | None = None) -> Any:
        """Entries after these IDs; `block` waits for that many milliseconds, 0 without end."""
        words = [*wanted("COUNT", count), *wanted("BLOCK", block), "STREAMS", *streams, *streams.values()]
        execute = self._read_as if block is None else self._wait_as
        return execute(of_streams, "XREAD", *words)

    def xreadgroup(
        self,
        groupname: Word,
        consumername: Word,
        streams: Mapping[Any, Word],
        count: int | None = None,
        block: int | None = None,
        noack: bool = False,
    ) -> Any:
        options = [*wanted("COUNT", count), *wanted("BLOCK", block), *flags(NOACK=noack)]
        words = ["GROUP", groupname, consumername, *options, "STREAMS", *streams, *streams.values()]
        execute = self._write_as if block is None else self._wait_as
        return execute(of_streams, "XREADGROUP", *words)

    def xgroup_create(self, name: Word, groupname: Word, id: Word = "$", mkstream: bool = False) -> Any:
        return self._write_as(is_ok, "XGROUP", "CREATE", name, groupname, id, *flags(MKSTREAM=mkstream))

    def xgroup_destroy(self, name: Word, groupname: Word) -> Any:
        return self._write_as(lambda reply: reply != 0, "XGROUP", "DESTROY", name, groupname)

    def xgroup_setid(self, name: Word, groupname: Word, id: Word) -> Any:
        return self._write_as(is_ok, "XGROUP", "SETID", name, groupname, id)

    def xgroup_createconsumer(self, name: Word, groupname: Word, consumername: Word) -> Any:
        return self._write_as(as_it_is, "XGROUP", "CREATECONSUMER", name, groupname, consumername)

    def xgroup_delconsumer(self, name: Word, groupname: Word, consumername: Word) -> Any:
        return self._write_as(as_it_is, "XGROUP", "DELCONSUMER", name, groupname, consumername)

    def xack(self, name: Word, groupname: Word, *ids: Word) -> Any:
        return self._write_as(as_it_is, "XACK", name, groupname, *ids)

    def xpending(self, name: Word, groupname: Word) -> Any:
        return self._read_as(summary, "XPENDING", name, groupname)

    def xpending_range(
        self,
        name: Word,
        groupname: Word,
        min: Word,
        max: Word,
        count: int,
        consumername: Word | None = None,
        idle: int | None = None,
    ) -> Any:
        consumer = [] if consumername is None else [consumername]
        return self._read_as(pending, "XPENDING", name, groupname, *wanted("IDLE", idle), min, max, count, *consumer)

    def xclaim(
        self,
        name: Word,
        groupname: Word,
        consumername: Word,
        min_idle_time: int,
        message_ids: Iterable[Word],
        justid: bool = False,
    ) -> Any:
        words = [name, groupname, consumername, min_idle_time, *message_ids, *flags(JUSTID=justid)]
        return self._write_as(as_it_is if justid else entries, "XCLAIM", *words)

    def xautoclaim(
        self,
        name: Word,
        groupname: Word,
        consumername: Word,
        min_idle_time: int,
        start_id: Word = "0-0",
        count: int | None = None,
        justid: bool = False,
    ) -> Any:
        """The ID to continue with, the entries, and the IDs of those that are deleted."""
        words = [name, groupname, consumername, min_idle_time, start_id, *wanted("COUNT", count), *flags(JUSTID=justid)]

        def claimed(reply: Any) -> Any:
            return reply[1] if justid else [reply[0], entries(reply[1]), *reply[2:]]

        return self._write_as(claimed, "XAUTOCLAIM", *words)

    def xinfo_stream(self, name: Word) -> Any:
        def made(reply: Any) -> Any:
            found = texts(reply)
            return {**found, "first-entry": entry(found["first-entry"]), "last-entry": entry(found["last-entry"])}

        return self._read_as(made, "XINFO", "STREAM", name)

    def xinfo_groups(self, name: Word) -> Any:
        return self._read_as(lambda reply: [texts(group) for group in reply], "XINFO", "GROUPS", name)

    def xinfo_consumers(self, name: Word, groupname: Word) -> Any:
        return self._read_as(lambda reply: [texts(one) for one in reply], "XINFO", "CONSUMERS", name, groupname)


def _trim(maxlen: int | None, minid: Word | None, approximate: bool, limit: int | None) -> list[Any]:
    if maxlen is None and minid is None:
        return []
    bound: list[Any] = ["MINID"] if maxlen is None else ["MAXLEN"]
    bound += ["~"] if approximate else []
    return [*bound, minid if maxlen is None else maxlen, *wanted("LIMIT", limit)]
