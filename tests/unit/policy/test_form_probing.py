"""Fields, submissions and words of forms; and whole databases of the lab, found through their forms."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec
import pytest
from msgspec.structs import replace

from periplus.content import read_page
from periplus.lab.web.database import Database
from periplus.lab.web.world import World
from periplus.model import Form, Page, Url
from periplus.policy.forms import (
    ProbedPage,
    Prober,
    ProberState,
    Use,
    Words,
    inputs_of,
    refusal,
    submission,
)

PAGE = Url("http://a.test/")


def form_of(html: str) -> Form:
    [form] = read_page(html.encode(), PAGE, "text/html").forms
    return form


def test_fields() -> None:
    form = form_of(
        "<form action=/f><input name=q><select name=sort><option>a<option>b</select>"
        "<select name=kind><option value=''>any<option>x<option>y</select>"
        "<input name=price_min><input name=price_max><input name=year><input type=hidden name=h value=1>"
        "<select name=one><option>only</select></form>"
    )
    found = {each.names: (each.use, len(each.bindings)) for each in inputs_of(form, 2000)}
    assert found == {
        ("q",): (Use.TEXT, 0),
        ("sort",): (Use.PRESENTATION, 0),
        ("kind",): (Use.CHOICE, 2),
        ("price_min", "price_max"): (Use.RANGE, 6),
        ("year",): (Use.TYPED, 11),
        ("h",): (Use.CONSTANT, 0),
        ("one",): (Use.CONSTANT, 0),
    }


def test_a_range_is_cut_into_consecutive_intervals() -> None:
    options = "".join(f"<option>{number}" for number in range(1, 41))
    form = form_of(f"<form><select name=from>{options}</select><select name=to>{options}</select></form>")
    [both] = inputs_of(form, 2000)
    assert both.bindings[0] == (("from", "1"), ("to", "5"))
    assert both.bindings[-1] == (("from", "37"), ("to", "40"))


def test_submission() -> None:
    form = form_of(
        "<form action=/find?old=1><input name=q><input type=hidden name=h value='a b'>"
        "<input name=empty><input type=submit name=go value=Go></form>"
    )
    assert submission(form, {"q": "naïve & co"}) == "http://a.test/find?q=na%C3%AFve+%26+co&h=a+b"
    assert submission(form, {"q": "ü"}, "latin-1") == "http://a.test/find?q=%FC&h=a+b"


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("<form action=/search><input name=q></form>", ""),
        ("<form action=/search method=post><input name=q></form>", "form-method"),
        ("<form action=http://b.test/search><input name=q></form>", "form-elsewhere"),
        ("<form action=/delete><input name=q></form>", "form-kind"),
        ("<form action=/search><input name=q><input type=hidden name=csrf value=1></form>", "form-kind"),
        ("<form action=/search><input name=q><input type=hidden name=nonce value=1></form>", "form-token"),
        ("<form action=/newsletter><input name=email></form>", "form-kind"),
        ("<form action=/search><input name=q><input type=email name=e></form>", "form-kind"),
    ],
)
def test_what_may_be_submitted(html: str, reason: str) -> None:
    assert refusal(form_of(html), PAGE) == reason


def test_a_hidden_field_that_changes_is_a_token() -> None:
    first, second = (
        form_of(f"<form action=/search><input name=q><input type=hidden name=x value={value}></form>") for value in "ab"
    )
    assert refusal(second, PAGE, earlier=first) == "form-token"
    assert refusal(first, PAGE, earlier=first) == ""


def test_how_many_records_there_are() -> None:
    """200 are known; 40 were shown, of which 10 were known: about 800."""
    words = Words(known=200)
    words.ended("records", 40, 10, 5)
    assert words.estimate == 800
    assert Words(known=7).estimate == 70


def probed(database: Database, base: str, without: tuple[str, ...] = ()) -> tuple[int, int, Prober]:
    """Probe a database until nothing more is wanted: how many records were found, with how many requests."""
    form_page = read_page(database.form_page(), f"{base}/search", "text/html")
    [form] = form_page.forms
    form = replace(form, fields=tuple(field for field in form.fields if field.name not in without))
    prober = Prober(form, 2026)
    prober.read_form_page(_links(form_page), form_page.main_text)
    requests, records = 0, set[Url]()
    waiting = prober.wanted(4)
    while waiting:
        url = waiting.pop(0)
        page = read_page(database.result_page(urlsplit(url).query), url, "text/html")
        new = {link.url for link in page.links if "/record/" in link.url} - records
        for record in new:
            prober.read_record(read_page(_record(database, record), record, "text/html").main_text)
        records |= new
        requests += 1
        prober.learn(ProbedPage(url, _links(page), page.relations.next))
        waiting += prober.wanted(4)
    return len(records), requests + len(records), prober


def _record(database: Database, url: Url) -> bytes:
    html = database.record_page(url.rpartition("/")[2])
    assert html is not None
    return html


def _links(page: Page) -> tuple[tuple[Url, str], ...]:
    return tuple((link.url, link.anchor) for link in page.links)


@pytest.fixture(scope="module")
def site() -> tuple[Database, str]:
    """The database of the lab that is nearest to 600 records."""
    best = min((site for site in World().sites() if site.records), key=lambda each: abs(each.records - 600))
    return Database(best), f"http://{best.host}"


def test_an_informative_choice_finds_everything(site: tuple[Database, str]) -> None:
    database, base = site
    found, requests, prober = probed(database, base)
    assert prober.state.templates["year"].is_informative
    assert found == len(database)
    assert requests <= 1.15 * 1.1 * len(database)


def test_words_alone_find_most_records(site: tuple[Database, str]) -> None:
    database, base = site
    found, requests, prober = probed(database, base, without=("year", "author"))
    assert found >= 0.85 * len(database)
    assert requests <= 1.35 * 1.1 * len(database)
    assert abs(prober.size / len(database) - 1) <= 0.15


def test_what_is_known_of_a_form_can_be_kept(site: tuple[Database, str]) -> None:
    """The state survives being written and read, and the prober goes on with it."""
    _, _, prober = probed(*site)
    packed = msgspec.msgpack.encode(prober.state)
    state = msgspec.msgpack.decode(packed, type=ProberState)
    assert state == prober.state
    assert Prober(prober.form, 2026, state).wanted(4) == []
