"""Readers of what sites permit: no input makes them raise, hang or exceed their bounds, and none is read as consent."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.each_case import each_case

from periplus.content.licenses import named_licenses
from periplus.formats.payment import read_price
from periplus.formats.preferences import (
    of_robots,
    read_content_signal,
    read_content_usage,
    read_reservation,
    read_tdmrep,
)
from periplus.formats.robots import parse
from periplus.formats.rsl import MAX_LICENSE_BYTES, feed_licenses, header_licenses, read_rsl
from periplus.insight.views import Views
from periplus.model import Url
from periplus.parts.permissions.exports import page_refusals
from periplus.parts.permissions.rows import PermissionRow
from periplus.policy.permissions import ABSENT, PURPOSES, READ, UNREACHABLE, USES, Statement, combine, refusal
from periplus.store import Tables

URL = "https://site.test/a/page?q=1"
LICENSE = b"""<?xml version="1.0" encoding="UTF-8"?>
<rsl xmlns="https://rslstandard.org/rsl" max-age="7">
  <content url="/" server="https://s.test"><license><permits type="usage">search ai-input</permits>
  <permits type="geo">DE</permits><prohibits type="user">commercial</prohibits><payment type="crawl">
  <amount currency="USD">0.015</amount></payment></license></content>
  <content url="https://site.test/a/*.html$"><license><prohibits type="usage">all</prohibits></license></content>
</rsl>"""
FILE = b"""[{"location": "/a/", "tdm-reservation": 1, "tdm-policy": "https://site.test/p"},
    {"location": "*", "tdm-reservation": 0}]"""
ROBOTS = b"""User-agent: *
Content-Usage: /a/ train-ai=n, search=y
Content-Signal: search=yes, ai-train=no, use=immediate

