"""How much a page has changed: what its site has taught is left out of account, and every visit teaches."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from periplus.content import ChurnSettings, RawPage, compared_of, instants_of, read_pages, version_of
from periplus.crawl.copies import Answer, Copies
from periplus.crawl.frontier import Comparer
from periplus.crawl.reading import PageReader
from periplus.model import (
    ChangeLevel,
    Fetched,
    FetchOutcome,
    FetchTask,
    FirstSeen,
    Lane,
    NotModified,
    Page,
    Purpose,
    Site,
    SiteState,
    Source,
    Url,
    UrlRecord,
)
from periplus.store import MemoryState

DAY = 86_400.0
SITE = Site("a.test")


def url(number: int) -> Url:
    return Url(f"https://a.test/{number}")


def html(number: int, quote: int, edition: int = 0, title: str = "") -> bytes:
    """A page with a story that has editions, and a quotation."""
    story = " ".join(f"word{number}x{edition}x{place}." for place in range(80))
    saying = f"Saying {quote * 7919 % 10_007}"
    return f"<title>{title}</title><article><p>{story}</p><div class=q>{saying}</div></article>".encode()


def read(number: int, body: bytes, *, wants_blocks: bool = True) -> Page:
    return read_pages([RawPage(body, url(number), "text/html", wants_blocks=wants_blocks)])[0]


def kept(page: Page, at: float) -> UrlRecord:
    seen = (FirstSeen(Source.SEED, 0.0),)
    return UrlRecord(
        page.url, seen, digests=page.digests, version=version_of(page), kept_at=at, blocks=page.blocks, visits=1
    )


class Memory:
    """The memory of one site, and its comparer."""

    def __init__(self, settings: ChurnSettings | None = None) -> None:
        self.churn = b""
        self.comparer = Comparer(settings, recall=lambda _site: self.churn, note=self._note)

    def _note(self, site: Site, churn: bytes) -> None:
        assert site == SITE
        self.churn = churn

    def level(self, old: Page, new: Page, apart: float = DAY) -> ChangeLevel | None:
        compared = self.comparer.compare(kept(old, 1000.0), new, 1000.0 + apart)
        self.comparer.keep()
        return compared.level

    def taught(self, pairs: int, apart: float = DAY) -> list[ChangeLevel | None]:
        return [self.level(read(n, html(n, n)), read(n, html(n, n + 500)), apart) for n in range(pairs)]


def test_churn_counts_until_it_is_known() -> None:
    """The first comparisons say that pages changed, later ones that they did not; a story always counts."""
    site = Memory()
    assert site.taught(8) == [ChangeLevel.MAJOR] * 5 + [ChangeLevel.RAW_ONLY] * 3
    assert site.level(read(9, html(9, 1)), read(9, html(9, 2, edition=1))) is ChangeLevel.MAJOR
    assert site.level(read(9, html(9, 1)), read(9, html(9, 2, title="Other"))) is ChangeLevel.MAJOR
    assert site.level(read(9, html(9, 1)), read(9, html(9, 1))) is ChangeLevel.SAME
    assert compared_of(site.churn) == 11


def test_two_visits_in_a_row_differ_in_noise_alone() -> None:
    """By definition, as long as a site's sample is not complete; then they are judged by what it has taught."""
    site = Memory(ChurnSettings(sample=4, instant=60.0))
    assert site.taught(4, apart=30.0) == [ChangeLevel.RAW_ONLY] * 4
    assert (compared_of(site.churn), instants_of(site.churn)) == (4, 4)
    edited = read(9, html(9, 1)), read(9, html(9, 1, edition=1))
    assert site.level(*edited, apart=30.0) is ChangeLevel.MAJOR
    young = Memory(ChurnSettings(sample=4, instant=60.0))
    assert young.level(*edited, apart=61.0) is ChangeLevel.MAJOR
    assert young.level(*edited, apart=60.0) is ChangeLevel.RAW_ONLY
    assert instants_of(young.churn) == 1
    assert Memory(ChurnSettings(sample=0)).level(*edited, apart=1.0) is ChangeLevel.MAJOR


def test_a_304_right_after_a_visit_is_one_of_the_sample() -> None:
    """Or a site that answers so would be asked twice in a row for ever. Later ones teach that content stayed."""
    site = Memory()
    record = kept(read(1, html(1, 1)), 1000.0)
    site.comparer.unmodified(record, 1030.0)
    site.comparer.unmodified(replace(record, blocks=b""), 1030.0)
    site.comparer.unmodified(record, 1000.0 + DAY)
    site.comparer.unmodified(replace(record, blocks=b""), 1000.0 + DAY)
    site.comparer.unmodified(None, 5.0)
    site.comparer.keep()
    assert (compared_of(site.churn), instants_of(site.churn)) == (3, 2)


