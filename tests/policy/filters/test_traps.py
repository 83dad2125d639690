"""Guards that learn: what closes a kind of URL, what opens it again, and what is kept of it."""

from __future__ import annotations

import sys
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from tests.each_case import each_case

from periplus.model import Accept, ConfigError, Discovery, Reject, Site, Source, Url
from periplus.policy.filters import FilterStates, SiteFilterState, Traps, TrapSettings, template_of
from periplus.policy.filters.site_states import MAX_PATHS, MAX_STEPS, Paths, Values, Window
from periplus.policy.filters.templates import directory_of, key_of
from periplus.policy.filters.traps import SECOND_LOOK

SITE = Site("host.net")


def at(path: str) -> Url:
    return Url(f"http://{SITE}{path}")


def link(path: str, source: Source = Source.LINK) -> Discovery:
    return Discovery(at(path), source, 0.0, 1)


def share(traps: Traps, template: str, count: int = 2000) -> float:
    """The share of URLs of a template that is let through."""
    accepted = [traps.judge(link(template.format(number))) == Accept() for number in range(count)]
    return sum(accepted) / count


@each_case(
    ("path", "template"),
    [
        ("/", "/"),
        ("/about/", "/about/"),
        ("/2026/01/03.html", "/#/#/#.html"),
        ("/2026-01-03/x", "/*/x"),
        ("/list-12/", "/list-#/"),
        ("/articles/PMC1670005/", "/articles/PMC#/"),
        ("/dp/B00001A0004", "/dp/*"),
        ("/a/3858f62230ac3c915f300c664312c63f", "/a/*"),
        ("/a/how-to-sail-round-the-world", "/a/*"),
        ("/a/two-words.html", "/a/two-words.html"),
        ("/shop/red-shirt-12345-2.html", "/shop/*.html"),
        ("/item.php?v=1&id=2&v=3", "/item.php?id&v"),
        ("/item.php?&&=x", "/item.php?"),
        ("/%E2%82%AC/", "/*/"),
    ],
)
def test_a_template_is_what_varies_folded(path: str, template: str) -> None:
    """Numbers, dates, identifiers and slugs are folded; words, extensions and the names of parameters stay."""
    assert template_of(at(path)) == template


def test_the_directory_of_a_template_counts_only_if_there_are_many_like_it() -> None:
    """One with nothing folded is a single page."""
    assert (directory_of("/#/#/#.html"), directory_of("/a/b"), directory_of("/#/?x")) == ("/#/#/", "", "/#/")


def test_a_template_without_new_contents_is_throttled_step_by_step() -> None:
    """50 pages with fewer than 5 % unique leave one URL in ten, 50 more one in a hundred; others are not touched."""
    traps = Traps(FilterStates())
    for number in range(49):
        traps.observe(at(f"/day/{number}"), is_unique=number < 2)
    assert share(traps, "/day/{}") == 1.0
    traps.observe(at("/day/50"), is_unique=False)
    assert 0.07 < share(traps, "/day/{}") < 0.13
    assert share(traps, "/shop/{}") == 1.0
    for number in range(50):
        traps.observe(at(f"/day/{number}"), is_unique=False)
    assert 0.0 < share(traps, "/day/{}", 20_000) < 0.02
    refused = [verdict for number in range(20) if isinstance(verdict := traps.judge(link(f"/day/{number}")), Reject)]
    assert refused[0] == Reject("low-yield", "/day/#")


def test_a_template_that_is_worth_it_again_gets_its_steps_back() -> None:
    """One step for each full window at or above 5 %."""
    traps = Traps(FilterStates())
    for number in range(100):
        traps.observe(at(f"/day/{number}"), is_unique=False)
    for number in range(50):
        traps.observe(at(f"/day/{number}"), is_unique=number % 20 == 0)
    assert 0.07 < share(traps, "/day/{}") < 0.13
    for number in range(50):
        traps.observe(at(f"/day/{number}"), is_unique=True)
    assert share(traps, "/day/{}") == 1.0


