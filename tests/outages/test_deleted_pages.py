"""Single pages that are deleted while their site is fine: they leave the views, cost little, and can come back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from tests.faults.simulation import Process
from tests.outages.watch import OutageWatch, View

from periplus.engine.revisit.evidence import DAY
from periplus.model import Url

DAYS_UNTIL_GONE = 3.0
"""Pages are visited by worth, about once a day: one waited for 2.1 days."""
DAYS_GONE = 30.0
DAYS_UNTIL_BACK = 2.0
MOST_VISITS = 8
"""Visits to a page that is gone, in `DAYS_GONE`."""
LEAST_VISITS = 4
"""As few are made if the intervals double from a day."""
VISITS_PER_PAGE = 1.2
"""Visits a day for each page: every page is visited once a day."""
DELETED = 3


class Deletion:
    """A watch of a site that deletes three pages: the first is listed again later, the second is linked again."""

    def __init__(self, folder: Path) -> None:
        self.watch = OutageWatch(folder, is_dated=True, visits_per_page=VISITS_PER_PAGE)
        self.watch.begin()
        self.web, self.began_at = self.watch.web, self.watch.true.at
        self.pages = self.web.pages[self.web.failing][-DELETED:]
        self.back_at = self.began_at + DAYS_GONE * DAY
        self.views: list[View] = []

    def run(self) -> None:
        """Look before, when the pages must be gone, before they come back, and when they must be back."""
        self.watch.events = [
            (self.began_at, self._look(self._delete)),
            (self.began_at + DAYS_UNTIL_GONE * DAY, self._look()),
            (self.back_at, self._look(self._bring_back)),
            (self.back_at + DAYS_UNTIL_BACK * DAY, self._look()),
        ]
        self.watch.watch_until(self.back_at + (DAYS_UNTIL_BACK + 0.1) * DAY)

    def _look(self, change: Callable[[], None] = lambda: None) -> Callable[[Process], None]:
        def look(process: Process) -> None:
            self.views.append(self.watch.view(process, self.began_at))
            change()

        return look

    def _delete(self) -> None:
        for pages in (self.web.gone, self.web.unlisted, self.web.unlinked):
            pages.update(self.pages)

    def _bring_back(self) -> None:
        listed, linked, _ = self.pages
        self.web.gone -= {listed, linked}
        self.web.unlisted.remove(listed)
        self.web.unlinked.remove(linked)

    def visits(self, url: Url) -> list[float]:
        """The times of the visits to a page while it was gone."""
        return [
            each.at for each in self.web.page_requests if each.url == url and self.began_at < each.at < self.back_at
        ]


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def deletion(tmp_path_factory: pytest.TempPathFactory) -> Deletion:
    """A month without three pages."""
    deletion = Deletion(tmp_path_factory.mktemp("deleted"))
    deletion.run()
    return deletion


def test_deleted_pages_leave_the_index_and_the_others_stay(deletion: Deletion) -> None:
    """Within three days, and for as long as they are gone."""
    before, *while_gone, _ = deletion.views
    for view in while_gone:
        assert before.indexed - view.indexed == set(deletion.pages)
        assert view.vanished == set(deletion.pages)


def test_deleted_pages_are_visited_at_growing_intervals(deletion: Deletion) -> None:
    """Neither never again nor every day."""
    for url in deletion.pages:
        visits = deletion.visits(url)
        assert LEAST_VISITS <= len(visits) <= MOST_VISITS
        gaps = [later - earlier for earlier, later in pairwise(visits)]
        assert all(after > 0.9 * before for before, after in pairwise(gaps))


def test_a_page_comes_back_that_a_sitemap_lists_or_a_page_links_to(deletion: Deletion) -> None:
    """Within two days. That it does so without a word is found at its next visit."""
    listed, linked, _ = deletion.pages
    assert {listed, linked} <= deletion.views[-1].indexed
