#!/usr/bin/env python3
"""The console in a headless Chromium: pages open, show what the server has, and take names of keys for nothing but texts.

    run.py [--server PATH] [--pictures FOLDER]

Installs Debian's chromium when there is no browser; where that cannot be had, says so and ends. With --pictures the pages are drawn into a
folder: those of docs/console.md are made so.
"""

import argparse
import base64
import os
import pathlib
import shutil
import subprocess
import sys

import browser
from browser import Browser, Failed
from servers import HOSTILE, Cluster, Server

SIZES = [(1280, 900, "light"), (1280, 900, "dark"), (390, 800, "light"), (390, 800, "dark")]


class Run:
    """All that is looked at."""

    def __init__(self, server, page, pictures):
        self.server, self.page, self.pictures = server, page, pictures
        self.address = f"http://localhost:{server.console}/"

    def expect(self, what, holds):
        if not holds:
            raise Failed(what)

    def draw(self, name):
        if self.pictures:
            (self.pictures / f"{name}.png").write_bytes(base64.b64decode(self.page.picture()))

    def fits(self, what):
        wide = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        self.expect(f"{what}: the page is {wide} pixels too wide", wide <= 0)

    def log_in(self):
        page = self.page
        page.call("Page.navigate", url=self.address)
        page.wait_for("the login", "!document.getElementById('login').hidden")
        page.evaluate("document.querySelector('#login form').requestSubmit()")
        page.wait_for("the tabs", "!document.getElementById('tabs').hidden")
        self.expect("the cookie is not for scripts", page.evaluate("document.cookie") == "")

    def look_at_memory(self):
        page = self.page
        page.evaluate("location.hash = '#anatomy'")
        page.wait_for("the form", "!document.getElementById('anatomy').hidden && document.querySelector('#anatomy form')")
        page.evaluate("document.querySelector('#anatomy form').requestSubmit()")
        page.wait_for("the treemap", "document.querySelectorAll('.treemap .box').length > 5")
        patterns = page.evaluate("[...document.querySelectorAll('#patterns tbody tr')].map((row) => [row.cells[0].innerText, row.cells[1].innerText])")
        found = dict(patterns)
        for pattern, keys in (("session:*", "3,000"), ("user:*", "1,200"), ("user:*:cart", "1,200"), ("queue:*:waiting", "60"), ("events:*", "20")):
            self.expect(f"{pattern} has {found.get(pattern)} keys", found.get(pattern) == keys)
        # Areas are the bytes.
        areas = page.evaluate(
            "[...document.querySelectorAll('.treemap .box')].map((box) => { const rect = box.querySelector('rect');"
            " return [Number(box.dataset.bytes), rect.width.baseVal.value * rect.height.baseVal.value]; })")
        scale = sum(area for _, area in areas) / sum(count for count, _ in areas)
        self.expect("areas are the bytes", all(abs(area / scale - count) <= count * 0.01 for count, area in areas))
        labels = page.evaluate("[...document.querySelectorAll('.treemap .box')].map((box) => box.getAttribute('aria-label'))")
        self.expect(f"labels: {labels}", any(label.startswith("session:*") for label in labels))

    def zoom(self):
        page = self.page
        page.evaluate("document.querySelector('.treemap .opens').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
        page.wait_for("the way back", "document.querySelectorAll('.path button').length === 2")
        page.evaluate("document.querySelector('.path button').click()")
        page.wait_for("the whole picture", "document.querySelectorAll('.path button').length === 1")

    def look_at_live(self):
        page = self.page
        page.evaluate("location.hash = '#live'")
        page.wait_for("two looks", "document.querySelectorAll('#live .chart output').length === 6 && document.querySelector('#live .chart output').innerText !== ''")
        self.expect("slow commands", page.evaluate("document.querySelectorAll('#slow tbody tr').length") > 0)
        self.expect("clients", page.evaluate("document.querySelectorAll('#clients tbody tr').length") >= 2)
        self.expect("errors", page.evaluate("document.querySelector('#live .error').innerText") == "")
        page.wait_for("a latency", "document.querySelectorAll('.heat-cell').length > 0")
        boxes = page.evaluate("[...document.querySelectorAll('.servers[aria-label=replication] .server')].map((box) => [box.getAttribute('class'), box.textContent])")
        self.expect(f"the replica: {boxes}", len(boxes) == 2 and boxes[0] == ["server self", "this serverprimary"] and boxes[1][0] == "server ok" and f":{self.server.replica.port}online" in boxes[1][1])
        if self.pictures:
            self.give_work()

    def give_work(self):
        """Something for the charts to show."""
        for look in range(25):
            commands = [["EXISTS", f"user:{n}"] for n in range(200 + 80 * (look % 7))]
            self.server.client.send_all([*commands, ["ZREMRANGEBYRANK", "board:1", 5000, 6000], ["DEL", f"nothing:{look}"]])
            self.page.evaluate("new Promise((done) => setTimeout(done, 800))")

    def look_at_keys(self):
        page = self.page
        page.evaluate("location.hash = '#keys'")
        page.wait_for("keys", "document.querySelectorAll('#names tbody tr').length > 10")
        for kind, heads in (("string", 1), ("list", 2), ("hash", 2), ("set", 1), ("zset", 3), ("stream", 2)):
            page.evaluate(f"document.querySelector('#keys select').value = '{kind}'")
            page.evaluate("document.querySelector('#keys form').requestSubmit()")
            page.wait_for(f"keys of {kind}", f"[...document.querySelectorAll('#names tbody tr')].length > 0 && [...document.querySelectorAll('#names tbody tr')].every((row) => row.cells[1].innerText === '{kind}')")
            page.evaluate("document.querySelector('#names tbody button').click()")
            page.wait_for(f"a value of {kind}", f"document.querySelectorAll('#value tbody tr').length > 0 && document.querySelectorAll('#value th').length === {heads}")

    def look_at_hostile_names(self):
        page = self.page
        page.evaluate("document.getElementById('database').value = '1'; document.getElementById('database').dispatchEvent(new Event('change'))")
        page.wait_for("all names", f"document.querySelectorAll('#names tbody tr').length === {len(HOSTILE)}")
        shown = page.evaluate("[...document.querySelectorAll('#names tbody button')].map((button) => button.innerText)")
        for text in ("<img src=x onerror=alert(1)>", "<script>alert(2)</script>", "\\xff\\xfe\\x00binary", "right\\u{202e}left", "line\\nbreak\\tand\\x1b[31m", "(empty)"):
            self.expect(f"{text} among {shown}", text in shown)
        for at in range(len(HOSTILE)):
            page.evaluate(f"document.querySelectorAll('#names tbody button')[{at}].click()")
            page.wait_for("its value", f"document.querySelector('#value td')?.innerText.includes(document.querySelectorAll('#names tbody button')[{at}].innerText.replace('(empty)', 'value of'))")
        page.evaluate("location.hash = '#anatomy'")
        page.evaluate("document.querySelector('#anatomy form').requestSubmit()")
        page.wait_for("their patterns", "[...document.querySelectorAll('#patterns tbody tr')].some((row) => row.innerText.includes('<img'))")
        self.expect("no element of theirs", page.evaluate("document.querySelectorAll('img, main script, svg[onload]').length") == 0)
        page.evaluate("document.getElementById('database').value = '0'; document.getElementById('database').dispatchEvent(new Event('change'))")

    def give_commands(self):
        page = self.page
        page.evaluate("location.hash = '#prompt'")
        page.wait_for("the line", "!document.getElementById('prompt').hidden")
        for line, answer in (("SET k v", "only reading is allowed here"), ("HGET user:7 name", '"name 7"'), ('ECHO "a\\x41\\"b"', '"aA"b"'), ("ECHO <b>x</b>", '"<b>x</b>"'), ('ECHO "x', "A quote has no end.")):
            page.evaluate(f"document.querySelector('#prompt input').value = {line!r}; document.querySelector('#prompt form').requestSubmit()")
            page.wait_for(f"{answer} to {line}", f"document.querySelector('#output .entry pre:last-child')?.innerText.includes({answer!r})")

    def log_out(self):
        page = self.page
        page.evaluate("document.getElementById('logout').click()")
        page.wait_for("the login", "!document.getElementById('login').hidden && document.getElementById('tabs').hidden")
        self.expect("nothing is left", page.evaluate("document.querySelectorAll('td').length") == 0)

    def look(self, width, height, scheme):
        page = self.page
        page.show_as(width, height, scheme)
        self.log_in()
        name = f"{'wide' if width > 600 else 'narrow'}-{scheme}"
        for step, picture in ((self.look_at_memory, "memory"), (self.zoom, None), (self.look_at_live, "live"), (self.look_at_keys, "keys"), (self.give_commands, "commands")):
            step()
            self.fits(f"{step.__name__} {name}")
            if picture:
                self.draw(f"console-{picture}-{name}")
        page.evaluate("location.hash = '#keys'")
        self.look_at_hostile_names()
        self.fits(f"hostile names {name}")
        self.log_out()
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        shade = sum(int(part) for part in paper.strip("rgb()").split(",")) / 3
        self.expect(f"{paper} is {scheme}", (shade > 128) == (scheme == "light"))
        elsewhere = [url for url in page.requests if not url.startswith(self.address) and not url.startswith("about:")]
        self.expect(f"asks elsewhere: {elsewhere}", not elsewhere)
        self.expect(f"faults: {page.faults}", not page.faults)
        print(f"console {name}: ok", flush=True)


def look_at_cluster(path, page, pictures):
    """The picture of a cluster follows what becomes of it, without a new page."""
    cluster = Cluster(path)
    try:
        page.show_as(*SIZES[0])
        run = Run(cluster.nodes[0], page, pictures)
        run.log_in()
        page.evaluate("location.hash = '#live'")
        boxes = "[...document.querySelectorAll('.servers[aria-label=cluster] .server')]"
        page.wait_for("three servers", f"{boxes}.length === 3")
        bands = page.evaluate("[...document.querySelectorAll('.servers .band')].map((band) => band.width.baseVal.value)")
        run.expect(f"bands are the slots: {bands}", [round(band) for band in bands] == [round(700 * share / 16384) for share in (10000, 6384)])
        kinds = page.evaluate(f"{boxes}.map((box) => box.getAttribute('class') + ' ' + box.lastChild.textContent).sort()")
        run.expect(f"{kinds}", kinds == ["server ok 6,384 slots", "server ok replica", "server self 10,000 slots, this server"])
        run.expect("the table of nodes", page.evaluate("document.querySelectorAll('#nodes tbody tr').length") == 3)
        run.fits("a cluster")
        run.draw("console-cluster-wide-light")
        cluster.nodes[2].process.kill()
        page.wait_for("the replica is gone", f"{boxes}.some((box) => box.getAttribute('class') === 'server bad' && box.lastChild.textContent === 'replica, has failed')")
        run.log_out()
        run.expect(f"faults: {page.faults}", not page.faults)
        print("console cluster: ok", flush=True)
    finally:
        cluster.end()


def look_at_replica(server, page):
    """The page of a replica shows whom it follows."""
    run = Run(server.replica, page, None)
    run.log_in()
    page.evaluate("location.hash = '#live'")
    boxes = "[...document.querySelectorAll('.servers[aria-label=replication] .server')]"
    page.wait_for("two servers", f"{boxes}.length === 2")
    texts = page.evaluate(f"{boxes}.map((box) => box.textContent)")
    run.expect(f"{texts}", texts == [f"127.0.0.1:{server.port}primary, connected", "this serverreplica"])
    run.log_out()
    print("console replica: ok", flush=True)


def have_browser():
    """Whether there is a browser; Debian's is installed if there is none."""
    if browser.program() is None and shutil.which("apt-get"):
        sudo = [] if os.getuid() == 0 else ["sudo"]
        for words in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", "chromium"]):
            subprocess.run([*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return browser.program() is not None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=os.environ.get("LARDER_SERVER", "larder-server"))
    parser.add_argument("--pictures", type=pathlib.Path)
    options = parser.parse_args()
    if not have_browser():
        print("console: skipped, there is no browser and none can be installed")
        return 0
    server, page = None, None
    try:
        server, page = Server(options.server), Browser()
        if options.pictures:
            options.pictures.mkdir(parents=True, exist_ok=True)
        for size in SIZES:
            Run(server, page, options.pictures).look(*size)
        look_at_replica(server, page)
        look_at_cluster(options.server, page, options.pictures)
    except Failed as failure:
        print(f"console: FAILED: {failure}", file=sys.stderr)
        return 1
    finally:
        for one in (server, page):
            if one:
                one.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
