"""What people are told of a page among those that say the same."""

from __future__ import annotations

import re

from msgspec.structs import replace
from tests.each_case import each_case

from periplus.collection.facts.lines import BELIEFS, duplicate_lines, url_lines
from periplus.collection.facts.lookup import UrlFacts, page_duplicates
from periplus.content import sketch_of
from periplus.model import FirstSeen, Sketched, Source, Url, UrlRecord
from periplus.policy import duplicates
from periplus.store import MemoryState, State

SEEN = (FirstSeen(Source.LINK, 1.0),)
PAGE = Url("https://a.test/print/page")


def text(name: str) -> bytes:
    return sketch_of(" ".join(f"{name}{number}" for number in range(200)))


def shard(*pages: Sketched, records: tuple[UrlRecord, ...] = ()) -> dict[int, State]:
    state = MemoryState()
    state.sketches.add(pages)
    state.records.put(records)
    return {0: state}


def told(opened: dict[int, State], url: Url = PAGE, shards: int = 1) -> dict[str, str]:
    return dict(duplicate_lines(page_duplicates(opened, shards, url), url))


def test_a_copy_and_its_original_name_each_other() -> None:
    """How many say it, by which URL to know them, and who was first."""
    original = Url("https://a.test/page")
    opened = shard(Sketched(original, text("a")), Sketched(PAGE, text("a")), Sketched(Url("https://a.test/x"), b""))
    assert told(opened) == {
        "says the same": f"as another page; all are best known by {original}",
        "copy": "yes: another said it before (100% alike)",
    }
    assert told(opened, original) == {"says the same": "as another page; all are best known by this URL"}
    assert told(opened, Url("https://a.test/x")) == told(opened, Url("https://b.test/")) == told({}) == {}


@each_case(
    ("target", "record", "said", "expected"),
    [
        ("https://a.test/page", None, None, "believed, because it was not read yet, and nothing"),
        ("https://a.test/page", 200, "a", "believed, because it says the same"),
        ("https://a.test/page", 200, "b", "not believed, because it says something else"),
        ("https://a.test/page", 404, None, "not believed, because there is no page"),
        ("https://a.test/page", 301, None, "not believed, because there is no page"),
        ("https://a.test/", None, None, "not believed, because it was not read yet, and naming the home page"),
        ("https://b.test/page", None, None, "not believed, because it was not read yet, and is of another site"),
        (PAGE, 200, None, "believed, because it is this page"),
    ],
)
def test_what_a_page_says_of_its_name_is_judged(
    target: str, record: int | None, said: str | None, expected: str
) -> None:
    """By what is known of that URL."""
    name = Url(target)
    pages = [Sketched(PAGE, text("a"), canonical=name)]
    if said:
        pages.append(Sketched(name, text(said)))
    reason = "http-404" if record == 404 else ""
    known = () if record is None else (UrlRecord(name, SEEN, visits=1, status=record, reason=reason),)
    assert told(shard(*pages, records=known))["canonical"].startswith(f"names {target}: {expected}")


def test_what_another_shard_knows_is_not_guessed() -> None:
    """The page is of one shard, and the URL that it names of another."""
    name = Url("https://b.test/")
    opened = shard(Sketched(PAGE, text("a"), canonical=name))
    both = {0: opened[0], 1: opened[0]}
    assert told(both, shards=2)["canonical"] == f"names {name}, which another shard knows"


def test_every_reason_is_explained() -> None:
    """Those of canonical links; redirects are not told of here, since a URL that redirects has no page."""
    documented = set(re.findall(r"^\| `([a-z-]+)` \|", duplicates.__doc__ or "", re.MULTILINE))
    assert documented - {"moved-for-good", "moved-for-now"} == set(BELIEFS)


def test_visits_say_which_changes_count() -> None:
    """Those of a few words are named beside the changes that teach how often the page changes."""
    record = UrlRecord(PAGE, SEEN, visits=29, changes=1, due_at=90.0)
    facts = UrlFacts(PAGE, True, record, "", "", "", "", None, None, levels={"same": 4, "minor": 23, "major": 1})
    lines = dict(url_lines(facts, "docs"))
    assert lines["visits"] == "29, 1 change and 23 of a few words, which do not count for how often it changes"
    assert not lines["next"]
    assert dict(url_lines(replace(facts, is_watched=True), "docs"))["next"] == "1970-01-01 00:01:30 UTC"