def test_a_verdict_on_a_url_does_not_depend_on_how_often_it_is_asked() -> None:
    """`judge` changes nothing, and a tenth is the same tenth every time."""
    lessons = FilterStates()
    traps = Traps(lessons)
    for number in range(50):
        traps.observe(at(f"/day/{number}"), is_unique=False)
    before = deepcopy(lessons.of(SITE))
    first = [traps.judge(link(f"/day/{number}")) for number in range(100)]
    assert [traps.judge(link(f"/day/{number}")) for number in range(100)] == first
    assert [traps.reconsider(link(f"/day/{number}")) for number in range(100)] == first
    assert lessons.of(SITE) == before


def test_a_directory_with_a_number_is_worth_what_lies_in_it() -> None:
    """Months of an empty calendar go with their days, even if each month looks new; a forum's one index does not."""
    traps = Traps(FilterStates())
    for number in range(50):
        traps.observe(at(f"/2026/{number}/"), is_unique=True)
        traps.observe(at(f"/2026/{number}/1.html"), is_unique=False)
        traps.observe(at(f"/forum/{number}.html"), is_unique=False)
    assert share(traps, "/2026/{}/") < 0.2
    assert traps.judge(link("/forum/")) == Accept()


def test_seeds_pass() -> None:
    """Somebody asked for them."""
    traps = Traps(FilterStates(), TrapSettings(window=1))
    for _ in range(MAX_STEPS):
        traps.observe(at("/1"), is_unique=False)
    assert isinstance(traps.judge(link("/1")), Reject)
    assert traps.judge(link("/1", Source.SEED)) == Accept()


def with_values(traps: Traps, count: int, unique_every: int) -> None:
    for number in range(count):
        traps.admit(link(f"/item.php?id={number}"))
        traps.observe(at(f"/item.php?id={number}"), is_unique=number % unique_every == 0)


def test_an_identifier_may_have_any_number_of_values() -> None:
    """A shop with one page in two under two names is not a trap, however many products it has."""
    traps = Traps(FilterStates())
    with_values(traps, 5000, unique_every=2)
    assert share(traps, "/item.php?id={}") == 1.0


def test_a_parameter_with_many_values_and_few_contents_is_throttled() -> None:
    """From about 1,000 values on 20 % must be unique; before, 5 % of the template are enough."""
    few, many = Traps(FilterStates()), Traps(FilterStates())
    with_values(few, 700, unique_every=10)
    with_values(many, 1600, unique_every=10)
    assert share(few, "/item.php?id={}") == 1.0
    assert share(many, "/item.php?id={}") < 0.2
    refusals = [many.judge(link(f"/item.php?id={number}")) for number in range(100)]
    assert Reject("parameter-values", "id") in refusals
    assert share(many, "/other.php?id={}") == 1.0


def with_tokens(traps: Traps, paths: int, values: int, *, is_new: bool) -> None:
    """Read pages with a parameter that says nothing, many times each; `is_new`: each path has contents of its own."""
    for value in range(values):
        for number in range(paths):
            url = f"/ticket/{number}?token={value * paths + number}"
            traps.admit(link(url))
            traps.observe(at(url), is_unique=is_new and value == 0)


def test_a_path_of_which_no_page_was_read_is_not_judged_by_parameters_of_others() -> None:
    """The parameter repeats pages and is throttled; a path that was not read may have a page of its own."""
    traps = Traps(FilterStates())
    with_tokens(traps, paths=60, values=30, is_new=True)
    assert {traps.judge(link(f"/ticket/{number}?token=9")) for number in range(1000, 1100)} == {Accept()}
    read = [traps.judge(link(f"/ticket/{number % 60}?token={number}")) for number in range(5000, 6000)]
    assert read.count(Accept()) < 200


def test_new_paths_without_new_contents_are_throttled_whatever_their_parameters() -> None:
    """The first pages of paths have a window of their own: paths without end are a trap with parameters, too."""
    traps = Traps(FilterStates())
    with_tokens(traps, paths=60, values=30, is_new=False)
    assert share(traps, "/ticket/{}?token=9") < 0.2


