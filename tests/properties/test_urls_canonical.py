"""The canonical form is a fixed point, of our form and of the standard, whatever the web writes."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from periplus.urls import MAX_LENGTH, canonical, domain_of, fingerprint, fingerprints, host_of, site_of, surt, whatwg

ODD = "./\\%?#:@ \t\n\r\0[]|'\"<>^`{}~;&=+é例\u3002\uff0e\ud800\u00ad"
PIECES = [
    "%2e",
    "%2E",
    "%%",
    "%2",
    "%41",
    "%7e",
    "%25",
    "%c3%A9",
    "..",
    "//",
    "xn--",
    "0x7f",
    "1.2",
    ":80",
    ":443",
    "a",
    "B",
    "9",
]

text = st.lists(st.sampled_from([*ODD, *PIECES]) | st.characters(), max_size=12).map("".join)
schemes = st.sampled_from(["http://", "HTTPS://", "https:/", "http:", "//", "ftp://", "mailto:", ""])
hosts = st.sampled_from(
    [
        "a",
        "A.b",
        "xn--mnchen-3ya.de",
        "münchen.de",
        "1.2",
        "0x7f.1",
        "[::1]",
        "a.b.",
        "u:p@h",
        "h:80",
        "h:8080",
        "a_b",
        "%61",
    ]
)
urls = st.builds(lambda scheme, host, rest: scheme + host + rest, schemes, hosts | text, text)
fetchable = st.builds(lambda host, rest: f"http://{host}/{rest}", hosts, text)


@given(urls | fetchable)
@example("http://a/%2%35")
@example("http://a/%%41%42")
@example("http://a/%7%45?%7%45")
@example("http://a/x #y")
def test_canonical_is_a_fixed_point(url: str) -> None:
    """A canonical URL is its own canonical form and its own standard form: there is nothing left to fold."""
    form = canonical(url)
    if form is not None:
        assert canonical(form) == form
        assert whatwg(form) == form


@given(urls | fetchable)
def test_canonical_url_is_plain_ascii_without_fragment(url: str) -> None:
    """Every other room may cut a canonical URL with string operations."""
    form = canonical(url)
    if form is not None:
        assert re.fullmatch(r"https?://[!-~]+/[!-~]*", form)
        assert "#" not in form
        assert len(form) <= MAX_LENGTH


@given(urls | fetchable)
def test_canonical_never_changes_what_the_escapes_mean(url: str) -> None:
    """Decoding all escapes of the standard form and of ours gives the same bytes: no escape was made or unmade."""
    standard, form = whatwg(url), canonical(url)
    if form is not None and standard is not None:
        before = standard.partition("#")[0]
        assert _unescape(form.removesuffix("?")) == _unescape(before.removesuffix("?"))


def _unescape(text: str) -> str:
    return re.sub("%([0-9A-Fa-f]{2})", lambda match: chr(int(match[1], 16)), text)


@given(st.text(), st.text() | st.none())
def test_no_string_makes_the_parser_raise(url: str, base: str | None) -> None:
    """What is not a URL is `None`, never an exception."""
    for encoding in ("utf-8", "shift_jis", "windows-1251", "no such encoding"):
        whatwg(url, base, encoding)
        canonical(url, base, encoding)


@given(fetchable)
def test_what_is_told_of_a_url_agrees(url: str) -> None:
    """Site, host, domain, fingerprint and archive key can be told of every canonical URL, and fit together."""
    form = canonical(url)
    if form is not None:
        site, host = site_of(form), host_of(form)
        assert "@" not in site
        assert site == host or site.startswith(host + ":")
        assert f"//{site}/" in form or f"@{site}/" in form
        domain = domain_of(host)
        assert domain is None or host.rstrip(".").endswith(domain)
        assert fingerprints([form]) == [fingerprint(form)]
        assert 0 <= fingerprint(form) < 2**64
        assert surt(form).isascii()


@given(fetchable)
def test_archive_key_does_not_tell_schemes_and_www_apart(url: str) -> None:
    """Spellings under which a reader may ask for one page meet in one key."""
    plain = canonical(url)
    if plain is not None and plain.startswith("http://a/"):
        for spelling in (plain.replace("http://a/", "https://a/", 1), plain.replace("http://a/", "http://www2.a./", 1)):
            form = canonical(spelling)
            assert form is not None
            assert surt(form) == surt(plain)
