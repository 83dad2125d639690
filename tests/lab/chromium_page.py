"""A page in a real browser: Chromium without a window, asked through a pipe in the DevTools protocol.

Nothing has to be installed but Chromium itself: the protocol is JSON with a zero byte after each message, on the file
descriptors 3 and 4 of the browser. Where there is no Chromium, tests that need one are skipped.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WHY_NOT = f"no Chromium on this machine: none of {', '.join(NAMES)} is in PATH, and CHROMIUM names none"
_FLAGS = (
    "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--disable-dev-shm-usage", "--mute-audio",
)  # fmt: skip
_PATIENCE = 300.0
"""Seconds to wait for the next message: only a browser that hangs takes that long."""


def chromium() -> str | None:
    """The browser of this machine; `None` if it has none."""
    named = os.environ.get("CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


class NoChromium(Exception):  # noqa: N818 - it is what it says
    """There is none, or it does not start: nothing to be tested by it here."""


class Chromium:
    """A browser with one page. `complaints` are errors and warnings that the page wrote or that it ran into."""

    def __init__(self, profile: Path) -> None:
        program = chromium()
        if program is None:
            raise NoChromium(WHY_NOT)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        wrapped = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        command = ["bash", "-c", wrapped, "chromium", program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            command, pass_fds=(theirs_in, theirs_out), stdin=quiet, stdout=quiet, stderr=quiet
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._kept = b""
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._events: list[str] = []
        try:
            targets = self("Target.getTargets")["targetInfos"]
        except (AssertionError, OSError) as error:
            self.close()
            raise NoChromium(f"{program} does not start: {error}") from error
        target = next(each for each in targets if each["type"] == "page")
        attached = self("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask for something, and wait for the answer."""
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            asked["sessionId"] = self._session
        os.write(self._out, json.dumps(asked).encode() + b"\0")
        while True:
            heard = self._heard()
            if heard.get("id") == self._number:
                assert "error" not in heard, f"{method}: {heard['error']}"
                answer: dict[str, Any] = heard["result"]
                return answer

    def _heard(self) -> dict[str, Any]:
        """The next message; what it tells of the page is kept."""
        ends = time.monotonic() + _PATIENCE
        while b"\0" not in self._kept:
            ready, _, _ = select.select([self._in], [], [], max(ends - time.monotonic(), 0))
            assert ready, "Chromium says nothing any more"
            more = os.read(self._in, 1 << 16)
            assert more, "Chromium has gone"
            self._kept += more
        message, _, self._kept = self._kept.partition(b"\0")
        heard: dict[str, Any] = json.loads(message)
        self._note(heard.get("method", ""), heard.get("params", {}))
        return heard

    def _note(self, method: str, told: dict[str, Any]) -> None:
        self._events.append(method)
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(str(told["entry"]["text"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(str(told["request"]["url"]))

    def open(self, page: Path | str, width: int, *, is_dark: bool = False, scale: int = 1) -> None:
        """Show a file or a URL, `width` pixels wide."""
        mobile = width < 600
        self("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=scale, mobile=mobile)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self("Emulation.setEmulatedMedia", features=[scheme])
        self._events.clear()
        self("Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri())
        self._wait_for_load()

    def visit(self, url: str, width: int, *, is_dark: bool = False) -> None:
        """Show a page, `width` pixels wide."""
        self.open(url, width, is_dark=is_dark)

    def act(self, script: str) -> None:
        """Run an expression that leads to another page, and wait for that."""
        self._events.clear()
        self("Runtime.evaluate", expression=script)
        self._wait_for_load()

    def _wait_for_load(self) -> None:
        while "Page.loadEventFired" not in self._events:
            self._heard()

    def run(self, script: str) -> Any:
        """What an expression is on the page."""
        found = self("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def picture(self, height: int | None = None) -> bytes:
        """The page as PNG: all of it, or its first `height` pixels."""
        size = self.run("({width: innerWidth, height: document.documentElement.scrollHeight})")
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1}
        return base64.b64decode(self("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"])

    def close(self) -> None:
        """End the browser."""
        os.close(self._out)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
