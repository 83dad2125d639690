"""The checks of an audit, each on a clean site with one fault: it is found at its URL, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.lab.scripted_web import MovedTo, ScriptedWeb, urlset
from tests.system.test_cli_audit import HOME, NAMES, clean, page, typed
from tests.system.typed import Run

FIRST, SECOND, THIRD = (f"{HOME}/{name}" for name in NAMES[:3])
LONG = "Everything there is to know about apples, and more of it than anyone could ever want to read"
Said = dict[str, str | bytes]


def linked(title: str, *links: str, head: str = "") -> str:
    """A page of the clean site, with more links."""
    return page(title, f"{HOME}/", *(f"{HOME}/{name}" for name in NAMES), *links, head=head)


def chain(length: int, name: str = NAMES[0]) -> Said:
    """Pages one behind the other, the first linked from the page of that name; all are listed."""
    pages = [f"{HOME}/level-{number}" for number in range(length)]
    said: Said = {url: page(f"Level {number}", *pages[number + 1 : number + 2]) for number, url in enumerate(pages)}
    listed = [f"{HOME}/{name}" for name in ("", *NAMES)]
    dated = [f"{url} 2026-0{1 + place % 9}-1{place % 10}" for place, url in enumerate([*listed, *pages])]
    return said | {f"{HOME}/{name}": linked(f"All about {name}", pages[0]), f"{HOME}/sitemap.xml": urlset(*dated)}


FAULTS: dict[str, tuple[Said, set[str]]] = {
    "title-missing": ({FIRST: linked("").replace("What  is", "What this page is")}, {FIRST}),
    "title-duplicate": (
        {FIRST: linked("All about apples").replace("<title>All about apples", "<title>All about pears")},
        {FIRST, SECOND},
    ),
    "title-long": ({FIRST: linked(LONG).replace(f"What {LONG} is about", "What the page is about")}, {FIRST}),
    "description-missing": ({FIRST: linked("All about apples").replace('name="description"', "")}, {FIRST}),
    "description-duplicate": (
        {FIRST: linked("All about apples").replace("What All about apples", "What All about pears")},
        {FIRST, SECOND},
    ),
    "description-long": ({FIRST: linked("All about apples").replace("is about", LONG * 2)}, {FIRST}),
    "redirect-chains": (
        {
            FIRST: linked("All about apples", f"{HOME}/old"),
            f"{HOME}/old": MovedTo(f"{HOME}/older"),
            f"{HOME}/older": MovedTo(SECOND),
        },
        {f"{HOME}/old"},
    ),
    "dead-images": (
        {FIRST: linked("All about apples", head='<img src="/gone.png" alt="" width=9 height=9>')},
        {f"{HOME}/gone.png"},
    ),
    "dead-styles": (
        {FIRST: linked("All about apples", head='<link rel=stylesheet href="gone.css?v=1&amp;w=2">')},
        {f"{HOME}/gone.css?v=1&w=2"},
    ),
    "dead-scripts": (
        {FIRST: linked("All about apples", head="<script src='/gone.js'></script><!-- <script src=/x.js> -->")},
        {f"{HOME}/gone.js"},
    ),
    "dead-documents": ({FIRST: linked("All about apples", f"{HOME}/gone.pdf")}, {f"{HOME}/gone.pdf"}),
    "hreflang-no-return": (
        {
            FIRST: linked(
                "All about apples",
                head="".join(
                    f'<link rel=alternate hreflang={code} href="{url}">'
                    for code, url in (("de", SECOND), ("en", FIRST), ("x-default", FIRST))
                ),
            )
        },
        {FIRST},
    ),
    "deep-pages": (chain(7), {f"{HOME}/level-{number}" for number in (4, 5, 6)}),
}
WITH = {"redirect-chains": {"redirected-links"}}
"""Findings that the same fault makes as well."""


def found(run: Run, web: ScriptedWeb, *args: str) -> dict[str, Any]:
    audit = json.loads(run(*typed(web, "--json", "--examples", "100", *args)).stdout)
    return {each["name"]: {example["url"] for example in each["examples"]} for each in audit["findings"]}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(run: Run, name: str) -> None:
    """With exactly the URLs that have it."""
    said, urls = FAULTS[name]
    with ScriptedWeb(clean() | said) as web:
        faults = found(run, web)
        assert web.heads.count(f"{HOME}/gone.png") == (name == "dead-images")
    assert faults.pop(name) == urls
    assert faults.keys() == WITH.get(name, set())


def moved_to(place: int, what: str) -> str:
    """The same fault, or its URL, on other pages: what is on the first two is on two pages from `place` on."""
    return what.replace("apples", NAMES[place]).replace("pears", NAMES[place + 1])


IN_TEXTS = ("title-missing", "title-duplicate", "title-long", "description-missing", "description-duplicate")
NOT_MOVED = ("deep-pages", "redirect-chains")
"""Faults that can only be on the first pages."""
TOGETHER = {
    "texts": (*IN_TEXTS, "redirect-chains"),
    "others": tuple(FAULTS.keys() - {*IN_TEXTS, *NOT_MOVED}),
}


@pytest.mark.proof
@pytest.mark.parametrize("names", TOGETHER.values(), ids=TOGETHER.keys())
def test_planted_faults_are_found(run: Run, names: tuple[str, ...]) -> None:
    """Several on one site, each on pages of its own: exactly the URLs that have them are found."""
    site = clean()
    expected: dict[str, set[str]] = {}
    for place, name in zip(range(0, len(NAMES), 2), sorted(names, key=lambda name: name not in NOT_MOVED), strict=True):
        said, urls = FAULTS[name]
        site |= {moved_to(place, url): each if place == 0 else moved_to(place, str(each)) for url, each in said.items()}
        expected[name] = {moved_to(place, url) for url in urls}
    with ScriptedWeb(site) as web:
        faults = found(run, web)
        assert web.heads.count(f"{HOME}/gone.png") == ("dead-images" in names)
    assert {name: faults.pop(name) for name in names} == expected
    assert faults.keys() == {other for name in names for other in WITH.get(name, set())}


@pytest.mark.proof
def test_thin_pages_deep_pages_and_canonical_chains(run: Run) -> None:
    """A page of a few words; pages far away; a canonical URL that names another; one that does not exist."""
    head = '<title>Thin</title><meta name="description" content="Thin">'
    thin = f'<!doctype html>{head}<p>Few words.<a href="{HOME}/">up</a>'
    said: Said = {
        FIRST: linked(
            "All about apples", f"{HOME}/thin", "http://other.test/", head=f'<link rel=canonical href="{SECOND}">'
        ),
        SECOND: linked("All about pears", head=f'<link rel=canonical href="{THIRD}">'),
        f"{HOME}/{NAMES[3]}": linked("All about figs", head=f'<link rel=canonical href="{HOME}/none">'),
        f"{HOME}/thin": thin,
    }
    with ScriptedWeb(clean() | chain(7, NAMES[5]) | said) as web:
        faults = found(run, web)
        assert not [url for url in web.asked if "site.test" not in url]
    assert faults["deep-pages"] == FAULTS["deep-pages"][1]
    assert faults["thin-pages"] == {f"{HOME}/thin"}
    assert faults["canonical-chains"] == {FIRST}
    assert faults["canonical-errors"] == {f"{HOME}/{NAMES[3]}"}


def test_a_canonical_page_is_not_a_copy(run: Run) -> None:
    """Nor is it left out because another URL of it, which names it as canonical, is shorter."""
    same = linked("All about apples", f"{HOME}/a", head=f'<link rel=canonical href="{FIRST}">')
    listed = [f"{HOME}/{name} 2026-0{place % 9 + 1}-11" for place, name in enumerate(("", *NAMES[1:]))]
    with ScriptedWeb(clean() | {FIRST: same, f"{HOME}/a": same, f"{HOME}/sitemap.xml": urlset(*listed)}) as web:
        assert found(run, web) == {"pages-unlisted": {FIRST}}


@pytest.mark.proof
def test_external_links_are_requested_only_if_asked(run: Run) -> None:
    """Each once, with HEAD; one that answers is not dead, nor one that moved; a download is not a broken link."""
    good, moved, dead = "http://other.test/good", "http://other.test/moved", "http://gone.test/page"
    said: Said = {
        FIRST: linked("All about apples", good, moved, dead, f"{HOME}/download"),
        f"{HOME}/download": b"\x1f\x8b data",
        good: "fine",
        moved: MovedTo(good),
    }
    with ScriptedWeb(clean() | said) as web:
        assert found(run, web, "--external") == {"dead-external-links": {dead}}
        assert web.heads.count(dead) == 1
        assert web.asked.count(dead) == 1


@pytest.mark.proof
def test_entries_twice_and_links_that_say_nothing(run: Run) -> None:
    """A URL in a second entry of one file; texts of links that fit every target, in any language."""
    texts = ("Read more »", "Weiterlesen …", "en savoir plus", "続きを読む", "More about pears")
    vague = "".join(f'<p><a href="{SECOND}?{number}">{text}</a></p>' for number, text in enumerate(texts))
    listed = [f"{HOME}/", *(f"{HOME}/{name}" for name in NAMES), SECOND]
    dated = (f"{url} 2026-0{1 + place % 9}-1{place % 10}" for place, url in enumerate(listed))
    said: Said = {FIRST: linked("All about apples", head=vague), f"{HOME}/sitemap.xml": urlset(*dated)}
    with ScriptedWeb(clean() | said) as web:
        audit = json.loads(run(*typed(web, "--json", "--examples", "100")).stdout)
    notes = {each["name"]: {one["url"]: one["note"] for one in each["examples"]} for each in audit["findings"]}
    assert notes["listed-twice"] == {SECOND: "2 times"}
    assert notes["vague-links"].keys() == {FIRST}
    assert "(and 3 more)" in notes["vague-links"][FIRST]
