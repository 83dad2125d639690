"""The Berkeley report's algorithm as it is written: its own examples, its failures, and its ties."""

from __future__ import annotations

import random

import pytest
from tests.each_case import each_case

from periplus.apps.ulinks import Sample, Ulink, tree_statistics, ulinks

BIG = [
    *(f"http://big.com/books/fiction/{number}" for number in range(6)),
    *(f"http://big.com/books/bio/{number}" for number in range(4)),
    *(f"http://big.com/music/rock/{number}" for number in range(5)),
    *(f"http://big.com/music/jazz/{number}" for number in range(2)),
    "http://big.com/about",
]
MP3VA = [
    *(f"http://mp3va.com/upcoming/{number}" for number in range(3)),
    *(f"http://mp3va.com/release/{number}" for number in range(100)),
]


def weights(links: list[Ulink]) -> list[tuple[str, float]]:
    return [(link.section.partition("/")[2], link.weight) for link in links]


@each_case(
    ("m", "expected"),
    [
        (2, [("books", 10), ("music", 7), ("about", 1)]),
        (3, [("books", 10), ("music", 7), ("about", 1)]),
        (4, [("music", 7), ("books/fiction", 6), ("books/bio", 4), ("about", 1)]),
        (5, [("books/fiction", 6), ("music/rock", 5), ("books/bio", 4), ("music/jazz", 2), ("about", 1)]),
    ],
)
def test_the_tree_folds_to_as_few_leaves_as_are_allowed(m: int, expected: list[tuple[str, float]]) -> None:
    """The lightest prefix folds first, as long as `m` leaves remain."""
    assert weights(ulinks(BIG, 8, m, exact=True)) == expected


def test_a_long_list_stays_unfolded_where_too_few_leaves_would_remain() -> None:
    """The report's failure on mp3va.com is reproduced, not fixed, by the exact algorithm."""
    found = weights(ulinks(MP3VA, 5, 5, exact=True))
    assert found[:1] == [("upcoming", 3.0)]
    assert [name.partition("/")[0] for name, _ in found[1:]] == ["release"] * 4


def test_the_order_of_the_urls_does_not_matter() -> None:
    """Ties are broken by the tree alone."""
    urls = [f"http://a.com/{x}/{y}/{z}" for x in "abc" for y in "de" for z in "fgh"] + BIG
    shuffled = list(urls)
    random.Random(3).shuffle(shuffled)
    for m in range(1, 12):
        assert ulinks(urls, 20, m, exact=True) == ulinks(shuffled, 20, m, exact=True)


def test_of_equal_weights_the_deeper_folds_first_then_the_one_with_more_children() -> None:
    """Of two candidates with two URLs each, m allows one to fold."""
    urls = ["http://a.com/x/1", "http://a.com/x/2", "http://a.com/y/z/1", "http://a.com/y/z/2"]
    assert weights(ulinks(urls, 8, 3, exact=True)) == [("y", 2), ("x/1", 1), ("x/2", 1)]


def test_hosts_never_fold() -> None:
    """Even if nothing else is left."""
    assert weights(ulinks(["http://a.com/x", "http://a.com/y"], 8, 1, exact=True)) == [("x", 1), ("y", 1)]


def test_heavy_prefixes_of_a_large_site_are_found_in_a_sample() -> None:
    """20,000 of 24,000 URLs make the tree, the same with the same seed, and shares are those of the whole."""
    urls = [f"http://a.com/{'books' if number % 3 else 'music'}/{number}" for number in range(24_000)]
    first, second = (ulinks(iter(urls), 2, 2, exact=True, seed=5) for _ in range(2))
    assert first == second
    assert sum(link.weight for link in first) == 20_000
    assert first[0].section == "a.com/books"
    assert first[0].share == pytest.approx(2 / 3, abs=0.02)


def test_what_is_not_a_url_is_counted_and_left_out() -> None:
    """Lists hold anything."""
    sample = Sample(["http://a.com/x", "mailto:me@a.com", "", "\x00"])
    assert (sample.total, sample.unreadable) == (1, 3)
    assert ulinks([], 8) == ulinks([], 8, exact=True) == []


def test_the_tree_is_counted_by_level() -> None:
    """Level 0 are the hosts."""
    tree = tree_statistics(BIG)
    assert (tree.urls, tree.nodes, tree.leaves, tree.depth) == (18, 25, 18, 3)
    assert tree.nodes_by_level == (1, 3, 4, 17)
    assert tree.leaves_by_level == (0, 1, 0, 17)
    assert tree_statistics([]).nodes == 0
    deep = tree_statistics(["http://a.com/" + "/".join("x" * 402)])
    assert (deep.depth, deep.deeper) == (31, 1)
