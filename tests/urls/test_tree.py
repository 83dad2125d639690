"""The tree of prefixes: weights, bounds, and what counts as a component."""

from __future__ import annotations

import random

from tests.each_case import each_case

from periplus.model import Url
from periplus.urls import UriTree, components


@each_case(
    ("url", "parts"),
    [
        ("http://h/", ["h"]),
        ("http://u:p@h:81/", ["h:81"]),
        ("http://h/a/b", ["h", "a", "b"]),
        ("http://h/a/b/", ["h", "a", "b"]),
        ("http://h/a//b", ["h", "a", "", "b"]),
        ("http://h//", ["h", ""]),
        ("http://h/?q=/x", ["h", "?q=/x"]),
        ("http://h/a/?q", ["h", "a", "?q"]),
    ],
)
def test_components(url: str, parts: list[str]) -> None:
    """Site, segments, query; a slash at the end is not a component."""
    assert components(Url(url)) == parts


def big() -> UriTree:
    """A site of 18 URLs in three sections."""
    tree = UriTree()
    for section, pages in (("books/fiction", 6), ("books/bio", 4), ("music/rock", 5), ("music/jazz", 2)):
        for page in range(pages):
            tree.add(Url(f"http://big.com/{section}/{page}"))
    tree.add(Url("http://big.com/about"))
    return tree


def test_weights_count_the_urls_at_and_below() -> None:
    """Through every prefix go as many URLs as begin with it."""
    tree = big()
    assert tree.root.weight == tree.weight(Url("http://big.com/")) == 18
    assert tree.weight(Url("http://big.com/books/")) == tree.weight(Url("https://big.com/books")) == 10
    assert tree.weight(Url("http://big.com/music/jazz")) == 2
    assert tree.weight(Url("http://big.com/films")) == tree.weight(Url("http://other.com/")) == 0
    about = tree.find(Url("http://big.com/about"))
    assert about is not None
    assert (about.own, about.is_leaf) == (1, True)
    assert sorted(tree.root.children["big.com"].children) == ["about", "books", "music"]


def test_walk_visits_parents_first_and_siblings_in_order() -> None:
    """Every node once, with its components."""
    paths = [path for path, _ in big().walk()]
    assert paths[:4] == [("big.com",), ("big.com", "about"), ("big.com", "books"), ("big.com", "books", "bio")]
    assert paths == sorted(paths)
    assert len(paths) == big().nodes == 1 + 3 + 4 + 17


def test_a_page_with_pages_below_counts_for_itself() -> None:
    """`own` is what ends at a node, and weights are sums of it."""
    tree = UriTree()
    tree.add(Url("http://h/a"), 0.5)
    tree.add(Url("http://h/a/b"), 2.0)
    node = tree.root.children["h"].children["a"]
    assert (node.own, node.weight) == (0.5, 2.5)


def test_depth_is_bounded() -> None:
    """What lies deeper counts at the deepest level."""
    tree = UriTree(max_depth=3)
    for page in range(5):
        tree.add(Url(f"http://h/a/b/c/{page}"))
    assert tree.nodes == 3
    assert tree.cut == 5
    assert tree.weight(Url("http://h/a/b/c/0")) == tree.weight(Url("http://h/a/b")) == 5


def test_nodes_are_bounded_and_weights_stay_true() -> None:
    """A full tree still counts along the nodes it has; only detail is lost, and `cut` tells how often."""
    tree = UriTree(max_nodes=10)
    for page in range(100):
        tree.add(Url(f"http://h/a/{page}"))
    assert tree.nodes == 10
    assert tree.cut == 92
    assert tree.weight(Url("http://h/a")) == 100
    assert tree.weight(Url("http://h/a/7")) == 1


def test_weights_are_the_sums_of_what_ends_below() -> None:
    """For any URLs and any bounds: a node weighs what ends there and what its children weigh."""
    chance = random.Random(7)
    tree = UriTree(max_depth=5, max_nodes=300)
    for _ in range(2000):
        path = "/".join(chance.choice("abc") for _ in range(chance.randrange(8)))
        tree.add(Url(f"http://{chance.choice('xyz')}/{path}"), chance.choice((0.5, 1.0, 2.0)))
    for _, node in tree.walk():
        assert node.weight == node.own + sum(child.weight for child in node.children.values())
