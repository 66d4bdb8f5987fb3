"""The web application of examples/profiles.py, with its test client, beside a server."""

import sys
import threading
import unittest
from pathlib import Path

from server import Server, until

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
import profiles  # noqa: E402


class ProfilesTest(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.server.redis.hset("profile:ada", mapping={"name": "Ada", "town": "<London>"})
        self.app = profiles.create_app(self.server.url)
        self.addCleanup(self.app.replica.close)
        self.web = self.app.test_client()

    def page(self, name="ada"):
        return self.web.get(f"/profiles/{name}").text

    def test_a_page_is_made_once(self):
        for _ in range(5):
            self.assertIn("&lt;London&gt;", self.page())
        self.assertEqual(self.app.pages.made, 1)
        self.assertEqual(self.web.get("/profiles/nobody").status_code, 404)

    def test_an_acknowledged_write_is_shown_by_the_next_request(self):
        for n in range(100):
            self.assertEqual(self.web.post("/profiles/ada", data={"visits": n}).status_code, 204)
            self.assertIn(f"<td>{n}<", self.page())
        self.web.delete("/profiles/ada")
        self.assertEqual(self.web.get("/profiles/ada").status_code, 404)

    def test_a_change_by_others_is_shown_after_its_event(self):
        self.page()
        with self.app.replica.events(["profile:ada"]) as events:
            for n in range(100):
                self.server.redis.hset("profile:ada", "visits", n)
                self.assertEqual(events.get(60).key, "profile:ada")
                self.assertIn(f"<td>{n}<", self.page())

    def test_requests_of_many_threads_never_go_back(self):
        """Every thread sees a number that only grows."""
        self.server.redis.hset("profile:ada", "n", 0)
        until(lambda: "<th>n<td>0<" in self.page())
        faults, stop = [], threading.Event()

        def read():
            seen, web = 0, self.app.test_client()
            while not stop.is_set():
                now = int(web.get("/profiles/ada").text.split("<th>n<td>")[1].split("<")[0])
                if now < seen:
                    faults.append((seen, now))
                seen = now

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for n in range(1, 200):
            self.server.redis.hset("profile:ada", "n", n)
        until(lambda: "<th>n<td>199<" in self.page())
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])

    def test_pages_say_so_while_the_link_is_broken(self):
        self.assertNotIn("Warning", self.web.get("/profiles/ada").headers)
        self.server.stop()
        until(lambda: "Warning" in self.web.get("/profiles/ada").headers)
        self.assertIn("Ada", self.page())
        self.server.start()
        self.server.redis.hset("profile:ada", mapping={"name": "Countess"})
        until(lambda: "Countess" in self.page())
        until(lambda: "Warning" not in self.web.get("/profiles/ada").headers)


if __name__ == "__main__":
    unittest.main()
