"""Records on disk where memory has no part in it: rows, fingerprints that collide, and what is remembered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import astuple, replace
from tests.each_case import each_case
from xxhash import xxh3_64_digest

from periplus.content import ChurnRecord
from periplus.engine.sitemaps.scores import Priorities
from periplus.model import CollectionDamaged, FirstSeen, Granularity, Lane, Site, Source, Url, UrlRecord
from periplus.store import SiteState
from periplus.store.state import DiskUrlRecords
from periplus.store.state.environment import Environment
from periplus.store.state.rows import (
    LANES,
    SOURCES,
    decode,
    encode,
    lengthen,
    name_key,
    pack_record,
    shorten,
    unpack_record,
)
from periplus.store.state.sites import MAX_PROBES, DiskSites, Recent, SiteNames, places_of
from periplus.urls import site_of


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    made = Environment(tmp_path)
    yield made
    made.close()


def record(number: int, visits: int = 0) -> UrlRecord:
    return UrlRecord(Url(f"https://a.test/{number}"), (FirstSeen(Source.LINK, 1.0),), visits=visits)


def test_codes_on_disk_never_change() -> None:
    """Every member has a code, and the ones given out stay what they are."""
    assert " ".join(source.value for source in SOURCES) == "seed link sitemap feed ping archive form redirect"
    assert [lane.value for lane in LANES] == ["discovery", "sitemaps", "refresh", "files", "probes", "embedded"]
    assert (set(SOURCES), set(LANES)) == (set(Source), set(Lane))
    assert [grain.value for grain in Granularity] == [0, 1, 2, 3, 4, 5]


@each_case(
    ("url", "short"),
    [
        ("https://a.test/x?y", "/x?y"),
        ("http://a.test/x", ":/x"),
        ("https://me@a.test/", "https://me@a.test/"),
        ("https://a.test.b/", "https://a.test.b/"),
        ("http://[::1]/", "http://[::1]/"),
    ],
)
def test_urls_are_kept_without_their_site(url: str, short: str) -> None:
    """Short where the site says the rest, whole where it does not, and the same again either way."""
    site = Site("a.test")
    assert shorten(Url(url), site) == short
    assert lengthen(short, site) == url


def test_keys_of_many_urls_are_those_of_each_alone() -> None:
    """Whatever stands before a URL: another scheme, port or user name of its site, another site, an unknown one."""
    urls = [
        Url(start + path)
        for start in (
            "https://a.test", "https://a.test", "http://a.test", "https://a.test:81", "https://me@a.test",
            "http://me:you@a.test:81", "https://a.test.b", "http://[::1]", "https://unknown.test", "https://a.test",
        )
        for path in ("/", "/@x/https://b.test/?y")
    ]  # fmt: skip
    numbers = {Site(site): site.encode() for site in ("a.test", "a.test:81", "a.test.b", "[::1]")}

    def place(url: Url) -> tuple[bytes, str]:
        return numbers.get(site_of(url), b"\xff" * 4) + xxh3_64_digest(url.encode()), shorten(url, site_of(url))

    assert places_of(urls, numbers.get, xxh3_64_digest) == [place(url) for url in urls]
    assert places_of(urls[::-1], numbers.get, xxh3_64_digest) == [place(url) for url in urls[::-1]]


def test_a_fresh_record_is_little_more_than_its_path() -> None:
    """What most rows are: at most 16 bytes beside the path."""
    url = Url("https://www.example.org/" + "x" * 60)
    row = pack_record(UrlRecord(url, (FirstSeen(Source.LINK, 1.7e9),), 3), shorten(url, Site("www.example.org")))
    assert len(row) <= 61 + 16


@pytest.mark.parametrize("remembered", [1, 100])
def test_urls_of_one_fingerprint_are_told_apart(environment: Environment, remembered: int) -> None:
    """Other URLs in the way are passed over, in one batch or in several, at the end of the numbers too."""
    records = DiskUrlRecords(environment, SiteNames(environment), remembered=remembered, digest=lambda url: b"\xff" * 8)
    assert records.add_new([record(1), record(2), record(1)]) == [None, None, record(1)]
    assert records.add_new([record(3), record(2)]) == [None, record(2)]
    records.put([record(2, visits=5), record(4)])
    urls = [record(number).url for number in range(6)]
    assert records.get(urls) == [None, record(1), record(2, visits=5), record(3), record(4), None]
    assert len(records) == 4
    records.put([record(4, visits=1), record(1, visits=2), record(5)])
    records.put([record(3, visits=3), record(1, visits=4)])
    urls = [record(number).url for number in range(7)]
    kept = [(1, 4), (2, 5), (3, 3), (4, 1), (5, 0)]
    expected = [None, *(record(number, visits) for number, visits in kept), None]
    assert records.get(urls) == expected
    records.forget_recent()
    assert records.get(urls) == expected
    assert len(records) == 5


def test_crafted_collisions_are_bounded(environment: Environment) -> None:
    """Beyond a number of others a URL passes for known and is not kept: work and rows stay bounded."""
    records = DiskUrlRecords(environment, SiteNames(environment), remembered=1, digest=lambda url: bytes(8))
    batch = [record(number) for number in range(50)]
    answers = records.add_new(batch)
    assert answers == [None] * MAX_PROBES + batch[MAX_PROBES:]
    records.put(batch)
    assert len(records) == MAX_PROBES
    assert records.get([batch[-1].url]) == [None]


def test_a_row_that_is_none_of_ours_is_damage(environment: Environment) -> None:
    """What cannot be decoded is said to be damaged, not raised as whatever the decoder raises."""
    names = SiteNames(environment)
    DiskUrlRecords(environment, names).add_new([record(1)])
    ((key, row),) = environment.table("records").walk()
    environment.table("records").put(key, row[:-3])
    with pytest.raises(CollectionDamaged):
        DiskUrlRecords(environment, names).get([record(1).url])


def test_what_is_remembered_is_bounded() -> None:
    """Two generations and no more; what was written last is there, and never an older value of it."""
    recent: Recent[int, str] = Recent(10)
    for number in range(1000):
        recent[number % 37] = str(number)
        assert recent.get(number % 37) == str(number)
        assert len(recent) <= 20
    assert recent.get_all([999 % 37, -1]) == ["999", None]


def test_sites_keep_their_numbers(environment: Environment) -> None:
    """A number is given once, found without the memory of who gave it, and leads back to the name."""
    names = SiteNames(environment, remembered=2)
    sites = [Site(f"s{number}.test") for number in range(9)] + [Site("x" * 700), Site("x" * 701)]
    numbers = [names.number(site) for site in sites]
    assert len(set(numbers)) == len(sites)
    again = SiteNames(environment)
    assert [again.find(site) for site in sites] == numbers
    assert [again.name(number) for number in numbers] == sites
    assert again.find(Site("nobody.test")) is None


def test_rows_of_earlier_versions_are_read() -> None:
    """A field that was added at the end of a record is missing in older rows, and then says nothing."""
    whole = replace(record(1, visits=2), version=b"v", evidence=b"e", blocks=b"b")
    row = decode(pack_record(whole, "/1"))
    assert unpack_record(row, whole.url) == whole
    place = UrlRecord.__struct_fields__.index("blocks")
    assert unpack_record(row[:place], whole.url) == replace(whole, blocks=b"")
    assert unpack_record(row[: place - 1], whole.url) == replace(whole, blocks=b"", evidence=b"")


def test_sites_of_earlier_versions_are_read(environment: Environment) -> None:
    """The same of what is known of a site."""
    sites, fields = DiskSites(environment), SiteState.__struct_fields__
    site = SiteState(Site("a.test"), pages=3, stuck=1, churn=ChurnRecord(1))
    environment.table("sites").put(name_key(site.site), encode(astuple(site)[: fields.index("churn")]))
    assert sites.get([site.site]) == [SiteState(Site("a.test"), pages=3, stuck=1)]
    sites.put([site])
    assert sites.get([site.site]) == [site]


def test_a_site_record_that_no_policy_wrote_is_refused(environment: Environment) -> None:
    """Each part is checked against the policy's type when the record is loaded, a value when it is asked for."""
    sites, fields = DiskSites(environment), SiteState.__struct_fields__
    for name, part in (("balance", b"bytes"), ("traps", ("a",)), ("values", (3,))):
        row = list(astuple(SiteState(Site("a.test"))))
        row[fields.index(name)] = part
        environment.table("sites").put(name_key(Site("a.test")), encode(row))
        with pytest.raises(CollectionDamaged):
            sites.get([Site("a.test")])
        with pytest.raises(CollectionDamaged):
            list(sites)
    row[fields.index(name)] = {"Priorities": (3,)}
    environment.table("sites").put(name_key(Site("a.test")), encode(row))
    (site,) = sites.get([Site("a.test")])
    assert site is not None
    with pytest.raises(CollectionDamaged):
        site.value(Priorities)
