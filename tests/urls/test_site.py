"""Site, host, registrable domain and fingerprint."""

from __future__ import annotations

from tests.each_case import each_case
from xxhash import xxh3_64

from periplus.model import Site, Url
from periplus.urls import PublicSuffixes, domain_of, fingerprint, fingerprints, host_of, is_below, site_of


@each_case(
    ("url", "site", "host"),
    [
        ("http://example.org/", "example.org", "example.org"),
        ("https://example.org/a:b@c", "example.org", "example.org"),
        ("http://example.org:8080/a", "example.org:8080", "example.org"),
        ("https://user:pw@example.org:80/", "example.org:80", "example.org"),
        ("http://[::1]/", "[::1]", "[::1]"),
        ("https://[2001:db8::1]:8443/", "[2001:db8::1]:8443", "[2001:db8::1]"),
        ("http://a/", "a", "a"),
        ("https://example.org./", "example.org.", "example.org."),
    ],
)
def test_site_and_host(url: str, site: str, host: str) -> None:
    """Politeness is per host and port; user names belong to neither."""
    assert site_of(Url(url)) == site
    assert host_of(Url(url)) == host


@each_case(
    ("host", "domain"),
    [
        ("www.example.co.uk", "example.co.uk"),
        ("example.com", "example.com"),
        ("example.com.", "example.com"),
        ("com", None),
        ("someone.github.io", "someone.github.io"),
        ("a.b.unknown-top-level", "b.unknown-top-level"),
        ("localhost", None),
        ("127.0.0.1", None),
        ("[::1]", None),
        ("[::ffff:1.2.3.4]", None),
        (".example.com", None),
        ("a..com", None),
        ("", None),
        ("www.食狮.公司.cn", "食狮.公司.cn"),
        ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("EXAMPLE.Co.Uk", "example.co.uk"),
        ("https://user@www.example.co.uk:8443/x", "example.co.uk"),
        ("www.example.co.uk:8443", "example.co.uk"),
        ("127.0.0.1:8080", None),
        ("[::1]:8080", None),
        ("user@example.com", None),
        ("an example.com", None),
    ],
)
def test_registrable_domain(host: str, domain: str | None) -> None:
    """One label below a public suffix; none for suffixes, addresses and what is not a name."""
    assert domain_of(host) == domain


@each_case(
    ("host", "domain"),
    [
        ("a.lab.test", "a.lab.test"),
        ("www.a.lab.test:8080", "a.lab.test"),
        ("http://b.c.LAB.test/x", "c.lab.test"),
        ("lab.test", None),
        ("slab.test", "slab.test"),
        ("x.deep.lab.test", "x.deep.lab.test"),
        ("www.example.co.uk", "example.co.uk"),
        ("co.uk", None),
    ],
)
def test_further_suffixes(host: str, domain: str | None) -> None:
    """Names below a further suffix are domains of their own; the longest suffix counts, and the list still does."""
    assert domain_of(host, ("lab.test", "deep.lab.test")) == domain


def test_another_list_can_be_given() -> None:
    """Wildcards and exceptions as the list's format defines them."""
    suffixes = PublicSuffixes(["// a comment", "test", "*.wild.test", "!city.wild.test"])
    assert suffixes.domain_of("a.b.test") == "b.test"
    assert suffixes.domain_of("b.wild.test") is None
    assert suffixes.domain_of("a.b.wild.test") == "a.b.wild.test"
    assert suffixes.domain_of("x.city.wild.test") == "city.wild.test"


def test_fingerprints_are_stable() -> None:
    """Collections on disk are keyed by them: a change of the hash is a change of the format."""
    url = Url("http://example.org/")
    assert fingerprint(url) == xxh3_64(b"http://example.org/").intdigest() == FINGERPRINT
    assert fingerprints([url, Url("http://example.com/"), url]) == [
        FINGERPRINT,
        fingerprint(Url("http://example.com/")),
        FINGERPRINT,
    ]


FINGERPRINT = 13203927043952424321


@each_case(
    ("site", "name", "expected"),
    [
        ("example.org", "example.org", True),
        ("www.example.org", "example.org", True),
        ("badexample.org", "example.org", False),
        ("example.org:8080", "example.org", True),
        ("www.example.org:8080", "example.org", True),
        ("example.org:8080", "example.org:8080", True),
        ("example.org", "example.org:8080", False),
        ("example.org:8081", "example.org:8080", False),
        ("[2001:db8::1]:8080", "[2001:db8::1]", True),
        ("[2001:db8::1]", "[2001:db8:", False),
    ],
)
def test_sites_of_a_host(site: str, name: str, expected: bool) -> None:
    assert is_below(Site(site), ["other.test", name]) is expected
    assert not is_below(Site(site), [])
