"""A store with a directory."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import larder


class DirectoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.directory = pathlib.Path(folder.name)

    def open(self, **arguments):
        store = larder.Store(directory=self.directory, **arguments)
        self.addCleanup(store.close)
        return store

    def test_the_log_keeps_every_write(self):
        for policy in ["always", "everysec", "no"]:
            options = {"appendonly": True, "appendfsync": policy}
            with self.open(options=options) as store:
                store.hset("user", mapping={"name": "Ada"})
                store.incr(f"opened:{policy}")
                store.sync()
            with self.open(options=options) as store:
                self.assertEqual(store.hgetall("user"), {b"name": b"Ada"})
                self.assertEqual(store.get(f"opened:{policy}"), b"1")

    def test_what_is_saved_is_found_again(self):
        with self.open(persist=False) as store:
            store.set("saved", 1)
            self.assertEqual(store.execute_command("SAVE"), b"OK")
            store.set("lost", 1)
        with self.open(persist=False, save_on_close=True) as store:
            self.assertEqual(store.mget("saved", "lost"), [b"1", None])
            store.set("at the end", 1)
        with larder.Store(directory=str(self.directory), persist=False) as store:
            self.assertEqual(store.get("at the end"), b"1")
        store.close()
        with self.assertRaises(larder.ClosedError):
            store.get("saved")
        with self.assertRaises(larder.ClosedError):
            store.sync()

    def test_a_directory_is_open_once(self):
        store = self.open()
        with self.assertRaisesRegex(larder.StorageError, "another store or a server has it open"):
            self.open()
        store.close()
        self.open()

    def test_what_is_wrong_is_said(self):
        (self.directory / "dump.rdb").write_bytes(b"REDIS0011 and no more")
        with self.assertRaisesRegex(larder.StorageError, r"dump\.rdb cannot be loaded: at byte \d+"):
            self.open()
        (self.directory / "dump.rdb").unlink()
        with self.assertRaisesRegex(larder.OptionError, "requires a directory"):
            larder.Store(options={"appendonly": True})
        store = self.open(save_on_close=True)
        store.set("k", "v")
        (self.directory / "dump.rdb" / "in the way").mkdir(parents=True)
        with self.assertRaises(larder.StorageError):
            store.close()
        self.assertEqual(store.get("k"), b"v")
        shutil.rmtree(self.directory / "dump.rdb")
        store.close()

    def test_the_end_of_the_interpreter_saves(self):
        program = (
            "import larder, sys\n"
            "store = larder.Store(directory=sys.argv[1], save_on_close=True)\n"
            "store.set('k', 'v')\n"
        )
        subprocess.run([sys.executable, "-c", program, self.directory], check=True)
        self.assertEqual(self.open().get("k"), b"v")


if __name__ == "__main__":
    unittest.main()