def test_a_parameter_with_few_values_is_not_throttled_where_paths_are_worth_reading() -> None:
    """There is an end to such URLs; one page in 25 that differs would be lost with the others."""
    traps = Traps(FilterStates())
    for number in range(200):
        traps.admit(link(f"/item/{number}?view=full"))
        traps.observe(at(f"/item/{number}"), is_unique=True)
        traps.observe(at(f"/item/{number}?view=full"), is_unique=number % 25 == 0)
    assert share(traps, "/item/{}?view=full", 200) == 1.0
    assert share(traps, "/item/{}", 200) == 1.0


def test_remembered_paths_are_bounded() -> None:
    """Beyond a number none is added: what was learnt of the template counts for all that are not known."""
    paths = Paths()
    assert all(paths.add(key_of(f"/{number}")) for number in range(MAX_PATHS))
    assert paths.is_full
    assert not paths.add(key_of("/another"))
    assert len(paths.hashes) == 4 * MAX_PATHS


def test_a_path_is_not_found_between_two_others() -> None:
    """The end of one hash and the beginning of the next are not a third."""
    paths = Paths(bytes((1, 2, 3, 4, 5, 6, 7, 8, 3, 4, 5, 6)))
    keys = {place: int.from_bytes(paths.hashes[place : place + 4], sys.byteorder) for place in range(9)}
    assert [place for place, key in keys.items() if paths.has(key)] == [0, 2, 4, 8]
    assert [place for place, key in keys.items() if Paths(paths.hashes[:8]).has(key)] == [0, 4]


@pytest.mark.parametrize(("known", "leads_on", "whole"), [(300, False, 40), (900, False, 0), (300, True, 0)])
def test_what_is_left_of_a_site_is_read_whole_while_it_leads_to_nothing_unknown(
    known: int, leads_on: bool, whole: int
) -> None:
    """After 60 pages without new contents: unless URLs go on, or more are left than were worth reading."""
    lessons = FilterStates()
    traps = Traps(lessons)
    lessons.changing(at("/")).admitted = known
    for number in range(150):
        traps.observe(at(f"/news/{number}"), is_unique=True)
    for number in range(50):
        traps.observe(at(f"/day/{number}"), is_unique=False)
    assert traps.look_again(SITE) == SECOND_LOOK
    assert share(traps, "/day/{}") == 1.0
    for number in range(50, 50 + SECOND_LOOK):
        traps.observe(at(f"/day/{number}"), is_unique=False)
    lessons.changing(at("/")).admitted += leads_on
    assert share(traps, "/day/{}") < 0.2
    assert traps.look_again(SITE) == whole
    assert (share(traps, "/day/{}") == 1.0) == (whole > 0)
    for number in range(200, 200 + whole):
        traps.observe(at(f"/day/{number}"), is_unique=False)
    assert traps.look_again(SITE) == 0
    lessons.check_invariants()


def read_branch(traps: Traps, first: int, count: int, *, leads_to: int) -> None:
    """Read deep pages of a branch, each with so many links that no other page has."""
    for number in range(first, first + count):
        links = [at(f"/deep/{number}/{child}") for child in range(leads_to)]
        traps.page_read(at(f"/deep/{number}"), 5, bytes(256), links)


def deep_share(traps: Traps) -> float:
    accepted = [
        traps.judge(Discovery(at(f"/deep/x{number}"), Source.LINK, 0.0, 5)) == Accept() for number in range(1000)
    ]
    return sum(accepted) / 1000


def throttled_branch() -> Traps:
    lessons = FilterStates()
    traps = Traps(lessons, TrapSettings(endless_pages=200))
    lessons.changing(at("/")).admitted = 200
    read_branch(traps, 0, 200, leads_to=3)
    assert 0.0 < deep_share(traps) < 0.2
    return traps


