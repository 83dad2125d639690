"""The C part of the page scanner as a program of its own, and pages that are made to hurt it."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from hatch_build import SCAN, write_tables

ROOT: Final = Path(__file__).resolve().parents[2]
HERE: Final = Path(__file__).resolve().parent
BLOCKS, EVENTS, SECTIONS = 1, 2, 4
"""Flags of a page: what is asked for besides the other columns."""
SANITIZED: Final = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
STRICT: Final = ("-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Werror")
COUNTED: Final = ("-O1", "-DCOUNT_STEPS", *STRICT)
_MARKED: Final = "-fsanitize-coverage=trace-pc"
_TIMEOUT: Final = 1800
"""Seconds for a compiler or a run of many pages under a sanitizer, also on a busy machine."""


class Read(NamedTuple):
    """What the driver says about a page."""

    steps: int
    links: int


def build_sanitized(folder: Path) -> Path:
    """The driver with checks of every access and every undefined operation."""
    return _compile(folder / "sanitized", [*SANITIZED, str(HERE / "driver.c")], folder)


def build_counted(folder: Path) -> Path:
    """The driver that counts its steps; a warning of the compiler is an error."""
    counting = folder / "counting.o"
    _run([*_compiler(), "-O1", "-c", str(HERE / "counting.c"), "-o", str(counting)])
    return _compile(folder / "counted", [*COUNTED, _MARKED, str(HERE / "driver.c"), str(counting)], folder)


def _compile(output: Path, arguments: Sequence[str], folder: Path) -> Path:
    native = ROOT / SCAN / "native"
    write_tables(native, folder / "tables.h")
    includes = [f"-I{path}" for path in (native, folder, HERE)]
    _run([*_compiler(), "-std=c11", *includes, *arguments, "-o", str(output)])
    return output


def _compiler() -> list[str]:
    return os.environ.get("CC", "cc").split()


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, timeout=_TIMEOUT)


def read_all(driver: Path, pages: Iterable[bytes], flags: int = BLOCKS | EVENTS | SECTIONS) -> list[Read]:
    """Read pages with a driver. Raises `subprocess.CalledProcessError` if a sanitizer stops it."""
    stream = b"".join(len(page).to_bytes(4, "little") + bytes([flags]) + page for page in pages)
    done = subprocess.run([driver], input=stream, stdout=subprocess.PIPE, check=True, timeout=_TIMEOUT)
    return [Read(*map(int, line.split())) for line in done.stdout.splitlines()]


def _repeated(part: bytes, before: bytes = b"", after: bytes = b"") -> Callable[[int], bytes]:
    return lambda size: before + part * (size // len(part)) + after


def _numbered(part: bytes, before: bytes = b"") -> Callable[[int], bytes]:
    """The same with a different number in each."""
    return lambda size: before + b"".join(part % number for number in range(size // (len(part) + 3)))


def _nested(opened: bytes, closed: bytes) -> Callable[[int], bytes]:
    def page(size: int) -> bytes:
        count = size // (len(opened) + len(closed))
        return opened * count + closed * count

    return page


HOSTILE: Final[dict[str, Callable[[int], bytes]]] = {
    "less-than signs": _repeated(b"<"),
    "less-than signs and slashes": _repeated(b"</"),
    "ampersands": _repeated(b"&"),
    "references without semicolons": _repeated(b"&notit&ampx&copy"),
    "long references": _repeated(b"&CounterClockwiseContourIntegral;"),
    "digits of a reference": _repeated(b"1", b"<p>&#"),
    "spaces": _repeated(b" ", b"<p>a"),
    "wide spaces": _repeated("\u3000\xa0\u200b".encode(), b"<p>a"),
    "one long word": _repeated(b"a", b"<p>"),
    "invalid bytes": _repeated(b"\xff\xc2\xe2\x80", b"<p>"),
    "comments that do not end": _repeated(b"<!--"),
    "comments that nearly end": _repeated(b"<!-- --! -- >"),
    "declarations": _repeated(b"<!x>"),
    "sections": _repeated(b"<![CDATA[x]]", b"<svg>"),
    "end brackets": _repeated(b"]", b"<svg><![CDATA["),
    "tags that do not end": _repeated(b"<a "),
    "quotes that do not end": _repeated(b"<a b='"),
    "attributes": _numbered(b" a%d=1", b"<p"),
    "attributes in many tags": _repeated(b"<p" + b" a=1" * 300 + b">"),
    "slashes in a tag": _repeated(b"/", b"<p "),
    "equals signs in a tag": _repeated(b"=", b"<p "),
    "a long class": _repeated(b"nav comment ", b"<div class='", b"'>x"),
    "many classes": _repeated(b"<div class='nav-1 comment b c'>x</div>"),
    "styles": _repeated(b"<div style='display: display: display'>x</div>"),
    "raw text that does not end": _repeated(b"</titl", b"<title>"),
    "scripts in comments in scripts": _repeated(b"<!--<script>", b"<script>"),
    "dashes in a script": _repeated(b"-", b"<script><!--"),
    "textareas": _repeated(b"<textarea>x</textarea>"),
    "deep blocks": _nested(b"<div>", b"</div>"),
    "deep blocks with text": _nested(b"<div>a", b"b</div>"),
    "deep tables": _nested(b"<table><tr><td>", b"</table>"),
    "deep lists": _nested(b"<ul><li>a", b"</ul>"),
    "deep inline elements": _nested(b"<b>", b"</b>"),
    "deep drawings": _nested(b"<svg>", b"</svg>"),
    "paragraphs that end others": _repeated(b"<p>a"),
    "items that end others": _repeated(b"<li>a<dd>b<dt>c"),
    "cells below deep blocks": lambda size: b"<table><tr><td><table>" + b"<div>" * 500 + b"<td>x" * (size // 5),
    "items below deep blocks": lambda size: b"<li>" + b"<section>" * 500 + b"<li>x" * (size // 5),
    "end tags below deep blocks": lambda size: b"<p><b><object>" + b"<div>" * 500 + b"</p></b>x" * (size // 9),
    "headings": _repeated(b"<h1>a</h6>"),
    "end tags of nothing": _repeated(b"</p></div></b></table>"),
    "drawings that others end": _repeated(b"<svg><desc><p>x"),
    "links": _repeated(b"<a href=x>a"),
    "different links": _numbered(b"<a href=x%d>a</a>"),
    "links that are opened again": _repeated(b"<div><a href=x>a</div>b"),
    "links to the page itself": _repeated(b"<a href=#>a"),
    "climbing links": _repeated(b"../", b"<a href='", b"'>a"),
    "text in one link": _repeated(b"a<b>", b"<a href=x>"),
    "media": _repeated(b"<img alt='a  b' src=x>"),
    "metas": _repeated(b"<meta name=a content=b>"),
    "forms": _repeated(b"<form></form>"),
    "controls": _repeated(b"<form><input name=a></form>"),
    "labels in labels": _repeated(b"<label>a"),
    "options": _repeated(b"<option>a", b"<select>"),
    "buttons": _repeated(b"<label>a<button>b</button>"),
    "templates": _nested(b"<template>", b"</template>"),
    "noscript": _repeated(b"<noscript>a</noscript>"),
    "regions": _repeated(b"<nav>a</nav><main>b</main>"),
    "short blocks": _repeated(b"<p>a</p><div>b, c</div>"),
    "blocks of links": _repeated(b"<p><a href=x>some words in a link</a></p>"),
    "sentences": _repeated(b"<p>Some words, which are a sentence of a text that goes on and on.</p>"),
    "words without spaces": _repeated("\u6f22\u5b57\u3042\u0e01".encode(), b"<p>"),
    "numbers": _repeated(b"<p>12:30 1,234 2026-11-14 ab12cd34ef56ab78 "),
}  # fmt: skip
"""Pages that are made to take long or to break something, by a size in bytes that they have about."""


def mutated(pages: Sequence[bytes], count: int, seed: int = 1) -> Iterator[bytes]:
    """Pages with some bytes removed, doubled, or put in from others, and hostile ones."""
    chance = random.Random(seed)
    shapes = list(HOSTILE.values())
    signs = [b"<", b">", b'"', b"'", b"&", b"=", b"/", b"-", b"!", b"\0", b"\xff", b"\xc2", b"\xe3\x80", b"]]>", b"&#x"]
    for _ in range(count):
        page = bytearray(chance.choice(pages) if chance.random() < 0.8 else chance.choice(shapes)(2000))
        start = chance.randrange(len(page) + 1) if chance.random() < 0.3 else 0
        page = page[start : start + chance.choice((100, 2000, 20_000))]
        for _ in range(chance.randrange(1, 40)):
            at = chance.randrange(len(page) + 1)
            match chance.randrange(4):
                case 0:
                    page[at:at] = chance.choice(signs)
                case 1:
                    del page[at : at + chance.randrange(1, 30)]
                case 2:
                    page[at:at] = page[chance.randrange(len(page) + 1) :][: chance.randrange(1, 80)]
                case _:
                    page[at:at] = chance.choice(shapes)(chance.randrange(60))
        yield bytes(page)
