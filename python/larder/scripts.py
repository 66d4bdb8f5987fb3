"""Scripts and functions. Names, arguments and replies are those of redis-py."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from .exceptions import NoScriptError
from .reads import Reads, Word, as_it_is
from .writes import Writes, is_ok


class Scripts(Reads, Writes):
    def eval(self, script: str, numkeys: int, *keys_and_args: Word) -> Any:
        return self._write_as(as_it_is, "EVAL", script, numkeys, *keys_and_args)

    def evalsha(self, sha: str, numkeys: int, *keys_and_args: Word) -> Any:
        return self._write_as(as_it_is, "EVALSHA", sha, numkeys, *keys_and_args)

    def fcall(self, function: str, numkeys: int, *keys_and_args: Word) -> Any:
        return self._write_as(as_it_is, "FCALL", function, numkeys, *keys_and_args)

    def function_load(self, code: str, replace: bool = False) -> Any:
        return self._write_as(as_it_is, "FUNCTION", "LOAD", *(["REPLACE"] if replace else []), code)

    def script_load(self, script: str) -> Any:
        return self._read_as(lambda sha: sha.decode() if isinstance(sha, bytes) else sha, "SCRIPT", "LOAD", script)

    def script_exists(self, *shas: str) -> Any:
        return self._read_as(lambda reply: [found != 0 for found in reply], "SCRIPT", "EXISTS", *shas)

    def script_flush(self) -> Any:
        return self._read_as(is_ok, "SCRIPT", "FLUSH")

    def register_script(self, script: str) -> Script:
        """A function that runs a script by its digest."""
        return Script(self, script)


class Script:
    """A script of a store: `script(keys=[..], args=[..])` runs it."""

    def __init__(self, store: Any, script: str) -> None:
        self.store = store
        self.script = script
        self.sha = hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()

    def __call__(self, keys: Iterable[Word] = (), args: Iterable[Word] = (), client: Any = None) -> Any:
        store = self.store if client is None else client
        keys = list(keys)
        words = [len(keys), *keys, *args]
        # A pipeline and a store for asyncio do not know at once whether the server has the script.
        if not hasattr(store, "_execute"):
            return store.eval(self.script, *words)
        try:
            return store.evalsha(self.sha, *words)
        except NoScriptError:
            return store.eval(self.script, *words)
