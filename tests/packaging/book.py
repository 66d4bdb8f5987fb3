#!/usr/bin/env python3
"""The built book: no page asks for anything from elsewhere, and every link within it leads somewhere.

    book.py FOLDER
"""

import html.parser
import pathlib
import sys
import urllib.parse

# Attributes that make a browser load something, or go somewhere.
ATTRIBUTES = {"href", "src", "srcset", "action", "poster", "data"}


class Links(html.parser.HTMLParser):
    """The addresses in a page, and the names that can be linked to."""

    def __init__(self):
        super().__init__()
        self.found, self.names = [], set()

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" and value:
                self.names.add(value)
            if name in ATTRIBUTES and value:
                self.found.append(value)


def parsed(path):
    links = Links()
    links.feed(path.read_text(encoding="utf-8"))
    return links


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: parsed(path) for path in root.rglob("*.html")}
    faults = []
    for page, links in pages.items():
        for link in links.found:
            address = urllib.parse.urlsplit(link)
            name = page.relative_to(root)
            if address.scheme or address.netloc:
                faults.append(f"{name}: {link} is elsewhere")
                continue
            target = (page.parent / urllib.parse.unquote(address.path)).resolve() if address.path else page
            if address.path.startswith("/"):
                continue
            if not target.exists():
                faults.append(f"{name}: {link} leads nowhere")
            elif address.fragment and target in pages and address.fragment not in pages[target].names:
                faults.append(f"{name}: {link} has no such heading")
    for style in root.rglob("*.css"):
        if "url(http" in style.read_text(encoding="utf-8") or "@import" in style.read_text(encoding="utf-8"):
            faults.append(f"{style.relative_to(root)}: loads from elsewhere")
    print("\n".join(faults) or f"book: {len(pages)} pages, nothing from elsewhere")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
