#!/usr/bin/env python3
"""The console in a headless Chromium: views open, show what the server has, change keys where they may, and take names and values of any
bytes for nothing but text.

    run.py [--server PATH] [--pictures FOLDER]

Installs Debian's chromium when there is no browser; fails where that cannot be had. With --pictures the views are drawn into a folder: `make
console-pictures` makes those of docs/console.md.
"""

import argparse
import base64
import csv
import gzip
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys

import browser
from browser import Browser, Failed
from servers import HOSTILE, Cluster, Process, Server

SIZES = [(width, height, scheme) for width, height in ((1400, 900), (900, 1000), (390, 844)) for scheme in ("light", "dark")]
# The widest, which is not drawn.
WIDEST = (2560, 1440, "light")
# The page is ready within this time after its address is entered; the machine may be busy.
READY_MS = 300
READY_MS_MAX = 3000


# Views that docs/console.md shows.
PICTURES = ("console-memory", "console-live", "console-keys")


class Run:
    """All that is looked at."""

    def __init__(self, server, page, pictures):
        self.server, self.page, self.pictures = server, page, pictures
        self.address = f"http://localhost:{server.console}/"

    def expect(self, what, holds):
        if not holds:
            raise Failed(what)

    def draw(self, name):
        if self.pictures and name.rsplit("-", 2)[0] in PICTURES:
            self.page.evaluate("window.scrollTo({ top: 0, behavior: 'instant' })")
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
        # The first visit needs no click.
        page.wait_for("the first analysis", "document.querySelectorAll('.treemap .box').length > 5")
        page.evaluate("document.querySelector('#anatomy form').requestSubmit()")
        page.wait_for("the treemap", "document.querySelectorAll('.treemap .box').length > 5 && document.querySelector('#anatomy progress').hidden")
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
        self.expect("the largest keys", page.evaluate("document.querySelectorAll('#largest tbody tr').length") == 20)

    def sort_and_find(self):
        """The table of patterns is sorted by a click, filtered, and written to files."""
        page = self.page
        rows = "[...document.querySelectorAll('#patterns tbody tr')].map((row) => row.cells[0].innerText)"
        page.evaluate("[...document.querySelectorAll('#patterns .sort')].find((one) => one.innerText.startsWith('pattern')).click()")
        names = page.evaluate(rows)
        self.expect(f"sorted by name: {names}", names == sorted(names) and len(names) > 5)
        self.expect("the order is announced", page.evaluate("document.querySelector('#patterns th').getAttribute('aria-sort')") == "ascending")
        page.evaluate("{ const input = document.querySelector('#anatomy input[type=search]'); input.value = 'CART'; input.dispatchEvent(new Event('input')); }")
        self.expect("filtered", page.evaluate(rows) == ["user:*:cart"])
        page.evaluate("{ const input = document.querySelector('#anatomy input[type=search]'); input.value = ''; input.dispatchEvent(new Event('input')); }")
        link = page.evaluate("[...document.querySelectorAll('#patterns a')].find((link) => link.innerText === 'user:*').getAttribute('href')")
        self.expect(f"a link to the keys: {link}", link == "#keys?match=user%3A*")
        page.evaluate("window.saved = []; URL.createObjectURL = (blob) => { blob.text().then((text) => saved.push(text)); return '#'; }")
        for kind in ("CSV", "JSON"):
            page.evaluate(f"[...document.querySelectorAll('#anatomy button')].find((one) => one.innerText === 'Export {kind}').click()")
        saved = page.wait_for("two files", "saved.length === 2 && saved")
        groups = json.loads(saved[1])
        self.expect("JSON has the patterns", any(group["pattern"] == "user:*" and group["keys"] == 1200 for group in groups))
        lines = list(csv.reader(io.StringIO(saved[0])))
        self.expect("CSV has the patterns", lines[0][:4] == ["pattern", "keys", "elements", "bytes"] and len(lines) == len(groups) + 1)

    def zoom(self):
        page = self.page
        page.evaluate("document.querySelector('.treemap .opens').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
        page.wait_for("the way back", "document.querySelectorAll('.path button').length === 2")
        page.evaluate("document.querySelector('.path button').click()")
        page.wait_for("the whole picture", "document.querySelectorAll('.path button').length === 1")

    def look_at_live(self):
        page = self.page
        page.evaluate("location.hash = '#live'")
        page.wait_for("charts that are full at the first visit", "document.querySelectorAll('#live .chart output').length === 9 && [...document.querySelectorAll('#live .chart output')].filter((one) => one.innerText !== '').length >= 8")
        page.wait_for("slow commands", "document.querySelectorAll('#slow tbody tr').length > 0")
        page.wait_for("clients", "document.querySelectorAll('#clients tbody tr').length >= 2")
        self.expect("errors", page.evaluate("document.querySelector('#live .error').innerText") == "")
        page.wait_for("a latency", "document.querySelectorAll('.heat-cell').length > 0")
        self.expect("axes", page.evaluate("document.querySelectorAll('#live .axis').length") > 30)
        version = page.evaluate("[...document.querySelectorAll('#live dt')].find((one) => one.innerText === 'Larder').nextSibling.innerText")
        self.expect(f"the version of Larder: {version}", version == self.server.client.ask("INFO", "server").split("larder_version:")[1].split("\r")[0])
        page.evaluate("document.querySelector('#live .chart svg').focus()")
        page.press("ArrowLeft")
        self.expect("a value below the pointer", ":" in page.evaluate("document.querySelector('#live .chart output').innerText"))
        page.evaluate("document.activeElement.blur()")
        page.evaluate("{ const range = document.querySelector('#live select'); range.value = '300'; range.dispatchEvent(new Event('change')); }")
        page.wait_for("another range", "location.hash === '#live?range=300'")
        page.evaluate("[...document.querySelectorAll('#live button')].find((one) => one.innerText === 'Find').click()")
        page.wait_for("hot keys", "document.querySelectorAll('#hot tbody tr').length === 20")
        page.wait_for("the picture of replication", "document.querySelectorAll('.servers[aria-label=replication] .server').length === 2")
        boxes = page.evaluate("[...document.querySelectorAll('.servers[aria-label=replication] .server')].map((box) => [box.getAttribute('class'), box.textContent])")
        self.expect(f"the replica: {boxes}", len(boxes) == 2 and boxes[0] == ["server self", "this serverprimary"] and boxes[1][0] == "server ok" and f":{self.server.replica.port}online" in boxes[1][1])

    def give_work(self):
        """Something for the charts to show."""
        for look in range(25):
            commands = [["EXISTS", f"user:{n}"] for n in range(200 + 80 * (look % 7))]
            self.server.client.send_all([*commands, ["ZREMRANGEBYRANK", "board:1", 5000, 6000], ["DEL", f"nothing:{look}"]])
            self.server.client.ask("GET", "page:/shop/7.html")
            self.page.evaluate("new Promise((done) => setTimeout(done, 800))")

    def look_at_keys(self):
        page = self.page
        page.evaluate("location.hash = '#keys'")
        page.wait_for("keys", "document.querySelectorAll('#names tbody tr').length > 10")
        for kind, heads in (("string", 0), ("list", 2), ("set", 1), ("zset", 3), ("stream", 2), ("hash", 2)):
            page.evaluate(f"document.querySelector('#keys select').value = '{kind}'")
            page.evaluate("document.querySelector('#keys form').requestSubmit()")
            page.wait_for(f"keys of {kind}", f"[...document.querySelectorAll('#names tbody tr')].length > 0 && [...document.querySelectorAll('#names tbody tr')].every((row) => row.cells[1].innerText === '{kind}')")
            page.evaluate("document.querySelector('#names tbody button').click()")
            what = "document.querySelector('#value .viewer')?.innerText" if kind == "string" else f"document.querySelectorAll('#value tbody tr').length > 0 && document.querySelectorAll('#value th').length === {heads}"
            page.wait_for(f"a value of {kind}", what)
        self.expect("nothing can be changed", page.evaluate("[...document.querySelectorAll('#keys button')].every((one) => !/Edit|Delete|Rename|Add|New/.test(one.innerText))"))

    def search(self, text, kind=""):
        self.page.evaluate(f"document.querySelector('#keys select').value = {kind!r}; document.querySelector('#keys input').value = {text!r}; document.querySelector('#keys form').requestSubmit()")
        self.page.wait_for(f"the search for {text}", "/ keys searched/.test(document.querySelector('#keys [role=status]').innerText) && document.querySelector('#keys progress').hidden")
        return self.page.evaluate("[...document.querySelectorAll('#names tbody tr')].map((row) => row.cells[0].innerText)")

    def search_keys(self):
        page = self.page
        names = self.search("board:1")
        self.expect(f"the exact name first, then parts of names: {names}", names[0] == "board:1" and sorted(names) == sorted(["board:1", *(f"board:{n}" for n in range(10, 20))]))
        names = self.search("queue:?:*")
        self.expect(f"a pattern: {names}", len(names) == 10)
        self.search("session:")
        page.evaluate("[...document.querySelectorAll('#names .sort')].find((one) => one.innerText.startsWith('size')).click()")
        sizes = "[...document.querySelectorAll('#names tbody tr')].map((row) => row.cells[4].innerText)"
        page.wait_for("keys by size", f"{sizes}.length === 500 && !!document.querySelector('#names [aria-sort=descending]')")
        page.wait_for("the end of it", "document.querySelector('#keys progress').hidden")
        found = [int(size.split(" ")[0]) for size in page.evaluate(sizes)]
        self.expect(f"the largest first: {found}", found == sorted(found, reverse=True) and found[0] > 250)
        # What the address says is shown again.
        page.evaluate("document.querySelector('#names tbody button').click()")
        page.wait_for("a value", "document.querySelector('#value .viewer')?.innerText")
        address, title = page.evaluate("[location.href, document.querySelector('#value h2').innerText]")
        page.call("Page.navigate", url="about:blank")
        page.call("Page.navigate", url=address)
        page.wait_for("the same key", f"document.querySelector('#value h2')?.innerText === {title!r} && document.querySelector('#value .viewer')?.innerText")
        page.wait_for("the same search", f"document.querySelector('#keys input').value === 'session:' && {sizes}.length === 500")

    def open_tree(self):
        page = self.page
        # A search is still there after a look at another view.
        page.evaluate("location.hash = '#prompt'")
        page.wait_for("another view", "document.getElementById('keys').hidden")
        page.evaluate("location.hash = '#keys'")
        page.wait_for("the search", "location.hash.includes('match=session') && document.querySelectorAll('#names tbody tr').length === 500")
        page.evaluate("location.hash = '#keys?view=tree'")
        items = "[...document.querySelectorAll('.tree > li')].map((item) => item.innerText.split(':')[0])"
        page.wait_for("the tree", f"{items}.length === 7")
        self.expect(f"its branches: {page.evaluate(items)}", sorted(page.evaluate(items)) == ["board", "events", "page", "queue", "session", "tag", "user"])
        page.evaluate("[...document.querySelectorAll('.tree button')].find((one) => one.innerText.includes('tag:')).click()")
        page.wait_for("a branch of it", "[...document.querySelectorAll('.tree ul button')].some((one) => one.innerText.includes('flour:'))")
        page.evaluate("document.querySelector('#keys select[name=view]').value = 'list'; document.querySelector('#keys input').value = ''; document.querySelector('#keys form').requestSubmit()")

    def look_at_hostile_names(self):
        page = self.page
        page.evaluate("document.querySelector('#keys select').value = ''")
        page.evaluate("document.getElementById('database').value = '1'; document.getElementById('database').dispatchEvent(new Event('change'))")
        page.wait_for("all names", f"document.querySelectorAll('#names tbody tr').length === {len(HOSTILE)}")
        shown = page.evaluate("[...document.querySelectorAll('#names tbody button')].map((button) => button.innerText)")
        for text in ("<img src=x onerror=alert(1)>", "<script>alert(2)</script>", "\\xff\\xfe\\x00binary", "right\\u{202e}left", "line\\nbreak\\tand\\x1b[31m", "(empty)"):
            self.expect(f"{text} among {shown}", text in shown)
        for at in range(len(HOSTILE)):
            page.evaluate(f"document.querySelectorAll('#names tbody button')[{at}].click()")
            page.wait_for("its value", f"document.querySelector('#value h2')?.innerText === document.querySelectorAll('#names tbody button')[{at}].innerText && /value of|66 20/.test(document.querySelector('#value .viewer')?.innerText)")
            for form in ("text", "json", "messagepack", "protobuf", "compressed", "hex"):
                page.evaluate(f"{{ const choice = document.querySelector('#value select'); choice.value = '{form}'; choice.dispatchEvent(new Event('change')); }}")
                page.wait_for("its form", f"document.querySelector('#value .viewer').dataset.format === '{form}'")
        # A link to a name that is no text.
        page.evaluate("location.hash = '#keys?db=1&key=%00fffe0062696e617279'")
        page.wait_for("the binary name", "document.querySelector('#value h2')?.innerText === '\\\\xff\\\\xfe\\\\x00binary'")
        page.evaluate("location.hash = '#anatomy'")
        page.wait_for("the form", "!document.getElementById('anatomy').hidden && !!document.querySelector('#anatomy form')")
        page.evaluate("document.querySelector('#anatomy form').requestSubmit()")
        page.wait_for("their patterns", "[...document.querySelectorAll('#patterns tbody tr')].some((row) => row.innerText.includes('<img'))")
        page.evaluate("location.hash = '#channels'")
        page.wait_for("the profiler", "!!document.querySelector('#profiler button')")
        page.evaluate("document.querySelector('#messages .primary').click(); document.querySelector('#profiler .primary').click()")
        page.wait_for("both listen", "!document.querySelector('#messages .primary + button').hidden && !document.querySelector('#profiler .primary + button').hidden")
        self.server.client.send_all([["PUBLISH", name, b"message of " + name] for name in HOSTILE])
        # The pattern `*` does not match the channel without a name.
        page.wait_for("their messages", f"document.querySelectorAll('#messages pre').length === {len(HOSTILE) - 1}")
        page.wait_for("their commands", "[...document.querySelectorAll('#profiler pre')].some((line) => line.innerText.includes('<img'))")
        page.evaluate("document.querySelector('#messages .primary + button').click(); document.querySelector('#profiler .primary + button').click()")
        self.expect("no element of theirs", page.evaluate("document.querySelectorAll('img, main script, svg[onload]').length") == 0)
        page.evaluate("document.getElementById('database').value = '0'; document.getElementById('database').dispatchEvent(new Event('change'))")

    def give_commands(self):
        page = self.page
        page.evaluate("location.hash = '#prompt'")
        page.wait_for("the line", "!document.getElementById('prompt').hidden")
        reply = "document.querySelector('#output .entry > div')?.innerText"
        for line, answer in (("SET k v", "only reading is allowed here"), ("HGET user:7 name", '"name 7"'), ('ECHO "a\\x41\\"b"', '"aA\\"b"'), ("ECHO <b>x</b>", '"<b>x</b>"'), ('ECHO "x', "A quote is not closed."), ("MEMORY ANATOMY DEPTH 1", "session:*")):
            page.evaluate(f"document.querySelector('#prompt input').value = {line!r}; document.querySelector('#prompt form').requestSubmit()")
            page.wait_for(f"{answer} to {line}", f"{reply}?.includes({answer!r}) || {reply}?.includes({answer.replace(chr(92), '')!r})")
        page.evaluate("document.querySelector('#prompt input').value = 'HGETALL user:7'; document.querySelector('#prompt form').requestSubmit()")
        page.wait_for("a reply", f"{reply}?.includes('name 7')")
        page.evaluate("{ const choice = document.querySelector('#prompt select'); choice.value = 'table'; choice.dispatchEvent(new Event('change')); }")
        page.wait_for("a table", "document.querySelectorAll('#output .entry:first-child td').length === 6")
        page.evaluate("{ const choice = document.querySelector('#prompt select'); choice.value = 'text'; choice.dispatchEvent(new Event('change')); document.querySelector('#prompt input').focus(); }")
        page.wait_for("the table of commands", "(() => { const line = document.querySelector('#prompt input'); line.value = 'zra'; line.dispatchEvent(new Event('input')); return document.querySelectorAll('#suggestions li').length > 3; })()")
        page.press("ArrowDown")
        page.press("Tab")
        self.expect("a completed command", page.evaluate("document.querySelector('#prompt input').value") == "ZRANDMEMBER ")
        self.expect("its help", "ZRANDMEMBER key" in page.evaluate("document.querySelector('#prompt .help').innerText"))
        page.evaluate("document.querySelector('#prompt input').value = ''")
        page.press("ArrowUp")
        self.expect("the history", page.evaluate("document.querySelector('#prompt input').value") == "HGETALL user:7")

    def check_access(self):
        """What a screen reader and a keyboard need: names for all controls, and one current tab."""
        page = self.page
        unnamed = page.evaluate(
            "[...document.querySelectorAll('input, select, textarea, button, a')].filter((one) => one.offsetParent !== null)"
            ".filter((one) => !(one.innerText?.trim() || one.getAttribute('aria-label') || one.labels?.length)).map((one) => one.outerHTML)")
        self.expect(f"controls without a name: {unnamed}", unnamed == [])
        current = page.evaluate("[...document.querySelectorAll('#tabs [aria-current]')].map((link) => [link.hash, link.getAttribute('aria-current')])")
        self.expect(f"the current tab: {current}", len(current) == 1 and current[0][1] == "page")
        faint = page.evaluate(CONTRAST)
        self.expect(f"texts with a contrast below 4.5: {faint}", faint == [])

    def log_out(self):
        page = self.page
        page.evaluate("document.getElementById('logout').click()")
        page.wait_for("the login", "!document.getElementById('login').hidden && document.getElementById('tabs').hidden")
        self.expect("nothing is left", page.evaluate("document.querySelectorAll('td').length") == 0)

    def look(self, width, height, scheme):
        page = self.page
        page.show_as(width, height, scheme)
        self.log_in()
        name = f"{width}-{scheme}"
        steps = [(self.look_at_memory, "memory"), (self.zoom, None), (self.sort_and_find, None), (self.look_at_live, "live"), (self.look_at_keys, "keys"), (self.search_keys, None), (self.open_tree, None), (self.give_commands, "commands")]
        for step, picture in steps:
            step()
            self.fits(f"{step.__name__} {name}")
            self.check_access()
            if picture:
                self.draw(f"console-{picture}-{name}")
        page.evaluate("location.hash = '#keys'")
        page.wait_for("the keys", "!document.getElementById('keys').hidden")
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


# Texts that can be seen, and whose contrast to what is behind them is below 4.5 to 1.
CONTRAST = """(() => {
  const parse = (text) => (text.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (node) => { for (let one = node; one; one = one.parentElement) { const colour = parse(getComputedStyle(one).backgroundColor); if ((colour[3] ?? 1) === 1) return colour; } return [255, 255, 255]; };
  return [...document.querySelectorAll('body *:not(svg *)')].filter((one) => one.offsetParent !== null && !one.disabled && [...one.childNodes].some((child) => child.nodeType === 3 && child.data.trim() !== '')).filter((one) => {
    const [a, b] = [light(parse(getComputedStyle(one).color)), light(behind(one))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
  }).map((one) => one.outerHTML.slice(0, 80)).slice(0, 5);
})()"""


def decode_values(run, page):
    """Every viewer shows what it should, and bytes that are broken end no viewer."""
    packed = list(gzip.compress(b'{"a": [1, 2.50, 12345678901234567890]}'))
    cases = [
        ("auto", list(b'{"b":[1,{"c":null}],"n":12345678901234567890}'), "json", "12345678901234567890"),
        ("auto", list(b"plain text"), "text", "plain text"),
        ("auto", list(b"<img src=x onerror=alert(9)>"), "text", "<img src=x onerror=alert(9)>"),
        ("auto", [0x82, 0xA1, 0x61, 0x01, 0xA1, 0x62, 0x93, 0xC3, 0xC0, 0xCB, 0x3F, 0xF8, 0, 0, 0, 0, 0, 0], "messagepack", "1.5"),
        ("auto", [0x08, 0x96, 0x01, 0x12, 0x07, *b"testing", 0x1A, 0x03, 0x08, 0x96, 0x01], "protobuf", '2: "testing"'),
        ("auto", packed, "compressed", "12345678901234567890"),
        ("auto", [0, 1, 2, 255, 254], "hex", "00 01 02 ff fe"),
        ("hex", list(range(40)), "hex", "00000020"),
        ("json", list(b"{"), "json", "not of this format"),
        ("messagepack", [0xDD, 0xFF, 0xFF, 0xFF, 0xFF], "messagepack", "not of this format"),
        ("messagepack", [0x91] * 5000, "messagepack", "not of this format"),
        ("protobuf", [0x0A] * 4000, "protobuf", ""),
        ("compressed", packed[:20], "compressed", ""),
        ("compressed", list(gzip.compress(b"0" * 50_000_000))[:60_000], "compressed", "1.0 MB"),
    ]
    for wanted, data, form, text in cases:
        found = page.evaluate(f"import('/decode.js').then(({{ decode }}) => decode(Uint8Array.from({data}), {wanted!r})).then((found) => ({{ ...found, text: found.text.slice(0, 4000) }}))")
        run.expect(f"{data[:12]} as {wanted}: {str(found)[:300]}", found["format"] == form and text in found["text"])
    rows = page.evaluate("import('/dom.js').then(({ csv }) => csv([['=1+1', 'a,b', '@x', 'q\"', 'l\\nm', -5, null]]))")
    run.expect(f"cells of CSV are no formulas: {rows}", rows == "'=1+1,\"a,b\",'@x,\"q\"\"\",\"l\nm\",-5,\r\n")
    units = page.evaluate("import('/dom.js').then(({ bytes }) => [0, 999, 1000, 999499, 999500, 1e6, 2.5e9].map(bytes))")
    run.expect(f"units are powers of ten: {units}", units == ["0 B", "999 B", "1.0 KB", "999 KB", "1.0 MB", "1.0 MB", "2.5 GB"])


def use_keyboard(server, page):
    """From the login to the value of a key without a pointer, with a focus that can be seen."""
    page.show_as(*SIZES[0])
    run = Run(server, page, None)

    def tab_to(what, test):
        for _ in range(60):
            page.press("Tab")
            if page.evaluate(f"(() => {{ const one = document.activeElement; return Boolean({test}); }})()"):
                style = page.evaluate("[getComputedStyle(document.activeElement).outlineStyle, getComputedStyle(document.activeElement).outlineWidth]")
                run.expect(f"the focus on {what} can be seen: {style}", style[0] != "none" and style[1] != "0px")
                return
        raise Failed(f"Tab does not come to {what}")

    page.call("Page.navigate", url=run.address)
    page.wait_for("the login", "!document.getElementById('login').hidden")
    tab_to("the password", "one.name === 'password'")
    page.press("Enter")
    page.wait_for("the treemap", "document.querySelectorAll('.treemap .box').length > 5")
    tab_to("an area of the treemap", "one.matches('.treemap .opens')")
    page.press("Enter")
    page.wait_for("the group", "document.querySelectorAll('.path button').length === 2 && document.activeElement === document.querySelector('.path').lastElementChild")
    page.evaluate("document.querySelector('.skip').focus()")
    tab_to("the tab of keys", "one.hash === '#keys'")
    page.press("Enter")
    page.wait_for("keys", "document.querySelectorAll('#names tbody tr').length > 10")
    tab_to("a heading", "one.matches('#names .sort')")
    tab_to("a key", "one.matches('#names tbody button')")
    page.press("Enter")
    page.wait_for("its value", "!!document.querySelector('#value .facts')")
    run.log_out()
    print("console keyboard: ok", flush=True)


def change_keys(path, page):
    """With console-writable keys are made, edited, renamed, and deleted after a question."""
    server = Process(path, "--console-writable", "yes")
    try:
        page.show_as(*SIZES[0])
        run = Run(server, page, None)
        run.log_in()
        page.evaluate("location.hash = '#keys'")
        click = "(text, root = document) => [...root.querySelectorAll('button')].find((one) => one.innerText === text && one.offsetParent !== null).click()"
        page.evaluate(f"window.press = {click}")

        def fill(values, button):
            page.wait_for("a dialog", "!!document.querySelector('dialog[open]')")
            for name, value in values.items():
                page.evaluate(f"document.querySelector('dialog [name={name}]').value = {value!r}")
            page.evaluate(f"press({button!r}, document.querySelector('dialog'))")

        def open_key(name):
            page.evaluate(f"location.hash = '#keys?key={name}'")
            page.wait_for(name, f"document.querySelector('#value h2')?.innerText === {name!r} && document.querySelectorAll('#elements tbody tr').length > 0")

        page.wait_for("the view", "!document.getElementById('keys').hidden")
        page.evaluate("press('New key')")
        fill({"name": "note", "value": "first\nline"}, "Create")
        page.wait_for("the key", "document.querySelector('#value .viewer')?.innerText === 'first\\nline'")
        run.expect("it is there", server.client.ask("GET", "note") == "first\nline")
        page.evaluate("press('Edit')")
        fill({"value": "second"}, "Save")
        page.wait_for("the new value", "document.querySelector('#value .viewer')?.innerText === 'second'")
        page.evaluate("press('Edit')")
        page.wait_for("a dialog", "!!document.querySelector('dialog[open]')")
        server.client.send_all([["SET", "note", "of another client"]])
        fill({"value": "third"}, "Save")
        page.wait_for("a refusal", "document.querySelector('#value .error').innerText.includes('has changed since')")
        run.expect("nothing is lost", server.client.ask("GET", "note") == "of another client")
        page.evaluate("press('Time to live')")
        fill({"ttl": "1000"}, "Set")
        page.wait_for("a time to live", "document.querySelector('#value .facts').innerText.includes('17 min')")
        page.evaluate("press('Rename')")
        fill({"name": "memo"}, "Rename")
        page.wait_for("the new name", "document.querySelector('#value h2').innerText === 'memo'")
        page.evaluate("press('Delete')")
        page.wait_for("a question", "!!document.querySelector('dialog[open]')")
        page.evaluate("press('Cancel', document.querySelector('dialog'))")
        page.wait_for("it is over", "!document.querySelector('dialog')")
        run.expect("nothing is deleted", server.client.ask("GET", "memo") == "of another client")
        page.evaluate("press('Delete')")
        fill({}, "Delete")
        page.wait_for("no value", "document.querySelector('#value').childElementCount === 0")
        server.client.send_all([["RPUSH", "l", "a", "b"], ["HSET", "h", "f", "v"], ["SADD", "s", "m"], ["ZADD", "z", 1, "m"]])
        for name, button, values, text in (
            ("l", "Edit", {"element": "A"}, "A"), ("l", "Add", {"element": "c"}, "c"), ("h", "Edit", {"value": "w"}, "w"), ("h", "Add", {"field": "g", "value": "<b>"}, "<b>"),
            ("s", "Add", {"member": "n"}, "n"), ("z", "Edit", {"score": "2.5"}, "2.5"), ("z", "Add", {"member": "n", "score": "7"}, "n"),
        ):
            open_key(name)
            page.evaluate(f"press({button!r})")
            fill(values, "Save")
            page.wait_for(f"{text} in {name}", f"[...document.querySelectorAll('#elements td')].some((cell) => cell.innerText === {text!r})")
        open_key("l")
        page.evaluate("press('Edit')")
        page.wait_for("a dialog", "!!document.querySelector('dialog[open]')")
        server.client.send_all([["LPUSH", "l", "before"]])
        fill({"element": "wrong"}, "Save")
        page.wait_for("a refusal", "document.querySelector('#value .error').innerText.includes('has changed since')")
        run.expect("another element is not overwritten", server.client.ask("LINDEX", "l", "0") == "before" and server.client.ask("LINDEX", "l", "1") == "A")
        open_key("h")
        page.evaluate("press('Remove')")
        fill({}, "Remove")
        page.wait_for("one field", "document.querySelectorAll('#elements tbody tr').length === 1")
        run.expect(f"faults: {page.faults}", not page.faults)
        run.log_out()
        print("console changes: ok", flush=True)
    finally:
        server.end()


def measure(server, page):
    """How long the page takes, and how much is sent for it."""
    page.show_as(*SIZES[0])
    times = []
    for _ in range(3):
        page.call("Page.navigate", url="about:blank")
        page.call("Page.navigate", url=f"http://localhost:{server.console}/")
        times.append(page.wait_for("the page", "performance.getEntriesByName('ready')[0]?.startTime"))
    sizes = page.evaluate("performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation')).map((one) => one.encodedBodySize).reduce((a, b) => a + b, 0)")
    best = min(times)
    print(f"console: ready after {best:.0f} ms, {sizes} bytes{'' if best < READY_MS else ' (the machine is busy)'}", flush=True)
    if best > READY_MS_MAX or not 10_000 < sizes < 120_000:
        raise Failed(f"ready after {times} ms, {sizes} bytes")


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
        run.draw("console-cluster-1400-light")
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
        print("console: FAILED: there is no browser and none can be installed", file=sys.stderr)
        return 1
    server, page = None, None
    try:
        server, page = Server(options.server), Browser()
        if options.pictures:
            options.pictures.mkdir(parents=True, exist_ok=True)
        run = Run(server, page, options.pictures)
        run.log_in()
        run.give_work()
        decode_values(run, page)
        run.log_out()
        measure(server, page)
        for size in [*SIZES, WIDEST]:
            Run(server, page, options.pictures if size != WIDEST else None).look(*size)
        use_keyboard(server, page)
        change_keys(options.server, page)
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
