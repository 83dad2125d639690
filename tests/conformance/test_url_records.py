"""What every `UrlRecords` promises. A new implementation joins the fixture's list."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from periplus.model import FirstSeen, Site, Source, Url, UrlRecord, UrlRecords
from periplus.store import MemoryUrlRecords

IMPLEMENTATIONS: list[Callable[[], UrlRecords]] = [MemoryUrlRecords]


@pytest.fixture(params=IMPLEMENTATIONS)
def records(request: pytest.FixtureRequest) -> UrlRecords:
    made: UrlRecords = request.param()
    return made


def record(url: str, visits: int = 0) -> UrlRecord:
    return UrlRecord(Url(url), (FirstSeen(Source.LINK, 1.0),), visits=visits)


def test_answers_are_aligned_with_the_question(records: UrlRecords) -> None:
    """Unknown URLs answer None in their place."""
    here = record("https://a.test/1")
    records.put([here])
    assert records.get([Url("https://a.test/0"), here.url, Url("https://b.test/1")]) == [None, here, None]


def test_the_last_word_counts(records: UrlRecords) -> None:
    """A record put again replaces the one before, also within one batch."""
    records.put([record("https://a.test/1"), record("https://a.test/1", visits=1)])
    records.put([record("https://a.test/1", visits=2)])
    assert records.get([Url("https://a.test/1")]) == [record("https://a.test/1", visits=2)]


def test_a_site_comes_out_together_and_in_order(records: UrlRecords) -> None:
    """`of_site` gives a site's records in the order of their URLs, however they were written."""
    urls = ["https://a.test/2", "https://b.test/1", "https://a.test/1", "https://a.test:8443/1", "https://a.test/10"]
    records.put([record(url) for url in urls])
    assert [found.url for found in records.of_site(Site("a.test"))] == [
        "https://a.test/1",
        "https://a.test/10",
        "https://a.test/2",
    ]
    assert [found.url for found in records.of_site(Site("a.test:8443"))] == ["https://a.test:8443/1"]
    assert list(records.of_site(Site("nobody.test"))) == []


def test_a_batch_that_breaks_writes_nothing(records: UrlRecords) -> None:
    """All or none: an iterator that fails half-way leaves the records as they were."""

    def broken() -> Iterator[UrlRecord]:
        yield record("https://a.test/1")
        raise ValueError("the source broke")

    with pytest.raises(ValueError, match="the source broke"):
        records.put(broken())
    assert records.get([Url("https://a.test/1")]) == [None]
