"""Sites drawn from a seed whose URLs have second names, or look as if they had: data that rules are not tuned on.

Each site has numbered articles in sections and one `Spelling`: how URLs of an article are written. What a URL shows is
the truth. A spelling `is_idle` if all names of an article show the same, so that a rule would be right; the others
are deceptive, and any rule that renames one of their URLs to another article, or edition of it, is wrong. A
`TrapSite` has articles, and beside them pages without an end, or an archive that ends.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Final

from msgspec import Struct

from periplus_lab import Answer, Request
from periplus_lab.world import DEFAULT_EPOCH

_HTML: Final = (("Content-Type", "text/html; charset=utf-8"),)
_SYLLABLES: Final = (
    "ba",
    "ke",
    "lo",
    "mi",
    "nu",
    "ra",
    "se",
    "to",
    "vi",
    "zu",
    "dra",
    "fle",
    "gri",
    "pho",
    "sta",
    "tre",
)
_SECTIONS: Final = ("harbour", "garden", "kitchen", "workshop")
_ISSUES: Final = 300
"""Days of the past of which an archive has an issue."""
HOST: Final = "spelled.test"
HOME: Final = f"http://{HOST}/"

Write = Callable[[Random, str], str]
"""One of the names of the article with this path."""
Read = Callable[[str], tuple[str, str] | None]
"""The path of the article behind a name, and its edition; `None`: there is none."""


class Spelling(Struct, frozen=True):
    """How a kind of site writes its URLs."""

    is_idle: bool
    write: Write
    read: Read


def _with_query(is_idle: bool, values: Sequence[str], names: Sequence[str]) -> Spelling:
    """A parameter on some links; it matters unless it is idle."""

    def write(chance: Random, path: str) -> str:
        return f"{path}?{chance.choice(names)}={chance.choice(values)}" if chance.random() < 0.6 else path

    def read(target: str) -> tuple[str, str] | None:
        path, _, query = target.partition("?")
        return (path, "") if is_idle else (path, query)

    return Spelling(is_idle, write, read)


def _in_trees(is_idle: bool, trees: Sequence[str], share: float = 0.0) -> Spelling:
    """The same paths in several trees; in `share` of them each tree has an edition of its own."""

    def write(chance: Random, path: str) -> str:
        return chance.choice(trees) + path

    def read(target: str) -> tuple[str, str] | None:
        tree = next((each for each in sorted(trees, key=len, reverse=True) if target.startswith(f"{each}/")), None)
        if tree is None:
            return None
        path = target.removeprefix(tree)
        return path, tree if Random(f"{path} edition").random() < share else ""

    return Spelling(is_idle, write, read)


def _sessions(is_idle: bool, beginning: str, values: int) -> Spelling:
    """A hexadecimal segment before every path: of a visit, or of a user or a build with pages of its own."""

    def write(chance: Random, path: str) -> str:
        return f"/{beginning}{Random(chance.randrange(values)).getrandbits(48) | 1 << 44:012x}a1{path}"

    def read(target: str) -> tuple[str, str] | None:
        found = re.fullmatch(rf"/{beginning}([0-9a-f]{{14}})(/.*)", target)
        if found is None:
            return (target, "") if is_idle else None
        return found[2], "" if is_idle else found[1]

    return Spelling(is_idle, write, read)


def _ending(suffix: str) -> Spelling:
    return Spelling(
        True,
        lambda chance, path: f"{path}/{suffix}" if chance.random() < 0.5 else f"{path}/",
        lambda target: (target.removesuffix(suffix).rstrip("/"), ""),
    )


def spellings(names: Sequence[str] = ("srsltid", "ocid", "icid")) -> dict[str, Spelling]:
    """Every kind; `names` of parameters that real sites ignore."""
    hits = [f"{number:x}" for number in range(4000, 6000)]
    return {
        "parameter of a campaign": _with_query(True, hits, names[:1]),
        "order of a list": _with_query(True, ("price", "title", "date"), ("sort_by",)),
        "session in a segment": _sessions(True, "sess-", 10**6),
        "session without a name": _sessions(True, "", 10**6),
        "alias of a directory": _in_trees(True, ("/handbook", "/guide")),
        "alias of the root": _in_trees(True, ("", "/site")),
        "three aliases": _in_trees(True, ("/kb", "/faq", "/answers")),
        "index pages": _ending("index.php"),
        "pages of a list": _with_query(False, ("2", "3", "4"), ("page",)),
        "filter": _with_query(False, ("red", "blue", "green"), ("colour",)),
        "languages": _in_trees(False, ("/en", "/fr"), 1.0),
        "languages, half translated": _in_trees(False, ("/en", "/fr"), 0.5),
        "default language": _in_trees(False, ("", "/it"), 0.4),
        "versions": _in_trees(False, ("/v1", "/v2"), 0.1),
        "named versions": _in_trees(False, ("/stable", "/nightly"), 0.1),
        "editions": _in_trees(False, ("/teachers", "/pupils"), 0.3),
        "users": _sessions(False, "user-", 4),
        "builds": _sessions(False, "", 12),
    }


class SpelledSite(Struct, frozen=True):
    """A site: it answers requests, and knows what its URLs show."""

    salt: str
    pages: int
    spelling: Spelling
    epoch: float = DEFAULT_EPOCH

    def paths(self) -> dict[str, int]:
        """The paths of its articles, as the site thinks of them, with their numbers."""
        return _paths(self.salt, self.pages)

    def shown(self, url: str) -> tuple[str, str] | None:
        """What a URL shows: an article and its edition; URLs with one value show the same."""
        target = "/" + url.partition("://")[2].partition("/")[2]
        if target == "/":
            return "/", ""
        found = self.spelling.read(target)
        return found if found is not None and found[0] in self.paths() else None

    def answer(self, request: Request) -> Answer:
        """The page of a request."""
        shown = None if request.target == "/robots.txt" else self.shown(f"http://{HOST}{request.target}")
        if shown is None:
            return Answer(404, _HTML, b"<!doctype html><title>Nothing here</title><p>We have no such page.</p>")
        paths = list(self.paths())
        chance = Random(f"{self.salt} links of {shown}")
        own = self.paths().get(shown[0], -1)
        onward = paths if own < 0 else [paths[(own + 1) % len(paths)], *chance.sample(paths, 5)]
        times = 2 if own < 0 else 1
        links = [self.spelling.write(chance, path) for path in onward for _ in range(times)]
        return _page(f"{shown[0]} {shown[1]}", text(f"{self.salt} {shown}"), links)


@lru_cache(maxsize=4)
def _paths(salt: str, pages: int) -> dict[str, int]:
    return {f"/{_SECTIONS[number % len(_SECTIONS)]}/{_word(salt, number)}": number for number in range(pages)}


class TrapSite(Struct, frozen=True):
    """Articles, and a kind of pages without an end, or that seem to be without one, beside them."""

    salt: str
    pages: int
    trap: str
    epoch: float = DEFAULT_EPOCH

    def honest(self) -> set[str]:
        """The paths of all honest pages."""
        today = datetime.fromtimestamp(self.epoch, UTC).date()
        past = [today - timedelta(days=day) for day in range(_ISSUES)] if self.trap == "archive" else []
        return {*self.articles(), *(f"/day/{day:%Y/%m/%d}" for day in past)}

    def articles(self) -> list[str]:
        """The paths of its articles."""
        return [f"/a/{_word(self.salt, number)}" for number in range(self.pages)]

    def answer(self, request: Request) -> Answer:
        """An article, or a page of the trap."""
        target = request.target
        if target == "/robots.txt":
            return Answer(404, _HTML, b"")
        today = datetime.fromtimestamp(self.epoch, UTC).date()
        if target == "/":
            entry = {"calendar": f"/plan?day={today}&mode=grid", "archive": f"/day/{today:%Y/%m/%d}"}
            return _page("home", text(self.salt), [*self.articles(), entry.get(self.trap, "/more/1")])
        if target.startswith("/a/"):
            return _page(target, text(f"{self.salt} {target}"), ["/"])
        if self.trap == "calendar":
            found = re.search(r"day=([\d-]{10})", target)
            day = date.fromisoformat(found[1]) if found else today
            days = [day + timedelta(days=step) for step in (-1, 1, 30)]
            links = [f"/plan?day={each}&mode={mode}" for each in days for mode in ("grid", "list")]
            return _page(target, text(f"{self.salt} {target}", 40), links)
        if self.trap == "archive":
            day = datetime.strptime(target, "/day/%Y/%m/%d").replace(tzinfo=UTC).date()
            if not 0 <= (today - day).days < _ISSUES:
                return Answer(404, _HTML, b"<title>No issue</title>")
            return _page(target, text(f"{self.salt} {target}"), [f"/day/{day - timedelta(days=1):%Y/%m/%d}"])
        name = target.rpartition("/")[2]
        number = int(name) if name.isdecimal() else 0
        same = text(f"{self.salt} always")
        return _page(target, same, [f"/more/{number + step}" for step in (1, 2, 3)])


def text(key: str, words: int = 110) -> str:
    """A text that no other key has."""
    chance = Random(key)
    return " ".join("".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))) for _ in range(words))


def _word(salt: str, number: int) -> str:
    chance = Random(f"{salt} {number}")
    return "".join(chance.choices(_SYLLABLES, k=4)) + "-" + "".join(chance.choices(_SYLLABLES, k=2))


def _page(title: str, body: str, links: Sequence[str]) -> Answer:
    anchors = "".join(f'<li><a href="{html.escape(link)}">onward</a></li>' for link in links)
    page = f"<!doctype html><title>{html.escape(title)}</title><article><p>{body}</p></article><ul>{anchors}</ul>"
    return Answer(200, _HTML, page.encode())