License: https://site.test/license.xml
"""
OFFER = b'{"x402Version": 1, "accepts": [{"network": "base", "maxAmountRequired": "10", "asset": "0x0"}]}'
PAGE = b"""<html><head><link rel=license type="application/rsl+xml" href="/l.xml">
<script type="application/rsl+xml"><rsl xmlns="https://rslstandard.org/rsl"/></script></head>"""
FEED = b"""<rss xmlns:rsl="https://rslstandard.org/rsl"><channel><item><rsl:content url="https://site.test/a">
<rsl:license><rsl:prohibits type="usage">ai-train</rsl:prohibits></rsl:license></rsl:content></item></channel></rss>"""


def read_license(body: bytes) -> None:
    """Read a licence, and ask it."""
    assert set(read_rsl(body).answers(URL)) == {"search", "train", "ai_input"}


def read_file(body: bytes) -> None:
    """Read a file of TDMRep, and ask it."""
    read_reservation(URL, read_tdmrep(body))


def read_lines(body: bytes) -> None:
    """Read lines about use, and licences."""
    of_robots(parse(body).access("periplus"), URL)


def read_offer(body: bytes) -> None:
    """Read a price, in a body and in every header."""
    text = body.decode("latin-1")
    names = ("crawler-price", "payment-required", "www-authenticate", "crawler-charged", "link")
    for name in names:
        for status in (200, 402):
            price = read_price(status, ((name, text),), body)
            assert len(price.amount or "") + len(price.currency or "") < 500


def read_fields(body: bytes) -> None:
    """Read headers."""
    text = body.decode("latin-1")
    read_content_usage(text)
    read_content_signal(text)
    read_reservation(URL, None, [("tdm-reservation", text)], {"tdm-reservation": [text]})
    header_licenses(text, URL)


def read_places(body: bytes) -> None:
    """Find licences in pages and feeds."""
    named_licenses(body, URL, "text/html")
    feed_licenses(body, URL)


READERS = [
    (LICENSE, read_license),
    (FILE, read_file),
    (ROBOTS, read_lines),
    (OFFER, read_offer),
    (b"train-ai=n;x=?1, search=(a b)", read_fields),
    (PAGE, read_places),
    (FEED, read_places),
]


def mutate(body: bytes, random: Random) -> bytes:
    """A body with some of its bytes changed, removed, repeated or moved."""
    for _ in range(random.randint(1, 4)):
        at, end = sorted((random.randrange(len(body) + 1), random.randrange(len(body) + 1)))
        piece = body[at:end]
        match random.randrange(5):
            case 0:
                body = body[:at] + bytes([random.randrange(256)]) + body[at + 1 :]
            case 1:
                body = body[:at] + body[end:]
            case 2:
                body = body[:at] + piece * random.randint(2, 5) + body[end:]
            case 3:
                body = (
                    body[:at] + random.choice((b"<", b'"', b"%", b"\0", b"\xff", b"[", b"&x;", b"\n", b"*")) + body[at:]
                )
            case _:
                body = body[end:] + piece + body[:at]
        body = body[:20_000]
    return body


def check_mutations(body: bytes, read: Callable[[bytes], None], count: int) -> None:
    """No mutation makes a reader raise."""
    random = Random(len(body))
    for _ in range(count):
        read(mutate(body, random))


@pytest.mark.proof
@each_case(("body", "read"), READERS)
def test_no_mutation_raises(body: bytes, read: Callable[[bytes], None]) -> None:
    """2,000 mutations of each form."""
    check_mutations(body, read, 2_000)


@pytest.mark.slow
@each_case(("body", "read"), READERS)
def test_no_mutation_of_many_raises(body: bytes, read: Callable[[bytes], None]) -> None:
    """100,000 mutations of each form."""
    check_mutations(body, read, 100_000)


@given(st.binary(max_size=300))
def test_any_bytes_are_read(body: bytes) -> None:
    """Whatever a site sends is a value."""
    for _, read in READERS:
        read(body)


BOMB = b'<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">' + b"".join(
    b'<!ENTITY a%d "&a%d;&a%d;&a%d;&a%d;">' % (n + 1, n, n, n, n) for n in range(30)
)


@each_case(
    ("body",),
    [
        (BOMB + b"]><rsl>&a30;</rsl>",),
        (BOMB.decode().encode("utf-16") + "]><rsl>&a30;</rsl>".encode("utf-16-le"),),
        (b"<rsl>" * 200_000,),
        (b'<rsl xmlns="https://rslstandard.org/rsl">' + b'<content url="/*a*a*a*a*b">' * 1_000 + b"</rsl>",),
        (b'<rsl xmlns="https://rslstandard.org/rsl">' + b'<content url="/"/>' * 50_000 + b"</rsl>",),
        (b" " * (MAX_LICENSE_BYTES + 1),),
        (b'<rsl xmlns="https://rslstandard.org/rsl"><content url="' + b"*a" * 400_000 + b'"/></rsl>',),
    ],
)
def test_hostile_licence_ends_soon(body: bytes) -> None:
    """Entities, depth and width are refused within a second."""
    before = time.thread_time()
    document = read_rsl(body)
    answers = document.answers(URL)
    assert time.thread_time() - before < 1.0
    assert answers["train"].answer in ("disallow", "unknown")


statements = st.builds(
    Statement,
    st.sampled_from(
        ["robots-content-usage", "header-content-usage", "tdmrep-json", "header-tdm", "meta-tdm", "robots"]
    ),
    st.sampled_from(["", *USES]),
    st.sampled_from(["allow", "disallow", "conditional", "unknown"]),
    st.sampled_from([(), ("attribution",)]),
    st.sampled_from([READ, ABSENT, UNREACHABLE]),
)


@given(st.lists(statements, max_size=8), st.randoms())
def test_combination(said: list[Statement], random: Random) -> None:
    """Order does not matter to an answer, and another refusal never makes a page more usable."""
    shuffled = random.sample(said, len(said))
    combined = combine(said)
    for use, permitted in combine(shuffled).items():
        assert permitted.answer == combined[use].answer
        assert permitted.explained is combined[use].explained
        assert set(permitted.decided_by) == set(combined[use].decided_by)
    refused = combine([*said, Statement("header-content-usage", "train", "disallow")])
    assert refused["train"].answer == "disallow"


FETCHED_AT = 1_700_000_000.0


def row_of(url: str, said: Statement) -> PermissionRow:
    """A statement as a row of the ledger."""
    conditions = ", ".join(said.conditions) or None
    return PermissionRow(
        url, FETCHED_AT, said.use or None, said.answer, conditions, said.source, said.status,
        None, None, None, None, None, None,
    )  # fmt: skip


@pytest.mark.proof
def test_view_combines_as_the_policy_does(tmp_path: Path) -> None:
    """`permitted` in SQL equals `combine`, for 2,000 pages of drawn statements."""
    random, pages = Random(7), dict[str, list[Statement]]()
    sources = ("robots-content-usage", "header-license", "tdmrep-json", "header-tdm", "meta-tdm", "robots")
    for number in range(2_000):
        pages[f"https://site.test/{number}"] = [
            Statement(
                random.choice(sources),
                random.choice(("", *USES)),
                answer := random.choice(("allow", "disallow", "conditional", "unknown")),
                random.choice(((), ("attribution",), ("pay:crawl",))) if answer == "conditional" else (),
                random.choice((READ, READ, ABSENT, UNREACHABLE)),
            )
            for _ in range(random.randint(1, 6))
        ]
    (tmp_path / "tables").mkdir()
    tables = Tables(tmp_path / "tables", tmp_path / "spool", shard=0, mark=None)
    tables.record([row_of(url, each) for url, said in pages.items() for each in said])
    tables.settle()
    with Views(tmp_path) as views:
        found = {(row["url"], row["use"]): row for row in views.rows("select * from permitted")}
    tables.close()
    assert len(found) == len(pages) * len(USES)
    for url, said in pages.items():
        for use, permitted in combine(said).items():
            row = found[url, use]
            assert (row["answer"], row["conflict"], row["explained"]) == (
                permitted.answer, permitted.conflict, permitted.explained
            ), (url, use, said)  # fmt: skip
            assert row["decided_by"] == (", ".join(sorted(permitted.decided_by)) or None), (url, use)
    at = datetime.fromtimestamp(FETCHED_AT, UTC)
    for purpose, use in PURPOSES.items():
        refuses_use = page_refusals(tmp_path / "tables", (), purpose, drops_unknown=True, accepted=["attribution"])
        for url, said in pages.items():
            wanted = refusal(combine(said)[use], purpose, drops_unknown=True, accepted=["attribution"])
            assert refuses_use(Url(url), at) == wanted, (url, purpose)
            assert refuses_use(Url(url), at + timedelta(seconds=1)) == "unexplained"
        assert refuses_use(Url("https://site.test/none"), at) == "unexplained"
