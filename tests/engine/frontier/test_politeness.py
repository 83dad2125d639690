"""What a failure means: the table of reasons, the waits, and their page in the docs."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.each_case import each_case

from periplus.engine.fetch import reasons as wire
from periplus.engine.frontier import PolitenessSettings, RetrySettings, reason_of, retry_for
from periplus.engine.frontier.politeness import MAX_DELAY, RETRIES, back_off, delay_after, is_temporary, visits_of
from periplus.model import Failed, Fetched, FetchTask, Lane, Purpose, Rendering, Site, Url

ROOT = Path(__file__).resolve().parents[3]
NOW = 1_700_000_000.0
TASK = FetchTask(Url("https://a.test/"), Site("a.test"), Purpose.PAGE, Lane.DISCOVERY, NOW + 300)
SETTINGS = RetrySettings(backoff=10.0, max_backoff=900.0)


def answer(status: int, retry_after: str | None = None) -> Fetched:
    headers = (("retry-AFTER", retry_after),) if retry_after is not None else ()
    return Fetched(TASK, status, headers, b"", NOW, 0.1)


def test_every_reason_is_in_the_docs() -> None:
    """docs/wire.md has a row for each reason of the table, with whether the URL or its site waits."""
    text = (ROOT / "docs" / "wire.md").read_text()
    rows = re.findall(r"^\| (`[\w-]+`(?:, `[\w-]+`)*) \|.*\| ([^|]*) \|$", text, re.MULTILINE)
    waits = {reason: wait for named, wait in rows for reason in re.findall(r"`([\w-]+)`", named)}
    assert set(RETRIES) <= set(waits)
    for reason, retry in RETRIES.items():
        assert ("the site waits" in waits[reason]) == retry.is_of_site, reason
        assert (waits[reason] != "no") == retry.again, reason


def test_the_wire_gives_no_reason_that_the_table_misses_by_a_letter() -> None:
    """Each reason of the table that is not a status is documented as one that the wire returns."""
    given_by = (wire.__doc__ or "") + (ROOT / "docs" / "wire.md").read_text()
    ours = {"lost"}
    assert [r for r in RETRIES if not r.startswith("http-") and r not in ours and f"`{r}`" not in given_by] == []


@each_case("status", [400, 401, 403, 404, 410, 451, 501, 505])
def test_most_errors_are_final(status: int) -> None:
    """Asking again would give the same answer."""
    assert not retry_for(reason_of(answer(status))).again


@each_case("status", [200, 204, 304, 300])
def test_success_has_no_reason(status: int) -> None:
    """The reason is empty."""
    assert reason_of(answer(status)) == ""


@given(st.integers(1, 100), st.integers(0, 2**32))
def test_waiting_doubles_within_a_spread_up_to_the_cap(failures: int, seed: int) -> None:
    """10 s, 20 s, 40 s, each up to a quarter longer, never beyond `max_backoff`."""
    wait = back_off(SETTINGS, Random(seed), Failed(TASK, "timeout", NOW, 30.0), failures, NOW)
    least = min(10.0 * 2.0 ** (failures - 1), 900.0)
    assert least <= wait <= min(least * 1.25, 900.0)


@each_case(
    ("asked", "least", "most"),
    [
        ("120", 120.0, 150.0),
        ("Tue, 14 Nov 2023 22:15:20 GMT", 120.0, 150.0),
        ("0", 0.0, 0.0),
        ("-5", 10.0, 12.5),
        ("86400", 900.0, 900.0),
        ("9" * 60, 900.0, 900.0),
        ("soon", 10.0, 12.5),
    ],
)
@each_case("status", [429, 503])
def test_retry_after_is_obeyed_up_to_the_cap(status: int, asked: str, least: float, most: float) -> None:
    """As a number or a date; anything else is ignored."""
    assert least <= back_off(SETTINGS, Random(0), answer(status, asked), 1, NOW) <= most


def test_retry_after_of_other_answers_is_ignored() -> None:
    """Only 429 and 503 ask for a pause."""
    assert back_off(SETTINGS, Random(0), answer(500, "600"), 1, NOW) <= 12.5


def test_same_seed_gives_the_same_waits() -> None:
    """Chance comes from the given `Random` only."""
    outcome = Failed(TASK, "timeout", NOW, 30.0)
    first, second = ([back_off(SETTINGS, chance, outcome, n, NOW) for n in range(1, 6)] for chance in _twins())
    assert first == second


def _twins() -> tuple[Random, Random]:
    return Random(5), Random(5)


@each_case(
    ("asked", "took", "expected"),
    [(None, 0.1, 1.0), (None, 2.0, 10.0), (30.0, 2.0, 30.0), (1e9, 0.0, MAX_DELAY), (None, 1e9, MAX_DELAY)],
)
def test_site_rests_for_the_longest_of_three_times(asked: float | None, took: float, expected: float) -> None:
    """Our delay, the one that robots.txt asks for, and five times the last answer; the last two up to an hour."""
    assert delay_after(PolitenessSettings(), asked, took) == expected


@each_case(
    ("reason", "expected"), [("connect-refused", True), ("robots-unreachable", True), ("http-404", False), ("", False)]
)
def test_temporary_reasons(reason: str, expected: bool) -> None:
    """A site that could not be reached may be reached another time."""
    assert is_temporary(reason) is expected


@each_case(("requests", "visits"), [(0, 1.0), (10, 1.0), (15, 1.5), (60, 6.0)])
def test_what_a_page_loads_from_its_site_counts(requests: int, visits: float) -> None:
    """Ten requests belong to a visit; of further ones, ten are another."""
    rendered = replace(answer(200), rendering=Rendering(is_rendered=True, requests=99, same_site=requests))
    assert visits_of(rendered) == visits
    assert visits_of(answer(200)) == 1.0
