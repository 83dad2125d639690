"""Every reason that a crawl can give is explained to people."""

from __future__ import annotations

import re

from tests.each_case import each_case

from periplus.engine.fetch import dns, reasons
from periplus.engine.frontier import politeness
from periplus.engine.sitemaps.visits import SitemapAuthority
from periplus.insight import listed
from periplus.insight.reasons import EXPLAINED, explained
from periplus.policy.filters import REASONS


def documented() -> set[str]:
    """The reasons in the docstrings of the wire, the resolver and lists, in the table of failures, and of filters."""
    prose = f"{reasons.__doc__}\n{dns.__doc__}"
    listing = re.findall(r"`(sitemap-[a-z-]+|not-a-url)`", f"{SitemapAuthority.__doc__}\n{listed.__doc__}")
    return {*re.findall(r"^- `([a-z0-9-]+)`:", prose, re.MULTILINE), *listing, *politeness.RETRIES, *REASONS}


def test_every_reason_has_a_line() -> None:
    """Every reason in a table is explained."""
    assert len(documented()) > 30
    assert sorted(reason for reason in documented() if not explained(reason)) == []


def test_no_line_is_left_over() -> None:
    """What is explained can happen."""
    others = {"outage", "robots", "robots-unreachable", "renamed", "spam", "page-bytes"}
    assert sorted(set(EXPLAINED) - documented() - others) == []


@each_case(("reason", "said"), [("http-404", "404, Not Found"), ("http-999", "answered 999"), ("x", "")])
def test_statuses_are_named(reason: str, said: str) -> None:
    """As RFC 9110 names them, where it does."""
    assert said in explained(reason)
