"""The site of these trials: pages in a tree, which know when they are asked for."""

from __future__ import annotations

from collections.abc import Callable

from ....hostile.script import HTML
from ....http import Answer, Request
from ...cases import Evidence, Failure, Judge
from ...sites import Reply, TrialSite, Web, html_page


class LivingSite:
    """A home page with links to `width` pages, each with a link to one more. `asked` has the targets, in order.

    `interrupt` may answer in place of a page; `padding` is added to a page.
    """

    def __init__(self, web: Web, width: int, *, padding: Callable[[str], str] = lambda _target: "") -> None:
        self.site: TrialSite = web.site()
        self.asked: list[str] = []
        self.interrupt: Callable[[Request], Reply | None] = lambda _request: None
        self._padding = padding
        below = {f"/{number}": (f"/{number}/below",) for number in range(width)}
        self._links: dict[str, tuple[str, ...]] = {"/": tuple(below), **below}
        self.targets = ("/", *below, *(target for targets in below.values() for target in targets))
        self.urls = self.site.urls(*self.targets)
        self.site.answers |= dict.fromkeys(self.targets, self._answer)

    def _answer(self, request: Request) -> Reply:
        target = request.target
        self.asked.append(target)
        tag = f'"{target}"'
        if found := self.interrupt(request):
            return found
        if request.header("if-none-match") == tag:
            return Answer(304, (("ETag", tag),), b"")
        body = html_page(self.site.url(target), self._links.get(target, ()), body=self._padding(target))
        return Answer(200, (HTML, ("ETag", tag)), body)

    def has_asked_for(self, number: int) -> Callable[[], bool]:
        """Whether that many pages were asked for, over all runs."""
        return lambda: len(self.asked) >= number

    def all_arrived(self, also: Judge | None = None) -> Judge:
        """The case fails unless every page was sent to its end, over all runs."""

        def judge(evidence: Evidence) -> Failure | None:
            whole = {
                visit.url
                for visit in evidence.visits
                if visit.method == "GET" and visit.status == 200 and visit.is_complete
            }
            missing = [url for url in self.urls if url not in whole]
            if missing:
                last = evidence.ends[-1]
                return Failure(
                    f"lost {len(missing)} of {len(self.urls)} pages, such as {missing[0]};"
                    f" the last run {'was stopped' if last.was_stopped else f'ended with {last.code}'}"
                )
            return also(evidence) if also else None

        return judge
