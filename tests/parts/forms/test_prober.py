"""Fields, submissions and words of forms; and whole databases of the lab, found through their forms."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from tests.each_case import each_case
from tests.lab.form_probing import Probed, floor, probe

from periplus.content import read_page
from periplus.model import ConfigError, Form, FormRow, Site, Url
from periplus.parts.forms.kinds import Use, inputs_of
from periplus.parts.forms.prober import Prober, ProberState, Template
from periplus.parts.forms.settings import FormSettings
from periplus.parts.forms.submitting import (
    REASONS,
    asks_for_captcha,
    bounded,
    count_request,
    is_query,
    max_requests,
    refusal,
    submission,
)
from periplus.parts.forms.words import Words
from periplus_lab.database import Database
from periplus_lab.world import World

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


@each_case(
    ("html", "reason"),
    [
        ("<form action=/search><input name=q></form>", ""),
        ("<form action=/search method=post><input name=q></form>", "form-method"),
        ("<form action=http://b.test/search><input name=q></form>", "form-elsewhere"),
        ("<form action=/delete><input name=q></form>", "form-kind"),
        ("<form action=/do><input name=q><button>Delete it</button></form>", "form-kind"),
        ("<form action=/do><input name=q><input type=submit value='Add to cart'></form>", "form-kind"),
        ("<form action=/search><input name=q><select name=order><option>a<option>b</select></form>", ""),
        ("<form action=/search><input name=credits><button>Find</button></form>", ""),
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


@pytest.fixture(scope="module")
def database() -> Database:
    """The database of the lab that is nearest to 400 records."""
    return Database(min((site for site in World().sites() if site.records), key=lambda each: abs(each.records - 400)))


@pytest.fixture(scope="module")
def by_year(database: Database) -> Probed:
    return probe(database)


def test_an_informative_choice_finds_everything(database: Database, by_year: Probed) -> None:
    assert by_year.prober.state.templates["year"].is_informative
    assert by_year.found == len(database) == by_year.prober.size
    assert by_year.requests <= 1.15 * floor(len(database))


def test_words_alone_find_most_records(database: Database) -> None:
    found = probe(database, without=("year", "author"))
    requests = found.requests_for(0.8 * len(database))
    assert requests is not None
    assert requests <= 1.25 * floor(0.8 * len(database))
    assert abs(found.prober.size / len(database) - 1) <= 0.2


@pytest.mark.slow
def test_words_alone_find_nine_records_in_ten_of_large_databases() -> None:
    """With at most 1.2 times the fewest possible requests."""
    for site in sorted((site for site in World().sites() if site.records), key=lambda site: -site.records)[:3]:
        found = probe(Database(site), without=("year", "author"), until=0.9 * site.records)
        requests = found.requests_for(0.9 * site.records)
        assert requests is not None
        assert requests <= 1.2 * floor(0.9 * site.records)


def test_what_is_known_of_a_form_can_be_kept(by_year: Probed) -> None:
    """The state survives being written and read, and the prober goes on with it."""
    prober = by_year.prober
    packed = msgspec.msgpack.encode(prober.state)
    state = msgspec.msgpack.decode(packed, type=ProberState)
    assert state == prober.state
    assert Prober(prober.form, 2026, state).wanted(4) == []


def test_the_next_queries_can_be_looked_at() -> None:
    """Without changing what the prober does next."""
    prober = Prober(form_of("<form action=/f><select name=k><option>x<option>y<option>z</select></form>"), 2026)
    before = msgspec.msgpack.encode(prober.state)
    ahead = prober.preview(10)
    assert {values for values, _ in ahead} == {"k = x", "k = y", "k = z"}
    assert msgspec.msgpack.encode(prober.state) == before
    assert prober.wanted(3) == [url for _, url in ahead]


def test_a_product_of_choices_is_bounded() -> None:
    """A thousand options thrice are a thousand million bindings: some of each are tried, and all differ."""
    options = "".join(f"<option>{number}" for number in range(1, 1001))
    selects = "".join(f"<select name={name}>{options}</select>" for name in "abc")
    prober = Prober(form_of(f"<form action=/search>{selects}</form>"), 2026)
    bindings = prober._bindings(Template(("a", "b", "c")))
    assert len(bindings) == len(set(bindings)) == 2000
    assert all(len({dict(each)[name] for each in bindings}) > 900 for name in "abc")


PAGES = {
    "a captcha": "<title>Are you a robot?</title><p>Please solve the CAPTCHA below.",
    "results": "<title>3 records</title><p><a href=/r/1>one</a>",
}


def test_a_captcha_is_recognised() -> None:
    assert {name for name, html in PAGES.items() if asks_for_captcha(read_page(html.encode(), PAGE, "text/html"))} == {
        "a captcha"
    }


def test_budgets() -> None:
    settings = FormSettings()
    assert max_requests(settings, 10) == 100
    assert max_requests(settings, 400) == 400
    assert max_requests(settings, 1e9) == 2000
    assert settings.within(1000).max_requests == 50
    assert FormSettings(size_factor=0.0).max_requests == max_requests(FormSettings(size_factor=0.0), 10)
    row = FormRow(1, Site("a.test"), PAGE, form_of("<form></form>"), "search", "open", "", 0.0)
    counted = [count_request(row, settings, 86_400.0 * 3 + place) for place in range(501)]
    assert counted == [True] * 500 + [False]
    assert count_request(row, settings, 86_400.0 * 4)
    with pytest.raises(ConfigError, match=r"forms\.max_open"):
        FormSettings(max_open=0)


def test_every_reason_is_explained() -> None:
    """docs/forms.md has the reasons that the code knows, and no other."""
    text = (Path(__file__).resolve().parents[3] / "docs" / "forms.md").read_text()
    assert set(re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)) | {"complete"} == set(REASONS)
    assert "(`complete`)" in text


def test_a_page_without_a_codec_is_submitted_in_utf_8() -> None:
    form = form_of("<form action=/search><select name=k><option>é<option>b</select></form>")
    assert {url for _, url in Prober(form, 2026, encoding="latin-1").preview(2)} == {
        "http://a.test/search?k=%E9",
        "http://a.test/search?k=b",
    }
    for charset in ("x-user-defined", "utf-16le", "replacement", "no\0name"):
        assert "http://a.test/search?k=%C3%A9" in {url for _, url in Prober(form, 2026, encoding=charset).preview(2)}


def test_a_form_is_bounded() -> None:
    options = "".join(f"<option>{number:0200}" for number in range(900))
    fields = "".join(f"<input name=f{number}>" for number in range(200))
    form = bounded(form_of(f"<form action=/search><select name=k>{options}</select>{fields}</form>"))
    assert len(form.fields) == 100
    assert form.fields[0].options == ()


def test_a_suffix_of_the_scope_makes_domains() -> None:
    form = form_of("<form action=http://b.hosts.test/search><input name=q></form>")
    page = Url("http://a.hosts.test/")
    assert refusal(form, page) == ""
    assert refusal(form, page, suffixes=("hosts.test",)) == "form-elsewhere"


def test_links_to_further_queries_are_not_records() -> None:
    form = form_of("<form action=/><input type=search name=s><input type=hidden name=lang value=en></form>")
    queries = ["http://a.test/?s=a&page=2", "http://a.test/?page=3&s=a"]
    records = ["http://a.test/?p=7", "http://a.test/", "http://a.test/x?s=a", "http://a.test/?lang=en&p=8"]
    assert [is_query(form, Url(url)) for url in (*queries, *records)] == [True] * 2 + [False] * 4