def test_an_endless_branch_is_followed_no_further_than_a_tree_reaches() -> None:
    """When the site has nothing else left, 40 URLs at a time, ten times."""
    traps = throttled_branch()
    for look in range(10):
        assert traps.follow(SITE) == 40
        assert deep_share(traps) == 1.0
        read_branch(traps, 1000 + 40 * look, 40, leads_to=3)
        assert deep_share(traps) < 0.2
    assert traps.follow(SITE) == 0
    assert not traps.lifted


def test_a_branch_that_ends_is_read_again_once_it_was_followed_to_its_end() -> None:
    """Pages that lead to one new page each, or fewer, are the end of a tree."""
    traps = throttled_branch()
    for look in range(3):
        assert traps.follow(SITE) == 40
        read_branch(traps, 1000 + 40 * look, 40, leads_to=0)
    assert list(traps.lifted) == [SITE]
    assert traps.follow(SITE) == 0
    assert deep_share(traps) == 1.0


def test_want_of_evidence_refuses_nothing() -> None:
    """50,000 products that were not fetched yet are welcome."""
    traps = Traps(FilterStates())
    for number in range(5000):
        traps.admit(link(f"/item.php?id={number}"))
    assert share(traps, "/item.php?id={}") == 1.0


def test_memory_of_a_site_is_bounded() -> None:
    """Whatever paths and parameters a site invents, and without losing sight of what is seen again and again."""
    lessons = FilterStates()
    traps = Traps(lessons)
    for number in range(2000):
        word = "".join(chr(97 + int(figure)) for figure in str(number))
        traps.admit(link(f"/{word}/x/?{word}=1&b{word}=2"))
        traps.observe(at(f"/{word}/x/?{word}=1"), is_unique=True)
        if number % 10 == 0:
            traps.observe(at(f"/day/{number}"), is_unique=False)
    lessons.check_invariants()
    kept = lessons.of(SITE)
    row = msgspec.msgpack.encode(kept)
    assert msgspec.msgpack.decode(row, type=SiteFilterState) == kept
    assert len(kept.templates) == 128
    assert len(kept.parameters) == 32
    assert len(row) < 16_000
    assert share(traps, "/day/{}") < 0.01


def test_a_site_of_nothing_but_traps_keeps_those_it_knows() -> None:
    """What is throttled is not forgotten for what is new."""
    lessons = FilterStates()
    traps = Traps(lessons, TrapSettings(window=1, max_templates=2))
    for path in ("/a", "/b", "/c"):
        traps.observe(at(path), is_unique=False)
    lessons.check_invariants()
    assert [name for name in "abc" if lessons.of(SITE).templates.get(key_of(f"/{name}"))] == ["a", "b"]


def test_settings_are_checked() -> None:
    """A share is a share, and a window has a size."""
    for settings in (
        TrapSettings(window=0),
        TrapSettings(window=65),
        TrapSettings(min_unique=2),
        TrapSettings(throttle=1),
    ):
        with pytest.raises(ConfigError):
            Traps(FilterStates(), settings)


def test_a_window_of_64_pages_fits_what_is_kept() -> None:
    """The longest window is 64 bits."""
    window = Window()
    for _ in range(200):
        window.observe(True, 64, 0.5)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(window), type=Window) == window


@each_case("count", [1, 10, 100, 300, 1000, 3000])
def test_values_are_counted_well_enough(count: int) -> None:
    """Within 30 % (three standard deviations), and repeats do not count."""
    values = Values()
    for number in [*range(count), *range(count)]:
        values.add(key_of(f"value {number}"))
    assert 0.7 * count <= values.estimate() <= 1.3 * count
    assert [values.exceeds(most) for most in (0, 8, 266, 1000, 4000)] == [
        values.estimate() > most for most in (0, 8, 266, 1000, 4000)
    ]


