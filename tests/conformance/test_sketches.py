"""What every `Sketches` promises: pages that say nearly the same are put together, and others are not."""

from __future__ import annotations

from random import Random

from periplus.content import sketch_of
from periplus.model import Sketched, Url
from periplus.store import State

WORDS = [f"word{number}" for number in range(5_000)]


def text(seed: int, words: int = 300) -> list[str]:
    return Random(seed).choices(WORDS, k=words)


def edited(words: list[str], seed: int, edits: int) -> list[str]:
    """The same with some words replaced: each takes up to four shingles of 297 with it."""
    random, changed = Random(seed), list(words)
    for place in random.sample(range(len(words)), edits):
        changed[place] = f"other{seed}x{place}"
    return changed


def page(name: str, words: list[str], **claims: object) -> Sketched:
    return Sketched(Url(f"https://{name}"), sketch_of(" ".join(words)), **claims)  # type: ignore[arg-type]


def test_a_page_alone_is_its_own_canonical(state: State) -> None:
    """The first to say something is not a copy, nor is who says something else."""
    first, second = state.sketches.add([page("a.test/1", text(1)), page("a.test/2", text(2))])
    assert first is not None
    assert second is not None
    assert (first.canonical, first.size, first.likeness, first.is_copy) == ("https://a.test/1", 1, 1.0, False)
    assert (second.canonical, second.size, second.is_copy) == ("https://a.test/2", 1, False)
    assert first.cluster != second.cluster
    assert len(state.sketches) == 2


def test_near_copies_are_put_together(state: State) -> None:
    """On the same site and on another; who comes later is the copy, in one batch and in the next."""
    words = text(1)
    first, near = state.sketches.add([page("a.test/1", words), page("a.test/2", edited(words, 1, 2))])
    (mirror,) = state.sketches.add([page("b.test/1", words)])
    assert first is not None
    assert near is not None
    assert mirror is not None
    assert near.cluster == mirror.cluster == first.cluster
    assert [first.is_copy, near.is_copy, mirror.is_copy] == [False, True, True]
    assert 0.9 <= near.likeness < 1.0
    assert (mirror.size, mirror.likeness) == (3, 1.0)
    assert len(state.sketches) == 1


def test_half_the_text_is_not_enough(state: State) -> None:
    """Pages that share a frame are not copies."""
    words = text(1)
    one, other = state.sketches.add([page("a.test/1", words), page("a.test/2", words[:150] + text(2, 150))])
    assert one is not None
    assert other is not None
    assert one.cluster != other.cluster


def test_a_list_in_another_order_is_the_same_list(state: State) -> None:
    """Four fifths of the shingles are enough on one site where all links are the same, and not otherwise."""
    items = [text(number, 30) for number in range(12)]
    first = page("a.test/list", [word for item in items for word in item], links=7)
    rest = [word for place in (3, 1, 4, 0, 5, 9, 2, 6, 8, 7, 11, 10) for word in items[place]]
    kin, stranger, mirror = (page("a.test/s", rest, links=7), page("a.test/t", rest), page("b.test/", rest, links=7))
    for each, size in ((mirror, 1), (stranger, 1), (kin, 2)):
        state.sketches.remove([Url("https://b.test/"), Url("https://a.test/t")])
        state.sketches.add([first])
        (placed,) = state.sketches.add([each])
        assert placed is not None
        assert placed.size == size


def test_nothing_to_say_is_not_a_cluster(state: State) -> None:
    """Pages without a text, or with hardly one, are not copies of each other."""
    thin = ["please", "enable", "scripts", "to", "see", "this", "page"]
    placed = state.sketches.add([page("a.test/1", []), page("a.test/2", []), page("a.test/3", thin)])
    assert placed == [None, None, None]
    assert state.sketches.get([Url("https://a.test/3")]) == [None]
    assert len(state.sketches) == 0


def test_what_changes_little_stays(state: State) -> None:
    """A page that comes again is not a copy of itself, and is counted once."""
    words = text(1)
    for version in (words, words, edited(words, 3, 2)):
        (placed,) = state.sketches.add([page("a.test/1", version)])
        assert placed is not None
        assert (placed.size, placed.is_copy) == (1, False)
    assert len(state.sketches) == 1


def test_who_says_something_else_leaves(state: State) -> None:
    """Its cluster lives on while others are in it; a copy that comes again is then the original."""
    words = text(1)
    state.sketches.add([page("a.test/1", words), page("a.test/2", words), page("a.test/3", words)])
    (moved,) = state.sketches.add([page("a.test/1", text(9))])
    assert moved is not None
    assert (moved.size, moved.is_copy, moved.canonical) == (1, False, "https://a.test/1")
    again, other = state.sketches.add([page("a.test/2", words), page("a.test/3", words)])
    assert again is not None
    assert other is not None
    assert (again.size, again.is_copy, other.is_copy, other.canonical) == (2, False, True, "https://a.test/2")
    assert len(state.sketches) == 2


