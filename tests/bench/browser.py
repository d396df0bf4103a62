"""A headless Chromium, spoken to over its debugging pipe: no further package is needed."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find():
    """The program, or None."""
    for name in _NAMES:
        if shutil.which(name):
            return shutil.which(name)
    cached = sorted((Path.home() / ".cache" / "ms-playwright").glob("chromium*/chrome-linux*/chrome"))
    return str(cached[-1]) if cached else None


class Browser:
    """One page in one browser. Collects requests and whatever the console shows."""

    def __init__(self, program, profile):
        down, up = os.pipe(), os.pipe()
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 50) for fd in (down[0], up[1])]
        for fd in (down[0], up[1]):
            os.close(fd)
        launch = (
            f"import os, sys; os.dup2({theirs[0]}, 3); os.dup2({theirs[1]}, 4); os.execv(sys.argv[1], sys.argv[1:])"
        )
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
                   "--no-first-run", "--disable-background-networking", f"--user-data-dir={profile}", "about:blank"]  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-c", launch, program, *options],
            pass_fds=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for fd in theirs:
            os.close(fd)
        self._out, self._in = os.fdopen(down[1], "wb"), os.fdopen(up[0], "rb")
        self._number, self._rest, self._session = 0, b"", None
        self.requests, self.complaints, self.events = [], [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """One command; its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        self._out.flush()
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _read(self):
        while b"\0" not in self._rest:
            piece = os.read(self._in.fileno(), 1 << 20)
            assert piece, "the browser has gone"
            self._rest += piece
        line, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(line)
        method, parameters = message.get("method"), message.get("params", {})
        self.events.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(parameters)
        return message

    def open(self, path, width, height=844, dark=False):
        """Show a file in a window of a size, as a phone does below 500 pixels."""
        self.requests.clear(), self.complaints.clear(), self.events.clear()
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        deadline = time.monotonic() + 30
        while self.evaluate("document.readyState") != "complete" or "Page.loadEventFired" not in self.events:
            assert time.monotonic() < deadline, "the page does not load"

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def screenshot(self, path):
        """The whole page as .png."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        """End it."""
        self._out.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._in.close()