def test_what_was_said_to_be_the_same_a_moment_ago_is_in_a_row_with_it() -> None:
    """A 304, and all of the page at once after it: what differs is noise, also where parts were not known."""
    site = Memory()
    record = replace(kept(read(1, html(1, 1)), 1000.0), status=304, fetched_at=DAY, blocks=b"")
    new = read(1, html(1, 2))
    assert site.comparer.compare(record, new, DAY + 5.0) == (ChangeLevel.RAW_ONLY, new.blocks)
    assert site.comparer.compare(replace(record, status=200), new, DAY + 5.0) == (ChangeLevel.MAJOR, new.blocks)
    site.comparer.keep()
    assert compared_of(site.churn) == 0


def test_what_was_not_kept_is_not_compared() -> None:
    """No version: no level. No parts of it: the level as it seems, and nothing learnt but what to compare with next."""
    site = Memory()
    new = read(1, html(1, 2))
    assert site.comparer.compare(None, new, 5.0) == (None, new.blocks)
    bare = replace(kept(read(1, html(1, 1)), 1.0), blocks=b"")
    assert site.comparer.compare(bare, new, DAY) == (ChangeLevel.MAJOR, new.blocks)
    site.comparer.keep()
    assert site.churn == b""


def test_of_the_same_bytes_nobody_asks_for_parts() -> None:
    """Those of the version that is kept are kept on, and the visit teaches that they stayed."""
    site = Memory()
    old = read(1, html(1, 1))
    again = read(1, html(1, 1), wants_blocks=False)
    assert site.comparer.compare(kept(old, 1.0), again, DAY) == (ChangeLevel.SAME, old.blocks)
    site.comparer.keep()
    assert compared_of(site.churn) == 1


@pytest.mark.parametrize("is_watched", [False, True])
def test_parts_are_read_where_they_will_be_compared(is_watched: bool) -> None:
    """At first visits only if somebody will come back; later if they are not known, or another body came."""
    state = MemoryState()
    reader = PageReader(records=state.records, watches=is_watched)

    def blocks(body: bytes, visited_at: float | None = None) -> bool:
        task = FetchTask(url(1), SITE, Purpose.PAGE, Lane.REFRESH, 0.0, visited_at=visited_at)
        return bool(reader.read([Fetched(task, 200, (), body, 5.0, 0.5)])[0].blocks)

    assert blocks(html(1, 1)) is is_watched
    page = read(1, html(1, 1))
    state.records.put([replace(kept(page, 1.0), blocks=b"")])
    assert blocks(html(1, 1), visited_at=1.0)
    state.records.put([kept(page, 1.0)])
    assert not blocks(html(1, 1), visited_at=1.0)
    assert blocks(html(1, 2), visited_at=1.0)


def test_one_by_one_teaches_as_all_at_once() -> None:
    """Whoever goes through the same answers again after a crash, singly, finds the same levels and learns the same."""
    random = Random(3)
    answers, before = [], {}
    for number in range(40):
        before[number] = kept(read(number, html(number, number)), 10.0)
        task = FetchTask(url(number), SITE, Purpose.PAGE, Lane.REFRESH, 0.0, visited_at=10.0)
        body = html(number, number + 300, edition=random.randrange(3) // 2)
        outcome: FetchOutcome = Fetched(task, 200, (), body, DAY, 0.5)
        if random.random() < 0.3:
            outcome = NotModified(task, (), DAY, 0.5)
        page = read(number, body) if isinstance(outcome, Fetched) else None
        answers.append(Answer(outcome, DAY, page))
    results = []
    for portion in (1, 7, 40):
        state = MemoryState()
        state.records.put(before.values())

        def recall(site: Site, state: MemoryState = state) -> bytes:
            known = state.sites.get([site])[0]
            return b"" if known is None else known.churn

        def note(site: Site, churn: bytes, state: MemoryState = state) -> None:
            state.sites.put([SiteState(site, churn=churn)])

        copies = Copies(state, Comparer(recall=recall, note=note))
        readings = [
            reading for start in range(0, 40, portion) for reading in copies.judge(answers[start : start + portion])
        ]
        results.append((readings, recall(SITE)))
    assert results[0] == results[1] == results[2]
    levels = {reading.level for reading in results[0][0] if reading is not None}
    assert {ChangeLevel.RAW_ONLY, ChangeLevel.MAJOR} <= levels
    assert compared_of(results[0][1]) == 40
