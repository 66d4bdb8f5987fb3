"""A headless Chromium, driven by its debugging protocol over a pipe: no driver and no library between."""

import fcntl
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
SECONDS_MAX = 60


def program():
    """The browser's path, or None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Failed(Exception):
    """The page is not as it should be."""


def high(descriptor):
    """The same file by a number that is not 3 or 4."""
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10)
    os.close(descriptor)
    return copy


class Browser:
    """One browser with one page."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="larder-console-")
        to_browser, self.write_end = map(high, os.pipe())
        self.read_end, from_browser = map(high, os.pipe())

        def place():
            os.dup2(to_browser, 3)
            os.dup2(from_browser, 4)

        sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
        self.process = subprocess.Popen(
            [program(), "--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
             "--disable-dev-shm-usage", f"--user-data-dir={self.folder}", *sandbox, "about:blank"],
            preexec_fn=place, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.messages = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.number = 0
        self.session = None
        self.faults = []
        self.requests = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def read(self):
        rest = b""
        while piece := os.read(self.read_end, 1 << 16):
            *whole, rest = (rest + piece).split(b"\0")
            for message in whole:
                self.messages.put(json.loads(message))

    def call(self, method, **params):
        """Calls a method of the protocol and returns its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + SECONDS_MAX
        while True:
            answer = self.messages.get(timeout=max(0.1, until - time.monotonic()))
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        """Remembers what a page must not do."""
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.faults.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["source"] in ("security", "javascript", "violation"):
            self.faults.append(params["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.faults.append(f"a dialog: {params['message']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def evaluate(self, script):
        """The value of an expression in the page; promises are waited for."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise Failed(f"{script}: {result['exceptionDetails']['exception'].get('description')}")
        return result["result"].get("value")

    def wait_for(self, what, script):
        """Waits until an expression is true, and returns its value."""
        looked = self.evaluate(
            f"new Promise((done) => {{ const end = Date.now() + {SECONDS_MAX // 2 * 1000}; const look = () => {{"
            f" let value = null; try {{ value = {script}; }} catch (error) {{}}"
            " if (value || Date.now() > end) done(value); else setTimeout(look, 50); }; look(); })")
        if not looked:
            raise Failed(f"{what}: {self.evaluate('document.body.innerText')[:4000]}")
        return looked

    def show_as(self, width, height, scheme):
        """The size of the window, and whether the user wants dark pages."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key):
        """Presses a key of the keyboard."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind, more in (("keyDown", text), ("keyUp", {})):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)

    def picture(self):
        """A PNG of the window, as base64."""
        return self.call("Page.captureScreenshot", format="png")["data"]

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
