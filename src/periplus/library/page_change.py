"""A change of a page, and what it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from periplus.apps.changes import Change, Detail, Passage, RunStatus
from periplus.view.notebook import Displayed, rows_html
from periplus.view.wording import moment


class PageChange(Displayed, frozen=True):
    """Something that happened to a page, and what it is about (`None` if texts were not compared)."""

    change: Change
    detail: Detail | None

    @property
    def url(self) -> str:
        """The URL of the page."""
        return self.change.url

    @property
    def kind(self) -> str:
        """`appeared`, `changed`, `vanished` or `elsewhere` (it changed outside of its main text)."""
        return self.change.kind.value

    @property
    def level(self) -> str:
        """How much a changed page differs: `template`, `minor` or `major`; empty if it was not compared."""
        return self.change.level

    @property
    def seen_at(self) -> float:
        """When it was seen: POSIX seconds."""
        return self.change.seen_at

    @property
    def diff(self) -> str:
        """What differs, a passage a line, as `git diff --word-diff` writes it: `[-removed-]` and `{+added+}`."""
        difference = None if self.detail is None else self.detail.difference
        passages = () if difference is None else difference.passages
        return "\n".join(_marked(passage) for passage in passages if passage.is_changed)


class PageChanges:
    """Changes, found each time they are iterated over. A notebook shows the first of them."""

    def __init__(self, since: float, find: Callable[[], Iterator[PageChange]]) -> None:
        self._since = since
        self._find = find

    def __iter__(self) -> Iterator[PageChange]:
        """Change after change, while they are found."""
        return self._find()

    def __repr__(self) -> str:
        return f"<changes since {moment(self._since)} UTC: iterate over them>"

    def _repr_html_(self) -> str:
        columns = ("seen", "kind", "level", "url", "differs")
        rows = ((moment(each.seen_at), each.kind, each.level, each.url, each.diff) for each in self)
        return f"<p>since {moment(self._since)} UTC</p>{rows_html(columns, rows)}"


def _marked(passage: Passage) -> str:
    signs = {RunStatus.KEPT: ("", ""), RunStatus.REMOVED: ("[-", "-]"), RunStatus.ADDED: ("{+", "+}")}
    return " ".join(f"{signs[run.mark][0]}{run.text.strip()}{signs[run.mark][1]}" for run in passage.runs)
