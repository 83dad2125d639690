"""Folding by a heap is the algorithm as it is written: at every step the lightest of all candidates."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hypothesis_depth import examples

from periplus.apps.ulinks import Listed, ulinks
from periplus.apps.ulinks.branches import Branch, Path, grown, shown
from periplus.apps.ulinks.choosing import fold

parts = st.sampled_from(["a", "b", "c", "1", "2"])
paths = st.lists(
    st.tuples(st.sampled_from(["x.test", "www.x.test"]), st.lists(parts, min_size=1, max_size=4)).map(
        lambda pair: (pair[0], *pair[1])
    ),
    min_size=1,
    max_size=30,
    unique=True,
)


def folded_step_by_step(root: Branch, m: int) -> set[Path]:
    """The report's words: of all candidates the smallest, until there is none."""
    while True:
        nodes = list(shown(root))
        leaves = sum(node.is_leaf for node in nodes)
        candidates = [
            node for node in nodes
            if not node.is_leaf and not node.is_site and all(child.is_leaf for child in node.children.values())
            and leaves - len(node.children) + 1 >= m
        ]  # fmt: skip
        if not candidates:
            return {node.path for node in nodes if node.is_leaf}
        least = min(candidates, key=lambda node: (node.weight, -len(node.path), -len(node.children), node.path))
        least.is_folded = True


@given(paths, st.integers(1, 12))
def test_the_heap_folds_what_the_report_folds(urls: list[Path], m: int) -> None:
    """The same leaves remain, whatever the tree; and no weight is lost."""
    root, other = grown((url, 1.0) for url in urls), grown((url, 1.0) for url in urls)
    fold(root, m)
    found = [node for node in shown(root) if node.is_leaf]
    assert {node.path for node in found} == folded_step_by_step(other, m)
    inside = sum(node.own for node in shown(root) if not node.is_leaf)
    assert sum(node.pages for node in found) + inside == len(urls)


@given(paths, st.integers(1, 8))
@settings(max_examples=examples(15))
def test_links_are_pages_that_are_listed_each_once(urls: list[Path], k: int) -> None:
    """Whatever is folded and gathered: at most k, in no other order than their worth, and the same for any order."""
    listed = [Listed("http://" + "/".join(path)) for path in urls]
    found = ulinks(listed, k)
    assert len(found) <= k
    assert {link.url for link in found} <= {one.url for one in listed}
    assert len({link.section for link in found}) == len(found)
    assert found == ulinks(listed[::-1], k)
    assert sum(link.share for link in found) <= 1.0 + 1e-9
