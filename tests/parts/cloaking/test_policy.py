"""Cloaking by copies of a page: what is accused, what is acquitted, and which pages are compared."""

from __future__ import annotations

from periplus.content import read_page
from periplus.model import Url
from periplus.parts.cloaking.policy import (
    Copy,
    CopyDifference,
    SiteProbes,
    SiteRedirections,
    Step,
    begin_comparison,
    compare,
    copy_of,
    count_page,
    is_due,
    leads_away,
    next_step,
    wants_comparison,
)
from periplus.parts.cloaking.settings import CloakingSettings, RedirectionSettings

SETTINGS = CloakingSettings(enabled=True)
URL = Url("http://a.org/x")


def words(name: str, count: int = 200) -> str:
    return " ".join(f"{name}{chr(97 + number % 26)}{chr(97 + number // 26)}" for number in range(count))


def copied(text: str, links: str = "", script: str = "") -> Copy:
    tag = f"<script>{script}</script>" if script else ""
    page = read_page(f"<title>t</title>{tag}<p>{text}</p>{links}".encode(), URL, "text/html")
    return copy_of(page, has_scripts=bool(script))


def test_kinds_of_cloaking() -> None:
    crawler, browser = copied(words("a")), copied(words("b"))
    both = copied(f"{words('a')} {words('b')}")
    for one, other, kind in (
        (crawler, browser, CopyDifference.SWAPS),
        (both, crawler, CopyDifference.HIDES),
        (crawler, both, CopyDifference.SHOWS),
    ):
        found = compare([one], [other], SETTINGS)
        assert found is not None
        assert found.kind is kind
        assert found.is_offence
        assert found.evidence


def test_a_redirect_of_browsers_only() -> None:
    away = copied(words("a"), script='location.href = "http://casino.com/";')
    found = compare([copied(words("a"))], [away], SETTINGS)
    assert found is not None
    assert found.kind is CopyDifference.REDIRECTS
    assert compare([away], [away], SETTINGS) is None


def test_small_and_volatile_differences_are_acquitted() -> None:
    text = words("a")
    assert compare([copied(f"{text} 12:30:05")], [copied(f"{text} 14:01:59")], SETTINGS) is None
    assert compare([copied(text)], [copied(f"{text} {words('b', 8)}")], SETTINGS) is None


def test_a_page_that_differs_from_itself_is_acquitted() -> None:
    crawlers = [copied(f"{words('a')} {words(name, 100)}") for name in "bc"]
    browser = copied(f"{words('a')} {words('d', 100)}")
    assert compare(crawlers[:1], [browser], SETTINGS) is not None
    assert compare(crawlers, [browser], SETTINGS) is None


def test_a_shell_for_scripts_is_dynamic_serving() -> None:
    found = compare([copied(words("a"))], [copied("Loading", script="render()")], SETTINGS)
    assert found is not None
    assert found.kind is CopyDifference.DYNAMIC_SERVING
    assert not found.is_offence


def test_three_copies_of_each_must_agree() -> None:
    probes = SiteProbes()
    begin_comparison(probes, URL, copied(words("a")))
    steps = []
    step = Step.ASK_AS_BROWSER
    while step is not Step.DECIDED:
        steps.append(step)
        if step is Step.ASK_AS_BROWSER:
            probes.browsers.append(copied(words("b")))
        else:
            probes.crawlers.append(copied(words("a")))
        step, found = next_step(probes, SETTINGS)
    assert [each.value for each in steps] == ["browser", "crawler", "browser", "crawler", "browser"]
    assert found is not None


def test_which_pages_are_compared() -> None:
    probes = SiteProbes()
    assert not is_due(probes, 9, SETTINGS)
    assert is_due(probes, 10, SETTINGS)
    assert not wants_comparison(probes, 500, SETTINGS, worth=1.0, is_suspect=True)  # the home page comes first
    probes.compared = 1
    assert wants_comparison(probes, 500, SETTINGS, worth=0.0, is_suspect=True)
    assert wants_comparison(probes, 500, SETTINGS, worth=1.0, is_suspect=False)
    assert not wants_comparison(probes, 500, SETTINGS, worth=1.0, is_suspect=False)
    assert not wants_comparison(probes, 50, SETTINGS, worth=2.0, is_suspect=True)
    probes.compared = 20
    assert not wants_comparison(probes, 5000, SETTINGS, worth=3.0, is_suspect=True)


def test_pages_that_send_their_readers_away() -> None:
    settings = RedirectionSettings()
    refresh = '<meta http-equiv="refresh" content="{};url=http://{}/">'

    def target(delay: int, host: str, count: int = 150) -> str | None:
        html = f"<html><head>{refresh.format(delay, host)}</head><body><p>{words('a', count)}</p></body></html>"
        return leads_away(read_page(html.encode(), URL, "text/html"), settings)

    assert target(0, "casino.com") == "casino.com"
    assert target(30, "casino.com") is None
    assert target(0, "www.a.org") is None
    assert target(0, "casino.com", 20) is None


def test_a_site_is_judged_when_more_than_half_of_its_pages_lead_away() -> None:
    known, settings = SiteRedirections(), RedirectionSettings()
    evidence = [count_page(known, "casino.com", 2 * number, settings) for number in range(1, 9)]
    assert not any(evidence)
    assert count_page(known, "casino.com", 16, settings) == ("9 of 16 pages send their readers to casino.com at once",)
    assert not count_page(known, "casino.com", 17, settings)