def test_an_empty_cluster_is_forgotten(state: State) -> None:
    """A text that is no longer on a page makes no copies."""
    state.sketches.add([page("a.test/1", text(1))])
    state.sketches.add([page("a.test/1", text(2))])
    assert len(state.sketches) == 1
    (placed,) = state.sketches.add([page("a.test/2", text(1))])
    assert placed is not None
    assert (placed.size, placed.is_copy) == (1, False)


def test_pages_that_are_gone_are_taken_out(state: State) -> None:
    """And those that never were do not matter."""
    words = text(1)
    state.sketches.add([page("a.test/1", words), page("a.test/2", words)])
    state.sketches.remove([Url("https://a.test/1"), Url("https://a.test/1"), Url("https://x.test/")])
    gone, left = state.sketches.get([Url("https://a.test/1"), Url("https://a.test/2")])
    assert gone is None
    assert left is not None
    assert (left.size, left.canonical) == (1, "https://a.test/2")
    state.sketches.remove([Url("https://a.test/2")])
    assert len(state.sketches) == 0


def test_the_best_claim_makes_the_canonical_url(state: State) -> None:
    """Listed, else named by another, else worth most, else shortest, else first."""
    words = text(1)
    steps = [
        (page("a.test/long/name", words), "https://a.test/long/name"),
        (page("a.test/b", words), "https://a.test/b"),
        (page("a.test/a", words), "https://a.test/a"),
        (page("a.test/worth/much", words, worth=2.0), "https://a.test/worth/much"),
        (page("a.test/print", words, canonical=Url("https://a.test/long/name")), "https://a.test/long/name"),
        (page("a.test/listed", words, is_listed=True), "https://a.test/listed"),
        (page("a.test/c", words, worth=9.0), "https://a.test/listed"),
    ]
    for each, expected in steps:
        (placed,) = state.sketches.add([each])
        assert placed is not None
        assert placed.canonical == expected


def test_a_page_that_is_listed_later_makes_the_canonical_url(state: State) -> None:
    """Also one that is no longer known by name in a large cluster; what a page says of itself is still known."""
    words = text(1)
    crowd = [page(f"a.test/{number}", words, worth=1.0) for number in range(20)]
    odd = page("a.test/odd/name", words, canonical=Url("https://a.test/1"))
    state.sketches.add([page("b.test/", text(2)), odd, *crowd])
    state.sketches.mark_listed([odd.url, Url("https://b.test/"), Url("https://x.test/")])
    state.commit()
    placed, first, alone, unknown = state.sketches.get(
        [odd.url, crowd[0].url, Url("https://b.test/"), Url("https://x/")]
    )
    assert placed is not None
    assert first is not None
    assert alone is not None
    assert unknown is None
    assert placed.canonical == first.canonical == odd.url
    assert (placed.size, alone.canonical) == (21, "https://b.test/")


def test_what_a_page_says_of_its_own_name_is_known(state: State) -> None:
    """From the first on, and as it last said."""
    name = Url("https://a.test/1")
    (placed,) = state.sketches.add([page("a.test/2", text(1), canonical=name)])
    assert placed is not None
    assert placed.names == name
    assert state.sketches.get([Url("https://a.test/2")]) == [placed]
    (again,) = state.sketches.add([page("a.test/2", text(1))])
    assert again is not None
    assert again.names is None


def test_a_chain_is_not_a_cluster(state: State) -> None:
    """Each resembles the one before; those at the ends do not, and are not dragged together."""
    words, clusters = text(1), set()
    for number in range(40):
        (placed,) = state.sketches.add([page(f"a.test/{number}", words)])
        assert placed is not None
        clusters.add(placed.cluster)
        words = edited(words, number, 3)
    assert len(clusters) >= 5


def test_a_crowd_of_strangers_stays_apart(state: State) -> None:
    """Many pages that share half their text are not a cluster, and copies among them are found all the same."""
    frame = text(0, 150)
    placed = state.sketches.add([page(f"a.test/{n}", frame + text(n + 1, 150)) for n in range(200)])
    assert len({each.cluster for each in placed if each is not None}) == 200
    copies = state.sketches.add([page(f"b.test/{n}", frame + text(n + 1, 150)) for n in range(200)])
    assert [one.cluster for one in copies if one] == [one.cluster for one in placed if one]


def test_many_copies_are_bounded(state: State) -> None:
    """A cluster knows few of its members by name and counts all."""
    words = text(1)
    state.sketches.add([page(f"a.test/{number:04}", words) for number in range(500)])
    (placed,) = state.sketches.get([Url("https://a.test/0499")])
    assert placed is not None
    assert (placed.size, placed.canonical, placed.is_copy) == (500, "https://a.test/0000", True)
