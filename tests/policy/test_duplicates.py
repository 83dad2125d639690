"""Near-duplicates: what two sketches say of each other, what a cluster is called, whom to believe."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from tests.each_case import each_case

from periplus.content import resemblance, sketch_of
from periplus.model import Site, Sketched, Url
from periplus.policy.duplicates import (
    MAX_KEPT,
    Belief,
    Hint,
    HintKind,
    HintTarget,
    are_thin,
    band_keys,
    believe,
    brief_of,
    canonical,
    founded,
    joined,
    left,
    likenesses,
    rows_of,
)
from periplus.policy.settings import DuplicateSettings

SITE = Site("a.test")
HOME, PAGE, OTHER = Url("https://a.test/"), Url("https://a.test/page"), Url("https://a.test/other")
AWAY = Url("https://b.test/page")


def text(seed: int, words: int) -> str:
    return " ".join(f"w{Random(seed * 10_007 + place).randrange(3_000)}" for place in range(words))


@each_case("share", [0.0, 0.5, 0.9, 0.97, 1.0])
def test_a_brief_tells_what_a_sketch_tells(share: float) -> None:
    """A quarter of the bytes, and hardly another answer."""
    words = 1_000
    one = text(1, words)
    other = " ".join(one.split()[: int(share * words)]) + " " + text(2, words - int(share * words))
    a, b = sketch_of(one), sketch_of(other)
    (found,) = likenesses(brief_of(a), [brief_of(b)])
    assert found == pytest.approx(resemblance(a, b), abs=0.03)


def test_bands_are_shared_as_the_formula_says() -> None:
    """1 - (1 - J^8)^16, over random briefs that agree in a share J of their bytes."""
    random = np.random.default_rng(1)
    for likeness, expected in ((0.5, 0.061), (0.7, 0.613), (0.8, 0.947), (0.9, 0.9999)):
        one = random.integers(0, 256, (4_000, 128), np.uint8)
        other = np.where(random.random(one.shape) < likeness, one, one + np.uint8(1))
        shared = (band_keys(one) == band_keys(other)).any(axis=1).mean()
        assert shared == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(("words", "is_thin"), [(0, True), (1, True), (8, True), (15, True), (40, False), (900, False)])
def test_hardly_a_text_is_thin(words: int, is_thin: bool) -> None:
    """About twenty words are too few to say that pages are nearly the same."""
    rows = rows_of([brief_of(sketch_of(text(seed, words))) for seed in range(20)])
    assert are_thin(rows, DuplicateSettings()).tolist() == [is_thin] * 20


def test_what_is_not_a_sketch_is_thin() -> None:
    """Whatever a table or a caller holds."""
    rows = rows_of([brief_of(b"short"), brief_of(b"x" * 600)])
    assert are_thin(rows, DuplicateSettings()).tolist() == [True, True]


def page(url: str, *, is_listed: bool = False, worth: float = 0.0, names: str | None = None) -> Sketched:
    return Sketched(Url(url), b"", is_listed, worth, Url(names) if names else None)


def test_votes_are_kept_when_voters_leave() -> None:
    """Whom a member named stays named; who names itself or a stranger changes nothing."""
    cluster = founded(page("https://a.test/long-name"), SITE)
    cluster = joined(cluster, page("https://a.test/x", names="https://a.test/x"), is_new=True)
    cluster = joined(cluster, page("https://a.test/y", names="https://b.test/"), is_new=True)
    assert canonical(cluster) == "https://a.test/x"
    cluster = joined(cluster, page("https://a.test/z", names="https://a.test/long-name"), is_new=True)
    assert canonical(cluster) == "https://a.test/long-name"
    cluster = left(cluster, Url("https://a.test/z"), was_first=False)
    assert canonical(cluster) == "https://a.test/long-name"
    assert cluster.size == 3


def test_a_vote_may_come_before_its_target() -> None:
    """A printable version is often met before the page that it names."""
    cluster = founded(page("https://a.test/p", names="https://a.test/article"), SITE)
    assert canonical(joined(cluster, page("https://a.test/article"), is_new=True)) == "https://a.test/article"


def test_the_best_members_are_kept() -> None:
    """Whatever the order in which they come, and not more than a few."""
    urls = [f"https://a.test/{'x' * length}" for length in range(1, 40)]
    Random(2).shuffle(urls)
    cluster = founded(page(urls[0]), SITE)
    for url in urls[1:]:
        cluster = joined(cluster, page(url), is_new=True)
    assert (len(cluster.members), cluster.size) == (MAX_KEPT, 39)
    assert {each.url for each in cluster.members} == set(sorted(urls, key=len)[:MAX_KEPT])


def test_a_cluster_may_lose_all_that_it_knew() -> None:
    """Then it has no name, until a member comes again."""
    cluster = joined(founded(page("https://a.test/1"), SITE), page("https://a.test/2"), is_new=True)
    cluster = left(left(cluster, Url("https://a.test/1"), was_first=True), Url("https://a.test/2"), was_first=False)
    assert (canonical(cluster), cluster.size, cluster.has_first) == (None, 0, False)


NAMED, GOOD, NOW = HintKind.CANONICAL, HintKind.MOVED_FOR_GOOD, HintKind.MOVED_FOR_NOW


@each_case(
    ("hint", "target", "belief"),
    [
        (Hint(PAGE, PAGE, NAMED), HintTarget(), Belief(True, "names-itself")),
        (Hint(PAGE, OTHER, NAMED), HintTarget(is_asked=True, is_like=True), Belief(True, "same-text")),
        (Hint(PAGE, AWAY, NAMED), HintTarget(is_asked=True, is_like=True), Belief(True, "same-text")),
        (Hint(PAGE, OTHER, NAMED), HintTarget(is_asked=True, is_like=False), Belief(False, "other-text")),
        (Hint(PAGE, OTHER, NAMED), HintTarget(is_asked=True, is_gone=True), Belief(False, "target-is-gone")),
        (Hint(PAGE, OTHER, NAMED), HintTarget(is_asked=True, names=AWAY), Belief(False, "target-points-on")),
        (Hint(PAGE, OTHER, NAMED), HintTarget(is_asked=True, is_like=True, names=OTHER), Belief(True, "same-text")),
        (Hint(PAGE, OTHER, NAMED), HintTarget(), Belief(True, "not-read-yet")),
        (Hint(PAGE, HOME, NAMED), HintTarget(), Belief(False, "names-home-page")),
        (Hint(PAGE, AWAY, NAMED), HintTarget(), Belief(False, "elsewhere")),
        (Hint(PAGE, AWAY, GOOD), HintTarget(), Belief(True, "moved-for-good")),
        (Hint(PAGE, AWAY, GOOD), HintTarget(is_asked=True, is_gone=True), Belief(False, "target-is-gone")),
        (Hint(PAGE, AWAY, NOW), HintTarget(is_asked=True, is_like=True), Belief(False, "moved-for-now")),
    ],
)
def test_hints_can_be_wrong(hint: Hint, target: HintTarget, belief: Belief) -> None:
    """Each row of the table in the module."""
    assert believe(hint, target) == belief
