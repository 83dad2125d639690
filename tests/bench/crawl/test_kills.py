"""The bench of completeness: what a killed crawl left out is told with its reason."""

from __future__ import annotations

from bench.crawl.kills import SHOWN, Case, Completeness, lines


def test_missing_pages_are_told_with_their_reason() -> None:
    """At most a few pages of each reason, and how many more there are."""
    pages = [("127.0.1.2:18080", f"/a b/{number}.html") for number in range(SHOWN + 2)]
    found = Completeness(0.98, 0, 12.0, (5, 1200), {"renamed": pages})
    said = lines(Case(16, 2, 2), found)
    assert said[0] == (
        "16 at once to a host, 2 processes, killed 2 times: 98.00% of the pages in 12 s, exit code 0, "
        "killed after 5, 1,200 answers"
    )
    assert said[1:3] == [f"  {SHOWN + 2} missing: renamed", "    http://127.0.1.2:18080/a%20b/0.html"]
    assert said[-1] == "    and 2 more"


def test_a_crawl_must_end_and_be_complete() -> None:
    """One that was stopped at the bound is not good, whatever it has fetched by then."""
    assert Completeness(0.999, 0, 1.0, (), {}).is_good
    assert not Completeness(0.99, 0, 1.0, (), {}).is_good
    assert not Completeness(1.0, None, 1.0, (), {}).is_good
