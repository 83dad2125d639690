"""Mirrors: candidates, verification, which host is kept, and what becomes of URLs."""

from __future__ import annotations

from msgspec.structs import replace

from periplus.content import sketch_of
from periplus.model import Accept, Discovery, Reject, Site, Source, Url
from periplus.parts.mirrors.policy import (
    HostFacts,
    HostRule,
    LearntHosts,
    MirrorHosts,
    SitePage,
    better_host,
    candidate_pairs,
    decode_hosts,
    encode_hosts,
    mappings_of,
    path_sketch,
    resemblance,
    rules_of,
    verify,
)
from periplus.parts.mirrors.settings import MirrorSettings
from periplus.policy.duplicates import brief_of

A, B, C = Site("a.org"), Site("b.org"), Site("c.org")
SETTINGS = MirrorSettings()
Pages = dict[str, SitePage]


def pages(count: int, root: str = "/", words: str = "page") -> Pages:
    found = {}
    for number in range(count):
        text = " ".join(f"{words}{number}word{place}" for place in range(40))
        found[f"{root}{number}.html"] = SitePage(brief_of(sketch_of(text)), hash(text))
    return found


def without(original: Pages, every: int) -> Pages:
    missing = SitePage(is_absent=True)
    return {path: page if place % every else missing for place, (path, page) in enumerate(original.items())}


def discovered(url: str, source: Source = Source.LINK) -> Discovery:
    return Discovery(Url(url), source, 0.0)


def test_paths_are_estimated() -> None:
    paths = [f"/p/{number}" for number in range(300)]
    one, other = path_sketch(A, paths), path_sketch(B, paths[:285] + [f"/q/{number}" for number in range(15)])
    assert resemblance(one, one) == 1.0
    assert abs(resemblance(one, other) - 285 / 315) < 0.12
    assert candidate_pairs([one, other, path_sketch(C, ["/x", "/y", "/z", "/v", "/w"])]) == [(A, B)]


def test_hosts_with_few_paths_are_no_candidates() -> None:
    few = [path_sketch(site, ["/", "/a"]) for site in (A, B)]
    assert candidate_pairs(few) == []
    assert candidate_pairs(few, [(A, B)]) == []


def test_a_mirror_may_lack_some_pages() -> None:
    original = pages(100)
    found = verify((A, original), (B, without(original, 20)), ("/", "/"), SETTINGS)
    assert found is not None
    assert (found.compared, found.alike, found.absent) == (95, 95, 5)
    assert verify((A, original), (B, without(original, 5)), ("/", "/"), SETTINGS) is None


def test_the_same_paths_with_other_texts_are_no_mirror() -> None:
    assert verify((A, pages(50)), (B, pages(50, words="other")), ("/", "/"), SETTINGS) is None


def test_one_page_everywhere_is_no_mirror() -> None:
    only = next(iter(pages(1).values()))
    everywhere = {f"/{number}": only for number in range(50)}
    assert verify((A, everywhere), (B, everywhere), ("/", "/"), SETTINGS) is None


def test_roots_are_voted_for() -> None:
    shared = [(f"/docs/x/{number}.html", f"/x/{number}.html") for number in range(5)]
    assert mappings_of(shared)[0] == ("/docs/", "/")
    found = verify((A, pages(30, "/docs/")), (B, pages(30)), ("/docs/", "/"), SETTINGS)
    assert found is not None
    assert not found.is_whole


def test_the_better_host_is_kept() -> None:
    www, apex = Site("www.a.org"), A
    assert better_host(www, apex, {www: HostFacts(trust=0.9), apex: HostFacts(is_listed=True)}) == apex
    assert better_host(www, apex, {www: HostFacts(trust=0.9)}) == www
    assert better_host(A, B, {B: HostFacts(referrers=2), A: HostFacts(referrers=1)}) == B
    assert better_host(Site("long.org"), A, {}) == A


def test_mirrors_of_one_host_are_renamed_to_it() -> None:
    found = verify((A, pages(30)), (B, pages(30)), ("/", "/"), SETTINGS)
    assert found is not None
    rules = rules_of([found, replace(found, other=C), replace(found, one=B, other=C)], {})
    assert rules == [HostRule(B, "/", A, "/"), HostRule(C, "/", A, "/")]


def test_urls_of_mirrors_are_renamed_but_for_a_fiftieth() -> None:
    hosts = MirrorHosts()
    learnt = LearntHosts((HostRule(B, "/", A, "/"), HostRule(C, "/docs/", A, "/d/")), ("parked.org",))
    hosts.load(decode_hosts(encode_hosts(learnt)))
    urls = [Url(f"http://b.org/{number}?x=1") for number in range(2000)]
    kept = [url for url in urls if hosts.renamed(url) is None]
    assert 10 < len(kept) < 80
    renamed = next(url for url in urls if url not in kept)
    assert hosts.renamed(renamed) == renamed.replace("b.org", "a.org")
    assert hosts.renamed(Url("http://c.org/other")) is None
    docs = [hosts.renamed(Url(f"https://c.org/docs/{number}")) for number in range(3)]
    assert "https://a.org/d/1" in docs
    assert [each.url for each in hosts.renamed_all([discovered(renamed), discovered(renamed, Source.SEED)])] == [
        renamed.replace("b.org", "a.org"),
        renamed,
    ]


def test_waiting_urls_are_refused_and_found_by_their_other_name() -> None:
    hosts = MirrorHosts(MirrorSettings(probing=0.0))
    hosts.load(LearntHosts((HostRule(B, "/", A, "/"),), ("parked.org",)))
    assert hosts.reconsider(discovered("http://b.org/x")) == Reject("mirror", "mirror of a.org")
    assert [each.url for each in hosts.drain_renamed()] == ["http://a.org/x"]
    assert hosts.drain_renamed() == []
    assert hosts.reconsider(discovered("http://b.org/x", Source.SEED)) == Accept()
    assert hosts.reconsider(discovered("http://parked.org/x")) == Reject("parked", "domain parked.org")
    assert hosts.reconsider(discovered("http://parked.org/")) == Accept()
