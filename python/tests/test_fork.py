"""Forked processes: what the parent has opened says so in the child, and the child opens its own."""

import os
import subprocess
import sys
import unittest

from server import Server

import larder


def in_child(work):
    """Runs something in a forked process; returns its exit code, 0 if it has raised nothing."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException as error:
            print(f"in the child: {error!r}", file=sys.stderr)
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def refused(call):
    try:
        call()
    except larder.ForkError:
        return
    raise AssertionError("it was not refused")


class ForkTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)

    def test_a_store(self):
        store = larder.Store()
        store.set("key", "value")
        events = store.events()

        def child():
            refused(lambda: store.get("key"))
            refused(lambda: store.execute_command("GET", "key"))
            refused(lambda: store.set("key", "other"))
            refused(lambda: store.transaction([("GET", "key")]))
            refused(store.events)
            refused(lambda: events.get())
            refused(events.poll)
            store.close()
            events.close()
            assert events.closed

        self.assertEqual(in_child(child), 0)
        self.assertEqual(store.get("key"), b"value")
        store.set("key", "other")
        self.assertEqual(events.get(60).key, b"key")

    def test_a_replica(self):
        replica = larder.Replica(self.server.url, wait=60)
        replica.set("key", "value")

        def child():
            refused(lambda: replica.get("key"))
            refused(lambda: replica.set("key", "child"))
            refused(replica.status)
            replica.close()

        self.assertEqual(in_child(child), 0)
        replica.set("key", "parent")
        self.assertEqual(replica.get("key"), b"parent")
        replica.close()

    def test_what_is_dropped_in_the_child_waits_for_nobody(self):
        kept = [larder.Store(), larder.Replica(self.server.url)]
        self.assertEqual(in_child(kept.clear), 0)
        self.assertIsNone(kept[1].get("none"))

    def test_a_child_of_a_parent_that_has_something_open_cannot_open_its_own(self):
        with larder.Store() as store:

            def child():
                refused(larder.Store)
                refused(lambda: larder.Replica(self.server.url))
                assert in_child(lambda: refused(larder.Store)) == 0

            self.assertEqual(in_child(child), 0)
            self.assertEqual(store.dbsize(), 0)

    def test_a_child_of_a_parent_that_has_closed_all_opens_its_own(self):
        """As servers of the web do that load the program, fork, and open in the worker."""

        def child():
            with larder.Store(options={"list-compress-depth": 1}) as own:
                for n in range(200):
                    own.rpush("l", "x" * 1000)
                assert own.llen("l") == 200
            with larder.Replica(self.server.url, wait=60) as replica:
                replica.set("from", "the child")
                assert replica.get("from") == b"the child"
                assert in_child(lambda: refused(lambda: replica.get("from"))) == 0

        for _ in range(20):
            with larder.Store() as store, larder.Replica(self.server.url) as replica:
                listener = store.on_change(lambda event: None)
                store.set("key", "value")
                replica.set("key", "value")
                listener.close()
            self.assertEqual(in_child(child), 0)

    def test_a_child_that_ends_as_python_ends(self):
        """With its finalizers, not by _exit."""
        code = f"""
import larder, os, sys
kept = [larder.Store(), larder.Replica("{self.server.url}")]
listeners = [data.on_change(lambda event: None) for data in kept]
child = os.fork()
if child == 0:
    sys.exit(3)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""
        # Newer versions of Python warn of forks of processes with threads.
        command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
        done = subprocess.run(command, timeout=60, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "3\n", ""))


if __name__ == "__main__":
    unittest.main()
