"""A generated site with datasets, as portals have them: lists, items and files; and much that leads nowhere."""

from __future__ import annotations

from random import Random
from typing import Final

HOME: Final = "http://portal.test/"


class DatasetPortal:
    """The pages of a portal. `files` are what a crawl for CSV is to find; half of them have no extension.

    Years have lists in several pages, lists name items, and an item has a file or none. A blog, tags and a calendar
    have more pages than all of these and no files.
    """

    def __init__(self, seed: int = 0, *, items: int = 40, posts: int = 100) -> None:
        chance = Random(seed)
        self.name = f"set{seed}"
        self.items, self.posts = items, posts
        self.per_page = chance.choice((5, 8, 10))
        self.has_file = [chance.random() < 0.85 for _ in range(items)]
        self.has_extension = [chance.random() < 0.5 for _ in range(items)]

    @property
    def files(self) -> set[str]:
        """The URLs of the files."""
        return {HOME + self._file(number) for number in range(self.items) if self.has_file[number]}

    def _file(self, number: int) -> str:
        return f"files/{number}.csv" if self.has_extension[number] else f"download/{number}"

    def answer(self, url: str) -> tuple[int, str, bytes]:
        """Status, type and body of a URL."""
        if url in self.files:
            return 200, "text/csv", f"a,b\n{url},1\n".encode()
        kind, _, rest = url.removeprefix(HOME).partition("/")
        number = int(rest) if rest.isdecimal() else -1
        main = self._main(kind, number)
        if not main:
            return 404, "text/html", b""
        links = "".join(f"<li><a href='/{each}'>{each}</a></li>" for each in ("list/0", "blog/0", "tag/0", "day/0", ""))
        body = f"<title>{kind} {number}</title><nav class=top><ul>{links}</ul></nav><main class={kind}>{main}</main>"
        return 200, "text/html", f"<html><body>{body}</body></html>".encode()

    def _main(self, kind: str, number: int) -> str:
        text = (
            f"<p>{self.name} {kind} {number}: " + " ".join(f"word{number * 7 + place}" for place in range(40)) + "</p>"
        )
        lists = -(-self.items // self.per_page)
        match kind:
            case "":
                return text
            case "list" if 0 <= number < lists:
                first = number * self.per_page
                named = "".join(
                    f"<div class=row><a href='/item/{each}'>{each}</a></div>"
                    for each in range(first, min(first + self.per_page, self.items))
                )
                onward = f"<div class=pages><a href='/list/{number + 1}'>next</a></div>" if number + 1 < lists else ""
                return text + named + onward
            case "item" if 0 <= number < self.items:
                file = (
                    f"<div class=files><a href='/{self._file(number)}'>data</a></div>" if self.has_file[number] else ""
                )
                return text + file + f"<aside><a href='/blog/{number % self.posts}'>more</a></aside>"
            case "blog" if 0 <= number < self.posts:
                others = "".join(
                    f"<h2><a href='/blog/{each}'>post</a></h2>"
                    for each in (2 * number + 1, 2 * number + 2)
                    if each < self.posts
                )
                return text + others + f"<p><a class=tag href='/tag/{number % 40}'>tag</a></p>"
            case "tag" if 0 <= number < 40:
                return text + "".join(
                    f"<p><a href='/blog/{each}'>post</a></p>" for each in range(number, self.posts, 40)
                )
            case "day" if 0 <= number < 40:
                return text + f"<table><tr><td><a href='/day/{number + 1}'>tomorrow</a></td></tr></table>"
            case _:
                return ""
