"""A small manual to crawl and to search, plain file servers of other origins, and keys for a browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from tests.lab.chromium_page import Chromium
from tests.lab.scripted_web import ScriptedWeb

from periplus.collection.config.settings import Config

MANUAL = "http://manual.test/"
HOST = "document.querySelector('.periplus-search').shadowRoot"
TOPICS = {
    "install": (
        "Installing",
        [
            ("from-source", "From source", "Unpack the archive and run make install; a compiler is needed."),
            ("environments", "Virtual environments", "Create one with <code>python3 -m venv /path</code> first."),
        ],
    ),
    "paths": (
        "Working with paths",
        [
            ("os.path.join", "os.path.join(path, *paths)", "Join one or more path segments intelligently."),
            ("os.path.exists", "os.path.exists(path)", "Return True if the path refers to an existing file."),
        ],
    ),
    "caching": (
        "Caching results",
        [
            ("functools.lru_cache", "functools.lru_cache(maxsize=128)", "Keep the results of the most recent calls."),
            ("clearing", "Clearing a cache", "Every cached function has a method that empties its cache."),
        ],
    ),
    "threads": (
        "Threads and locks",
        [("locks", "Locks", "A lock lets one thread at a time enter a region; others wait for the lighthouse.")],
    ),
    "markup": ("Markup &lt;b&gt;", [("danger", "&lt;img src=x onerror=alert(1)&gt;", "A snapdragon &lt;b&gt; page.")]),
}
"""Pages by name: the title, and sections as fragment, heading and text."""


def page(name: str) -> str:
    """A page of the manual, as a generator of documentation writes it."""
    title, sections = TOPICS[name]
    links = "".join(f'<li><a href="/{each}.html">{TOPICS[each][0]}</a>' for each in TOPICS)
    parts = "".join(f'<section id="{key}"><h2>{heading}</h2><p>{text}</p></section>' for key, heading, text in sections)
    return (
        f"<!doctype html><html lang=en><head><title>{title}</title></head><body><nav><ul>{links}</ul></nav>"
        f"<main><h1>{title}</h1><p>This page of the manual is about {title.lower()} in everyday use.</p>{parts}</main>"
    )


def manual_web() -> ScriptedWeb:
    """The manual on loopback."""
    pages: dict[str, str | bytes] = {f"{MANUAL}{name}.html": page(name) for name in TOPICS}
    links = "".join(f'<li><a href="/{name}.html">{TOPICS[name][0]}</a>' for name in TOPICS)
    pages[MANUAL] = f"<!doctype html><html lang=en><title>The manual</title><h1>The manual</h1><ul>{links}</ul>"
    pages[f"{MANUAL}robots.txt"] = "User-agent: *\nAllow: /\n"
    return ScriptedWeb(pages)


def change_settings(folder: Path, **options: Any) -> None:
    """Write settings of a collection, such as `serve__origins=("*",)`."""
    given = {name.replace("__", "."): value for name, value in options.items()}
    config = Config.load(folder / "periplus.toml").with_options(given)
    (folder / "periplus.toml").write_text(config.dump())


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def send_head(self) -> Any:
        found = super().send_head()
        if found is not None:
            path = Path(self.translate_path(self.path))
            if path.is_file():
                self.server.sent.append((self.path, path.stat().st_size))  # type: ignore[attr-defined]
        return found


@contextmanager
def plain_host(folder: Path) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """A plain file server, by its origin, and the files that it sent with their sizes."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        server.sent = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", server.sent  # type: ignore[attr-defined]
        finally:
            server.shutdown()
            thread.join()


KEYS = {"/": 191, "Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "Tab": 9, "k": 75}


def press(browser: Chromium, key: str, modifiers: int = 0) -> None:
    """Press a key."""
    text = {"Enter": "\r", "/": "/"}.get(key)
    given: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": KEYS[key], "modifiers": modifiers}
    browser("Input.dispatchKeyEvent", type="keyDown", **given | ({"text": text} if text else {}))
    browser("Input.dispatchKeyEvent", type="keyUp", **given)


def type_text(browser: Chromium, text: str) -> None:
    """Type into what has the focus."""
    browser("Input.insertText", text=text)


PLAIN = (
    "<!doctype html><html lang=en><head><title>Home</title><meta name=viewport content='width=device-width'>"
    "<meta name=color-scheme content='light dark'></head>"
    "<body><main><h1>Home</h1>{script}<p><label>Name <input id=name></label></main>"
)


class Embedded(NamedTuple):
    """A page of another site with the search box: by a server, or by files."""

    kind: str
    url: str
    sent: list[tuple[str, int]]


def until(browser: Chromium, script: str) -> Any:
    """What an expression is once it is true."""
    ends = time.monotonic() + 60
    while not (found := browser.run(script)):
        assert time.monotonic() < ends, (script, browser.run(f"{HOST}.textContent"))
        time.sleep(0.02)
    return found


def titles(browser: Chromium) -> list[str]:
    return list(browser.run(f"[...{HOST}.querySelectorAll('.page .title')].map(each => each.textContent)"))


def search(browser: Chromium, text: str) -> None:
    """Open the box with its key, type, and wait for the answer."""
    if not browser.run(f"{HOST}.querySelector('dialog').open"):
        press(browser, "/")
    browser.run(f"{HOST}.querySelector('input').select(); {HOST}.querySelector('.status').textContent = ''")
    type_text(browser, text)
    until(browser, f"{HOST}.querySelector('.status').textContent")
