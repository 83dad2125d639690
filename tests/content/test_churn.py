"""Parts that differ at every visit are learnt, site by site, and changes in them alone do not count."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.each_case import each_case

from periplus.content import Churn, ChurnRecord, ChurnSettings, RawPage, read_pages, settled_level
from periplus.content.churn import MAX_BLOCKS, MAX_WAYS, Block, pack, unpack
from periplus.model import ChangeLevel


def blocks_of(html: bytes) -> bytes:
    return read_pages([RawPage(html, "http://h.example/", "text/html; charset=utf-8", wants_blocks=True)])[0].blocks


def page(story: str, quote: str = "", related: tuple[str, ...] = (), nav: str = "/about") -> bytes:
    """A page of a site with a quotation of the day and other stories, which are different each time."""
    items = "".join(f'<li class="r-{number}"><a href="/{name}">{name}</a></li>' for number, name in enumerate(related))
    return (
        f'<nav><a href="{nav}">About us</a></nav><main><article class="post-17">{story}</article>'
        f'<div class="quote x81723bc6612">{quote}</div><ul class="related">{items}</ul></main>'
    ).encode()


def story(topic: str, words: int = 60) -> str:
    return f"<h1>{topic}</h1><p>{' '.join(f'{topic}{number}' for number in range(words))}</p>"


def taught(pairs: int = 6) -> Churn:
    """A site whose pages were each fetched twice in a row."""
    churn = Churn()
    for number in range(pairs):
        old = page(story(f"t{number}"), f"Saying number {number} of many", ("one", "two"))
        new = page(story(f"t{number}"), f"Another one, {number * 7}", ("three", f"x{number}"))
        churn.observe(blocks_of(old), blocks_of(new))
    return churn


def test_what_differed_each_time_is_left_out() -> None:
    """On a page that was never seen before, a new quotation and other links beside the story are not a change."""
    churn = taught()
    old, new = page(story("fresh"), "Time flies", ("a", "b")), page(story("fresh"), "Art is long", ("c", "d"))
    assert churn.settles(blocks_of(old), blocks_of(new))
    assert settled_level(ChangeLevel.MAJOR, churn, blocks_of(old), blocks_of(new), is_heading_same=True) is (
        ChangeLevel.RAW_ONLY
    )


@each_case(
    "new",
    [
        page(story("other"), "Art is long", ("c", "d")),
        page(story("fresh"), "Art is long", ("c", "d"), nav="/contact"),
        page(story("fresh") + "<p>Correction: it was not so.</p>", "Art is long", ("c", "d")),
    ],
)
def test_what_else_differs_still_counts(new: bytes) -> None:
    """Another story, another link in the navigation, a paragraph more."""
    old = page(story("fresh"), "Time flies", ("a", "b"))
    churn = taught()
    assert not churn.settles(blocks_of(old), blocks_of(new))
    assert settled_level(ChangeLevel.MAJOR, churn, blocks_of(old), blocks_of(new), is_heading_same=True) is (
        ChangeLevel.MAJOR
    )


def test_a_title_is_not_churn() -> None:
    """What else is known to differ is not undone; nor is a change made of what was none."""
    churn = taught()
    old, new = blocks_of(page(story("a"), "x")), blocks_of(page(story("a"), "y"))
    assert settled_level(ChangeLevel.MAJOR, churn, old, new, is_heading_same=False) is ChangeLevel.MAJOR
    assert settled_level(ChangeLevel.SAME, churn, old, new, is_heading_same=True) is ChangeLevel.SAME
    assert settled_level(ChangeLevel.MINOR, churn, b"", new, is_heading_same=True) is ChangeLevel.MINOR


def test_four_comparisons_are_not_enough() -> None:
    """It takes five; and a block that was the same in a third of them is content."""
    old, new = blocks_of(page(story("a"), "x")), blocks_of(page(story("a"), "y"))
    churn = Churn()
    for _ in range(4):
        churn.observe(old, new)
    assert not churn.settles(old, new)
    churn.observe(old, new)
    assert churn.settles(old, new)
    for _ in range(3):
        churn.observe(old, old)
    assert not churn.settles(old, new)


def front(first: int, items: int = 12) -> bytes:
    """A page with an introduction that stays, and the latest of many stories."""
    titles = [f"/the-story-number-{(number * 7919) % 10_007}" for number in range(first, first + items)]
    return page(story("welcome", 200), "", tuple(titles))


def test_moving_list_is_not_churn_but_a_reshuffled_one_is() -> None:
    """News of which some were there at the last visit are what a page is about; nothing lasts of what is by chance."""
    moving, drawn = Churn(), Churn()
    for number in range(20):
        moving.observe(blocks_of(front(4 * number)), blocks_of(front(4 * number + 4)))
        drawn.observe(blocks_of(front(100 * number)), blocks_of(front(100 * number + 100)))
    pair = blocks_of(front(5000)), blocks_of(front(5004))
    assert moving.parts == 0
    assert not moving.settles(*pair)
    assert drawn.parts > 0
    assert drawn.settles(*pair)


def test_two_visits_in_a_row_teach_noise_and_nothing_else() -> None:
    """What differs is noise, even if most of it is there again in another order; what is the same may yet differ."""
    old, new = (
        blocks_of(page(story("a"), "x", ("1", "2", "3", "4"))),
        blocks_of(page(story("a"), "x", ("2", "1", "4", "3"))),
    )
    churn, slow = Churn(), Churn()
    for _ in range(5):
        churn.observe(old, new, is_instant=True)
    assert churn.settles(old, new)
    other = blocks_of(page(story("a"), "y", ("1", "2", "3", "4")))
    for _ in range(30):
        slow.observe(old, old, is_instant=True)
    for _ in range(5):
        slow.observe(old, other)
    assert slow.settles(old, other)


def test_a_server_that_says_that_nothing_changed_speaks_for_the_content_alone() -> None:
    """It keeps rare changes from looking like churn; but of churn, validators know nothing."""
    old, quoted = blocks_of(page(story("a"), "x")), blocks_of(page(story("a"), "y"))
    rewritten = blocks_of(page(story("a", 10) + "<h2>b</h2>", "x"))
    churn = Churn()
    for _ in range(5):
        churn.observe(old, quoted)
    for _ in range(50):
        churn.observe_unmodified(old)
    assert churn.settles(old, quoted)
    for _ in range(10):
        churn.observe(old, rewritten)
    assert churn.parts == 1
    assert churn.compared == 65


def test_what_blocks_do_not_see_they_do_not_settle() -> None:
    """Where the blocks are the same and the page is not, it is unknown what changed."""
    churn = taught()
    same = blocks_of(page(story("a"), "x"))
    assert settled_level(ChangeLevel.MAJOR, churn, same, same, is_heading_same=True) is ChangeLevel.MAJOR


def test_a_header_is_content_where_it_is_the_head_of_the_story() -> None:
    """As it is main text there, and not at the top of every page."""
    within, without = (
        "<article><header><h1>%s</h1></header>x</article>",
        "<header><h1>%s</h1></header><article>x</article>",
    )
    assert blocks_of((within % "One").encode()) != blocks_of((within % "Two").encode())
    assert blocks_of((without % "One").encode()) == blocks_of((without % "Two").encode())


@given(st.lists(st.tuples(st.integers(0, 999), st.integers(0, 999), st.booleans()), max_size=40), st.integers(1, 40))
def test_it_does_not_matter_when_it_is_packed(pairs: list[tuple[int, int, bool]], every: int) -> None:
    """Who goes through the same visits again, in other portions, learns the same."""
    blocks = [
        pack([Block(1 + (seed * 31 + n * 97) % 1_500, seed, 5, seed % 256) for n in range(60)]) for seed in range(10)
    ]
    one, other = Churn(), Churn()
    for number, (old, new, is_instant) in enumerate(pairs):
        one.observe(blocks[old % 10], blocks[new % 10], is_instant=is_instant)
        other.observe(blocks[old % 10], blocks[new % 10], is_instant=is_instant)
        if number % every == 0:
            other = Churn(record=other.record)
    assert one.record == other.record


def test_a_page_that_is_all_churn_is_not_masked() -> None:
    """What a front page is about changes at every visit: masking it would blind us."""
    front = [page("", "", tuple(f"story-{number}-{place}" for place in range(40))) for number in range(8)]
    churn = Churn()
    for old, new in pairwise(front):
        churn.observe(blocks_of(old), blocks_of(new))
    assert not churn.settles(blocks_of(front[0]), blocks_of(front[1]))


def test_clocks_are_not_content_of_blocks() -> None:
    """They are masked by their looks, here as elsewhere."""
    assert blocks_of(page("<p>At 12:30 o'clock</p>")) == blocks_of(page("<p>At 14:59 o'clock</p>"))
    assert blocks_of(page("<p>At noon</p>")) != blocks_of(page("<p>At night</p>"))


def test_figures_and_made_up_names_are_not_part_of_a_way() -> None:
    """`post-17` and `post-18` are one kind of block; so are classes that a build makes up."""
    one = b'<div class="post-17 css-1x2y3z4a5b6c">text</div>'
    other = b'<div class="post-18 css-9z8y7x6w5v4u">text</div>'
    assert blocks_of(one) == blocks_of(other)
    assert blocks_of(one) != blocks_of(b'<div class="note">text</div>')


def test_memory_is_bounded_and_keeps_what_matters() -> None:
    """However many ways a site has; what differs always outlives what never did."""
    churn = Churn()
    always = Block(0xFFFFFF, 1, 10)
    for number in range(600):
        others = [Block(1 + (number * 17 + place) % 60_000, 1, 10) for place in range(40)]
        churn.observe(pack([always, *others]), pack([Block(always.way, 2 + number % 9, 10, 7), *others]))
    assert len(churn.record.ways) == 5 * MAX_WAYS <= 4_096
    assert churn.is_churn(always.way)
    assert Churn(record=churn.record).is_churn(always.way)
    assert Churn(record=churn.record).record == churn.record


def test_the_first_pairs_of_a_site_are_for_learning() -> None:
    """Until `sample` pages were fetched twice in a row; others do not count, though they are learnt from."""
    churn = Churn(ChurnSettings(sample=3))
    churn.observe(b"", b"")
    for number in range(3):
        assert not churn.is_calibrated
        churn.observe(b"", b"", is_instant=True)
        assert (churn.compared, churn.instants) == (number + 2, number + 1)
    assert churn.is_calibrated
    kept = churn.record
    assert Churn(ChurnSettings(sample=3), kept).is_calibrated
    assert (kept.compared, kept.instants) == (4, 3)
    assert Churn(ChurnSettings(sample=0)).is_calibrated


def test_hostile_pages_are_bounded() -> None:
    """Any number of elements and classes, and any bytes, make a few bytes."""
    many = b"".join(b'<div class="c%c%c">x</div>' % (97 + n % 26, 97 + n // 26 % 26) for n in range(30_000))
    assert len(blocks_of(many[: len(many) // 2])) == 8 * MAX_BLOCKS
    assert blocks_of(many) == b""
    assert blocks_of(b"") == b""
    assert len(blocks_of(b"<p class='" + b"y " * 100_000 + b"'>x")) == 8
    assert MAX_WAYS >= MAX_BLOCKS


@given(st.lists(st.tuples(st.integers(1, 2**24 - 1), st.integers(0, 2**24 - 1), st.integers(0, 10**6)), max_size=64))
def test_blocks_survive_packing(rows: list[tuple[int, int, int]]) -> None:
    """But for the exact number of words."""
    blocks = {way: Block(way, content, words) for way, content, words in rows}
    again = unpack(pack(list(blocks.values())))
    assert [(block.way, block.content) for block in again] == sorted(
        (each.way, each.content) for each in blocks.values()
    )
    for block in again:
        assert block.words == 0 or 0.8 <= block.words / blocks[block.way].words <= 1.25 or blocks[block.way].words < 4


@given(st.binary(max_size=400), st.binary(max_size=400), st.binary(max_size=200))
def test_any_bytes_can_be_looked_at(old: bytes, new: bytes, memory: bytes) -> None:
    """A damaged memory is a bad memory, not a crash."""
    churn = Churn(record=ChurnRecord(1, 1, memory))
    churn.observe(old, new)
    assert not churn.settles(old, old)
    assert len(churn.record.ways) <= 5 * MAX_WAYS
    blocks_of(old)
