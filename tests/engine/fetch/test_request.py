"""What we say to servers: who we are, what we ask for, and what we keep to ourselves."""

from __future__ import annotations

import pytest
from tests.each_case import each_case

from periplus import __version__
from periplus.engine.fetch import CrawlerIdentity, WireSettings
from periplus.engine.fetch.request import Requests
from periplus.formats.robots import product_token
from periplus.model import ConfigError, FetchTask, Lane, Purpose, Site, Url, Validators


def task(url: str, purpose: Purpose = Purpose.PAGE, validators: Validators | None = None) -> FetchTask:
    return FetchTask(Url(url), Site("x"), purpose, Lane.DISCOVERY, 0.0, validators)


def test_the_agent_names_product_version_and_contact() -> None:
    """Owners see who comes and whom to write to, and robots.txt can name us."""
    identity = CrawlerIdentity("https://example.org/bot")
    assert identity.agent == f"Periplus/{__version__} (+https://example.org/bot)"
    assert product_token(identity.agent) == identity.token.lower()
    assert CrawlerIdentity().agent == f"Periplus/{__version__}"


@each_case(
    "wrong",
    [
        {"product": "Bot2"},
        {"product": ""},
        {"version": "1 0"},
        {"version": ""},
        {"contact": "a b"},
        {"contact": "x\r\nEvil: 1"},
        {"contact": "a)b"},
        {"contact": "ü@example.org"},
    ],
)
def test_an_identity_that_cannot_be_sent_is_our_mistake(wrong: dict[str, str]) -> None:
    """Nothing that breaks the header or hides from robots.txt."""
    with pytest.raises(ConfigError) as error:
        CrawlerIdentity(**wrong)
    assert error.value.hint


def test_a_mailbox_goes_into_from_as_well() -> None:
    """RFC 9110 section 10.1.2; the URL of a page is not a mailbox."""
    assert b"\r\nFrom: me@example.org\r\n" in Requests(CrawlerIdentity("me@example.org")).head(task("http://a/"))
    assert b"\r\nFrom: me@example.org\r\n" in Requests(CrawlerIdentity("mailto:me@example.org")).head(task("http://a/"))
    assert b"From:" not in Requests(CrawlerIdentity("https://example.org/@me")).head(task("http://a/"))


def test_the_whole_request() -> None:
    """Every field is there, in order, and ends as it should."""
    head = Requests(CrawlerIdentity(version="1"), "en, de;q=0.5").head(task("https://a.test:8443/x?y=1"))
    assert head.split(b"\r\n") == [
        b"GET /x?y=1 HTTP/1.1",
        b"Host: a.test:8443",
        b"User-Agent: Periplus/1",
        b"Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.5",
        b"Accept-Encoding: gzip, deflate, br, zstd",
        b"Accept-Language: en, de;q=0.5",
        b"",
        b"",
    ]


@each_case("purpose", [Purpose.SITEMAP, Purpose.FEED, Purpose.ARCHIVE])
def test_what_is_read_while_it_arrives_is_asked_for_in_gzip(purpose: Purpose) -> None:
    """Its reader takes off gzip, which shows in the first bytes, and nothing else."""
    head = Requests(CrawlerIdentity()).head(task("http://a/", purpose))
    assert b"\r\nAccept-Encoding: gzip\r\n" in head


def test_validators_go_back_as_they_came() -> None:
    """Conditional requests: RFC 9110 section 13.1."""
    known = Validators('W/"x"', "Mon, 05 Jan 2026 00:00:00 GMT")
    head = Requests(CrawlerIdentity()).head(task("http://a/", validators=known))
    assert b'\r\nIf-None-Match: W/"x"\r\nIf-Modified-Since: Mon, 05 Jan 2026 00:00:00 GMT\r\n\r\n' in head


@each_case("etag", ['"a\r\nEvil: yes"', '"\x00"', '"ü"', ""])
def test_a_validator_cannot_smuggle(etag: str) -> None:
    """What would break the head is left out; the request is then a plain one."""
    plain = Requests(CrawlerIdentity()).head(task("http://a/"))
    assert Requests(CrawlerIdentity()).head(task("http://a/", validators=Validators(etag))) == plain


def test_user_name_and_password_are_not_sent() -> None:
    """Not in the head, and not by libcurl either (see the test against a server)."""
    head = Requests(CrawlerIdentity()).head(task("http://user:secret@a.test/x"))
    assert b"secret" not in head
    assert head.startswith(b"GET /x HTTP/1.1\r\nHost: a.test\r\n")


@each_case("wrong", [{"max_transfers": 0}, {"max_page_bytes": 0}, {"timeout": 0.0}])
def test_limits_that_allow_nothing_are_our_mistake(wrong: dict[str, float]) -> None:
    """A bound of zero would make every fetch fail, far from its cause."""
    with pytest.raises(ConfigError):
        WireSettings(**wrong)  # type: ignore[arg-type]


@each_case("purpose", Purpose)
def test_every_purpose_has_a_limit_and_an_accept_field(purpose: Purpose) -> None:
    """A new purpose cannot be forgotten."""
    assert WireSettings().max_body(purpose) >= 500 * 1024
    assert b"\r\nAccept: " in Requests(CrawlerIdentity()).head(task("http://a/", purpose))
