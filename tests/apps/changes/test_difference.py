"""What differs between two texts: readable, complete, and bounded whatever the texts are."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from periplus.apps.changes import Difference, RunStatus, diff
from periplus.apps.changes.difference import Budget, matches, pieces_of, words_of


def marked(difference: Difference) -> str:
    """A difference on one line: [-removed-], {+added+}, | between passages, ... where something is left out."""
    signs = {RunStatus.KEPT: ("", ""), RunStatus.REMOVED: ("[-", "-]"), RunStatus.ADDED: ("{+", "+}")}
    said = []
    for passage in difference.passages:
        runs = "".join(f"{signs[run.mark][0]}{run.text}{signs[run.mark][1]}" for run in passage.runs)
        said.append(runs if passage.follows else f"...{runs}")
    return "|".join(said)


def test_words_within_a_sentence() -> None:
    """Only the words that differ are marked."""
    found = diff("The cat sat on the mat.", "The cat sat on the red mat.")
    assert marked(found) == "The cat sat on the {+red +}mat."
    assert (found.removed, found.added, found.before, found.after) == (0, 1, 6, 7)
    assert round(found.size, 3) == round(1 / 13, 3)


def test_lines_that_come_and_go() -> None:
    """With one line around them, and a sign where others are left out."""
    old = "One.\nTwo.\nThree.\nFour.\nFive.\nSix.\nSeven."
    new = "One.\nTwo.\nNewly written line.\nThree.\nFour.\nFive.\nSix."
    assert marked(diff(old, new)) == "...Two.|{+Newly written line.+}|Three.|...Six.|[-Seven.-]"
    assert diff(old, old).passages == ()
    assert diff(old, old).size == 0.0


def test_what_moved_is_removed_and_added() -> None:
    """A difference is in the order of the text."""
    found = diff("Alpha line here.\nBeta line there.", "Beta line there.\nAlpha line here.")
    assert found.removed == found.added == 3


def test_clocks_and_counters_do_not_differ() -> None:
    """As when a crawl judges a change."""
    assert diff("Updated at 12:30\n17 comments", "Updated at 14:05\n18 comments").size == 0.0


def test_words_the_same_by_chance_are_not_islands() -> None:
    """Two phrases of which one word happens to be the same are two phrases."""
    old = "Our shop is closed for the long winter holidays until further notice and always will be so."
    new = "Our shop is open every day during the bright summer season and always will be so."
    assert "[-closed for the long winter holidays until further notice -]" in marked(diff(old, new))


def test_scripts_without_spaces() -> None:
    """Characters are words there."""
    assert marked(diff("東京は晴れです。", "東京は雨です。")) == "東京は[-晴れ-]{+雨+}です。"


def test_a_text_without_lines_or_sentences_is_cut_where_it_says_so() -> None:
    """What is inserted at the beginning moves no other piece."""
    words = [f"word{number}" for number in range(3000)]
    old, new = pieces_of(" ".join(words)), pieces_of(" ".join(["inserted", "words", *words]))
    assert len(old) > 20
    assert len(set(old) - set(new)) <= 1


def test_hostile_texts_are_bounded() -> None:
    """Nothing here is quadratic for long: what is too much counts as different."""
    for old, new in (
        ("a b " * 3_000, "b a " * 3_000),
        ("x\n" * 8_000, "y\nx\n" * 4_000),
        ("a" * 250_000, "b" * 250_000),
        ("漢字" * 8_000, "字漢" * 8_000),
    ):
        found = diff(old, new)
        assert 0.0 <= found.size <= 1.0


def test_a_budget_that_is_spent_finds_less_and_nothing_wrong() -> None:
    """Pairs are equal and in order, with any budget."""
    old, new = list("abcabcabc" * 20), list("cbacbacba" * 20)
    sizes = []
    for steps in (0, 100, 1_000, 1_000_000):
        pairs = matches(old, new, Budget(steps))
        assert all(old[left] == new[right] for left, right in pairs)
        assert pairs == sorted(set(pairs))
        assert len({right for _, right in pairs}) == len(pairs)
        sizes.append(len(pairs))
    assert sizes == sorted(sizes)
    assert sizes[-1] > 60


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd")))
def test_matches_are_common_subsequences(old: list[str], new: list[str]) -> None:
    """Whatever is put in: increasing on both sides, equal on both sides."""
    pairs = matches(old, new, Budget(10_000))
    assert all(old[left] == new[right] for left, right in pairs)
    assert all(one[0] < two[0] and one[1] < two[1] for one, two in pairwise(pairs))


@given(st.text(alphabet="ab .\n!漢", max_size=200), st.text(alphabet="ab .\n!漢", max_size=200))
def test_a_difference_accounts_for_every_word(old: str, new: str) -> None:
    """Words before, less those removed, are words after, less those added; and the other way round it is the same."""
    found = diff(old, new)
    assert found.before - found.removed == found.after - found.added
    assert found.before == sum(len([word for word in words_of(piece) if word[0].isalnum()]) for piece in pieces_of(old))


@given(st.text(max_size=300))
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    """Whatever it is."""
    found = diff(text, text)
    assert found.size == 0.0
    assert found.passages == ()
