"""What every `UrlRecords` promises."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from periplus.model import (
    Digests,
    FirstSeen,
    Granularity,
    Lastmod,
    Site,
    Source,
    Url,
    UrlRecord,
    UrlRecords,
    Validators,
)
from periplus.store import State


@pytest.fixture
def records(state: State) -> UrlRecords:
    return state.records


def record(url: str, visits: int = 0) -> UrlRecord:
    return UrlRecord(Url(url), (FirstSeen(Source.LINK, 1.0),), visits=visits)


FULL = UrlRecord(
    Url("http://user@a.test:8080/path?q=é"),
    (FirstSeen(Source.SITEMAP, 1.5), FirstSeen(Source.REDIRECT, 1e9 + 0.25)),
    depth=3,
    lastmod=Lastmod(1e9, Granularity.DAY),
    validators=Validators('"e"', "Thu, 01 Jan 1970 00:00:00 GMT"),
    digests=Digests(2**64 - 1, 0, 1, 2**63),
    visits=2,
    changes=1,
    fetched_at=2e9,
    due_at=3e9,
    redirects=1,
    failures=4,
    status=503,
    reason="http-503",
    kept_at=1.9e9,
    version=b"version",
    evidence=b"evidence" * 8,
    blocks=bytes(range(224)) * 2,
    gains=b"gains",
)


def test_answers_are_aligned_with_the_question(records: UrlRecords) -> None:
    """Unknown URLs answer None in their place."""
    here = record("https://a.test/1")
    records.put([here])
    assert records.get([Url("https://a.test/0"), here.url, Url("https://b.test/1")]) == [None, here, None]


def test_the_same_url_may_be_asked_for_twice(records: UrlRecords) -> None:
    """A repeat in the question is answered each time."""
    here = record("https://a.test/1")
    records.put([here])
    assert records.get([here.url, here.url]) == [here, here]


@pytest.mark.parametrize(
    "kept",
    [
        FULL,
        UrlRecord(Url("https://a.test/"), ()),
        UrlRecord(Url("https://a.test/"), (FirstSeen(Source.SEED, 0.0),), validators=Validators(None, "x")),
        UrlRecord(Url("https://a.test/"), (FirstSeen(Source.PING, -1.0),), status=0, reason="dns"),
        UrlRecord(Url("https://a.test/"), (FirstSeen(Source.SEED, 0.0),), blocks=b"b"),
    ],
)
def test_every_field_is_kept(records: UrlRecords, kept: UrlRecord) -> None:
    """What comes out is what went in, empty and extreme values included."""
    records.put([kept])
    assert records.get([kept.url]) == [kept]


def test_the_last_word_counts(records: UrlRecords) -> None:
    """A record put again replaces the one before, also within one batch."""
    records.put([record("https://a.test/1"), record("https://a.test/1", visits=1)])
    records.put([record("https://a.test/1", visits=2)])
    assert records.get([Url("https://a.test/1")]) == [record("https://a.test/1", visits=2)]
    assert len(records) == 1


def test_what_is_new_is_said_once(records: UrlRecords) -> None:
    """The seen test: new is what was never put nor added, and of a repeat inside the batch only the first."""
    first, second = record("https://a.test/1"), record("https://b.test/1")
    again = record("https://a.test/1", visits=9)
    records.put([second])
    assert records.add_new([first, again, second]) == [None, first, second]
    assert records.add_new([again]) == [first]
    assert records.get([first.url]) == [first]
    assert len(records) == 2


def test_put_is_seen_by_add_new(records: UrlRecords) -> None:
    """What add_new answers is the record as it was last put."""
    records.add_new([record("https://a.test/1")])
    records.put([record("https://a.test/1", visits=7)])
    assert records.add_new([record("https://a.test/1")]) == [record("https://a.test/1", visits=7)]


def test_schemes_are_other_urls_of_one_site(records: UrlRecords) -> None:
    """http and https share the site and nothing else."""
    plain, secure = record("http://a.test/1"), record("https://a.test/1")
    assert records.add_new([plain, secure]) == [None, None]
    assert {found.url for found in records.of_site(Site("a.test"))} == {plain.url, secure.url}


def test_a_site_comes_out_together(records: UrlRecords) -> None:
    """`of_site` gives each of a site's records once, however they were written, and no other's."""
    urls = ["https://a.test/2", "https://b.test/1", "https://a.test/1", "https://a.test:8443/1", "https://a.test/10"]
    records.put([record(url) for url in urls])
    assert sorted(found.url for found in records.of_site(Site("a.test"))) == [
        "https://a.test/1",
        "https://a.test/10",
        "https://a.test/2",
    ]
    assert [found.url for found in records.of_site(Site("a.test:8443"))] == ["https://a.test:8443/1"]
    assert list(records.of_site(Site("nobody.test"))) == []


def test_a_site_may_be_written_while_it_is_read(records: UrlRecords) -> None:
    """Each of a site's records comes once even where the reader rewrites them as they come."""
    records.put([record(f"https://a.test/{number}") for number in range(3000)])
    seen = []
    for found in records.of_site(Site("a.test")):
        seen.append(found.url)
        records.put([record(found.url, visits=1)])
    assert len(seen) == len(set(seen)) == 3000


def test_a_batch_that_breaks_writes_nothing(records: UrlRecords) -> None:
    """All or none: an iterator that fails half-way leaves the records as they were."""

    def broken() -> Iterator[UrlRecord]:
        yield record("https://a.test/1")
        raise ValueError("the source broke")

    with pytest.raises(ValueError, match="the source broke"):
        records.put(broken())
    assert records.get([Url("https://a.test/1")]) == [None]
    assert len(records) == 0


def test_no_name_of_a_site_is_too_long(records: UrlRecords) -> None:
    """Hosts that no resolver would take are kept apart like all others."""
    long = [record(f"https://{'a' * 1500}{letter}.test/") for letter in "xy"]
    assert records.add_new(long) == [None, None]
    assert list(records.of_site(Site("a" * 1500 + "x.test"))) == [long[0]]