def test_sites_leave_memory_and_come_back() -> None:
    """Those in use stay, the others are handed over once and recalled when they are asked for."""
    kept: dict[Site, SiteFilterState] = {}
    lessons = FilterStates(kept.get, max_sites=3)
    traps = Traps(lessons)
    for round_ in range(60):
        for number in range(10):
            traps.observe(Url(f"http://host{number}.net/{round_}"), is_unique=False)
            lessons.check_invariants()
            assert len(lessons) <= 3
        if round_ % 7 == 0:
            kept.update(lessons.changed())
    kept.update(lessons.changed())
    assert lessons.changed() == []
    assert len(kept) == 10
    for number in range(10):
        verdicts = [
            traps.judge(Discovery(Url(f"http://host{number}.net/{page}"), Source.LINK, 0.0)) for page in range(40)
        ]
        assert any(isinstance(verdict, Reject) for verdict in verdicts)


def test_nothing_learnt_is_nothing_kept() -> None:
    """Most sites have no lessons; those that have continue from what was kept."""
    lessons = FilterStates()
    assert lessons.of(SITE) == SiteFilterState()
    assert lessons.changed() == []
    Traps(lessons).observe(at("/1"), is_unique=True)
    kept = dict(lessons.changed())
    assert kept[SITE] != SiteFilterState()
    assert FilterStates(kept.get).of(SITE) == kept[SITE]


def test_paths_that_grow_without_new_contents_are_throttled_whatever_their_template() -> None:
    """Paths that hold no segment twice, and dates, are not touched; nor are grown ones with contents of their own."""
    words = [f"{one}{other}" for one in "abcdefghijklmnop" for other in "qrstuvwxyz"]
    for is_unique in (False, True):
        traps = Traps(FilterStates())
        for word in words[:50]:
            traps.observe(at(f"/{word}/docs/{word}/"), is_unique=is_unique)
        grown = [traps.judge(link(f"/{word}/docs/{word}/")) == Accept() for word in words]
        assert (sum(grown) == len(words)) if is_unique else (sum(grown) < 0.2 * len(words))
        assert all(traps.judge(link(f"/docs/{word}/")) == Accept() for word in words)
        assert traps.judge(link("/2026/11/11/")) == Accept()


SAME, OTHER = bytes(range(256)) * 2, bytes(reversed(range(256))) * 2
"""Two sketches that have nothing in common."""


def read_chain(traps: Traps, count: int, *, is_alike: bool = True, is_flat: bool = False, more: str = "") -> None:
    """Read pages that link to the one before and the next; flat: all were found on one page."""
    for number in range(count):
        links = [at(f"/p/{number - 1}"), at(f"/p/{number + 1}"), at("/about"), *([at(more)] if more else [])]
        sketch = SAME if is_alike or number % 2 else OTHER
        traps.page_read(at(f"/p/{number}"), 1 if is_flat else number, sketch, links)


def test_a_chain_of_pages_that_say_the_same_throttles_their_template() -> None:
    traps = Traps(FilterStates())
    read_chain(traps, 19)
    assert share(traps, "/p/{}") == 1.0
    traps = Traps(FilterStates())
    read_chain(traps, 20)
    assert 0.05 < share(traps, "/p/{}") < 0.15
    assert share(traps, "/q/{}") == 1.0


@each_case("page", [{"is_alike": False}, {"is_flat": True}, {"more": "/p/999"}])
def test_pages_that_differ_or_are_linked_from_one_place_or_lead_to_several_are_not_a_chain(
    page: dict[str, Any],
) -> None:
    traps = Traps(FilterStates())
    read_chain(traps, 200, **page)
    assert share(traps, "/p/{}") == 1.0


def test_combined_parameters_are_throttled_together_but_not_a_template_that_has_new_pages() -> None:
    """Of each combination few pages are read; one that says something new stays open, and so does one without pages."""
    traps = Traps(FilterStates())
    for number in range(12):
        for names in ("a", "b", "a=1&b", "b=1&c", "a=1&c", "c"):
            traps.observe(at(f"/find?{names}={number}"), False)
        traps.observe(at(f"/find?id={number}"), number == 0)
    assert share(traps, "/find?a=1&b={}") < 0.15
    assert share(traps, "/find?id={}") == 1.0
    assert share(traps, "/find?d={}") == 1.0
    assert share(traps, "/other?a={}") == 1.0
