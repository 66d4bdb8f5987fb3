"""The blocks of docs/embed.md that are Python: they do what the page says."""

import re
import unittest
from pathlib import Path

from server import Server

PAGE = Path(__file__).parents[2] / "docs" / "embed.md"


class DocumentTest(unittest.TestCase):
    def test_blocks(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(blocks), 2)
        server = Server()
        self.addCleanup(server.close)
        for block in blocks:
            self.assertIn("redis://127.0.0.1:6379", block)
            exec(block.replace("redis://127.0.0.1:6379", server.url), {})


if __name__ == "__main__":
    unittest.main()
