"""Which addresses may be connected to: what links must never reach, and what an owner opens for which site."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.each_case import each_case
from tests.typed_seeds import guard_of

from periplus.engine.fetch import AddressGuard, WireSettings, opened_by, special_block
from periplus.engine.fetch.addresses import has_bad_port
from periplus.model import ConfigError, Site, Url
from periplus.urls import canonical, site_of

ANY_SITE = Site("www.example.org")

REFUSED = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::10.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "64:ff9b::7f00:1",
    "::ffff:0:7f00:1",
    "2002:0a00:0001::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2001:0:53aa:64c:0:59b:80ff:fffe",
    "2606:4700::5efe:10.0.0.1",
    "2606:4700::200:5efe:127.0.0.1",
    "fe80::5efe:93.184.215.14",
    "2001:db8::1",
    "2001::1",
    "2001:10::1",
    "3fff::1",
    "100::1",
    "5f00::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]
PUBLIC = [
    "1.1.1.1",
    "93.184.215.14",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.0.1.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "::ffff:93.184.215.14",
    "64:ff9b::5db8:d70e",
    "2002:5db8:d70e::1",
    "2606:4700::5efe:93.184.215.14",
]
INTRANET = ["10.1.2.3", "100.64.0.1", "127.0.0.1", "172.16.0.1", "192.168.1.1", "::1", "fd12:3456::1"]
"""Where an intranet may be."""


def seed(text: str) -> Url:
    found = canonical(text)
    assert found
    return found


@each_case("ip", REFUSED)
def test_special_addresses_are_refused(ip: str) -> None:
    """Every special-purpose block is refused, however the address is written or wrapped."""
    assert not AddressGuard().allows(ANY_SITE, ip)


@each_case("ip", PUBLIC)
def test_public_addresses_are_allowed(ip: str) -> None:
    """The neighbours of special blocks, and public addresses inside IPv6, are not refused with them."""
    assert AddressGuard().allows(ANY_SITE, ip)


@each_case("text", ["", "localhost", "127.1", "2130706433", "0x7f.0.0.1", "1.2.3.4.5", "[::1]", "1.1.1.1 "])
def test_text_that_is_not_an_address_is_refused(text: str) -> None:
    """Only an address in its plain form is allowed, also for a site that is open."""
    assert not AddressGuard().allows(ANY_SITE, text)
    opened = guard_of([seed("http://www.example.org/")], hosts={ANY_SITE: "10.0.0.1"}, allow_private=[ANY_SITE])
    assert opened.allows(ANY_SITE, "10.0.0.1")
    assert not opened.allows(ANY_SITE, text)


@each_case("host", ["10.1.2.3", "169.254.169.254", "0.0.0.0", "[::1]", "[fd00::1]", "[::ffff:10.0.0.9]"])
@each_case("port", ["", ":8080"])
def test_a_literal_seed_opens_its_address_for_its_own_site(host: str, port: str) -> None:
    """Neither another site nor another port leads there, nor does the seed's site lead elsewhere."""
    url = seed(f"http://{host}{port}/")
    guard, ip = guard_of([url]), site_of(url).removesuffix(port).strip("[]")
    assert guard.allows(site_of(url), ip)
    assert guard.allows(site_of(seed(f"http://{host}{port}/other")), ip)
    assert not guard.allows(site_of(seed(f"http://{host}:9999/")), ip)
    assert not guard.allows(ANY_SITE, ip)
    assert not guard.allows(site_of(url), "10.9.9.9")
    assert guard.allows(site_of(seed(f"https://{host}/")), ip) is (port == "")


@pytest.mark.parametrize("name", ["localhost", "app.localhost"])
def test_localhost_opens_loopback_for_its_own_site(name: str) -> None:
    """Whatever a name server says that localhost is."""
    guard = guard_of([seed(f"http://{name}:8000/")])
    site = Site(f"{name}:8000")
    assert guard.allows(site, "127.0.0.1")
    assert guard.allows(site, "::1")
    assert not guard.allows(site, "10.0.0.1")
    assert not guard.allows(site, "169.254.169.254")
    assert not guard.allows(Site(f"{name}:9200"), "127.0.0.1")
    assert not guard.allows(ANY_SITE, "127.0.0.1")
    assert not guard_of([seed("http://localhost.example.org/")]).allows(Site("localhost.example.org"), "127.0.0.1")


def test_what_typed_seeds_add() -> None:
    """Their own sites, each once; a public address and a name add nothing, and neither does a seed without a person."""
    typed = [
        "http://10.0.0.1/",
        "https://10.0.0.1/",
        "http://10.0.0.1:443/x",
        "http://[fd00::1]:8080/",
        "http://1.1.1.1/",
    ]
    typed += ["http://localhost:3000/", "http://www.example.org:8080/", "http://2130706433:81/"]
    added = ("10.0.0.1", "[fd00::1]:8080", "localhost:3000", "127.0.0.1:81")
    assert opened_by(map(seed, typed), {}, ()) == added
    assert opened_by(map(seed, typed), {}, added) == added
    table = {"*.lab.test": "127.0.0.1"}
    hosts = [f"http://{name}.lab.test:{port}/" for port in (8080, 8081) for name in "abc"]
    assert opened_by(map(seed, hosts), table, ()) == ("a.lab.test:8080", "a.lab.test:8081")
    assert opened_by([seed("http://wiki.example:8080/")], {}, ["wiki.example"]) == ("wiki.example", "wiki.example:8080")
    assert opened_by((), {}, ["Intranet.example:80"]) == ("intranet.example",)


@each_case("ip", REFUSED)
def test_the_name_of_a_seed_opens_nothing(ip: str) -> None:
    """What a name resolves to is for its owner to choose, not for the owner of the crawl."""
    guard = guard_of([seed("http://www.example.org/"), seed("http://metadata.internal/")])
    assert not guard.allows(ANY_SITE, ip)
    assert not guard.allows(Site("metadata.internal"), ip)


def test_the_table_opens_its_names_on_the_ports_of_seeds() -> None:
    """A name with a fixed address was written down by the owner; other names at that address were not."""
    table = {"a.test": "127.0.0.1", "*.lab.test": "10.0.0.1"}
    guard = guard_of([seed("http://a.test:8080/"), seed("http://b.example:9000/")], hosts=table)
    assert guard.allows(Site("a.test:8080"), "127.0.0.1")
    assert guard.allows(Site("www.lab.test:8080"), "10.0.0.1")
    assert not guard.allows(Site("a.test"), "127.0.0.1")
    assert not guard.allows(Site("a.test:9000"), "127.0.0.1")
    assert not guard.allows(Site("b.example:9000"), "127.0.0.1")
    assert not guard.allows(Site("lab.test:8080"), "10.0.0.1")
    alone = guard_of([seed("http://b.example:9000/")], hosts=table)
    assert alone.allows(Site("a.test"), "127.0.0.1")
    assert not alone.allows(Site("a.test:8080"), "127.0.0.1")


@each_case("ip", INTRANET)
def test_allow_private_opens_the_hosts_that_it_names(ip: str) -> None:
    """On the default ports, on the port that it names, and where a seed with such a host is."""
    allow = ["Intranet.example", "*.corp.example", "wiki.example:8080"]
    guard = guard_of([seed("http://intranet.example:3000/")], allow_private=allow)
    for site in ("intranet.example", "intranet.example:3000", "a.b.corp.example", "wiki.example:8080"):
        assert guard.allows(Site(site), ip), site
    for site in ("intranet.example:22", "corp.example", "a.corp.example:3000", "wiki.example", "evil-corp.example"):
        assert not guard.allows(Site(site), ip), site


_INTRANET_BLOCKS = {special_block(ip) for ip in INTRANET}


@each_case("ip", [ip for ip in REFUSED if special_block(ip) not in _INTRANET_BLOCKS])
def test_allow_private_opens_no_other_special_addresses(ip: str) -> None:
    """Above all not the metadata service of a cloud, should the name come to lead there."""
    assert not AddressGuard(allow_private=["intranet.example"]).allows(Site("intranet.example"), ip)


def test_allow_private_takes_addresses() -> None:
    """An address that a seed's pages link to: that one, on that port."""
    guard = AddressGuard(allow_private=["10.0.0.7:8080", "fd00::1", "169.254.1.1:80"])
    assert guard.allows(Site("10.0.0.7:8080"), "10.0.0.7")
    assert guard.allows(Site("[fd00::1]"), "fd00::1")
    assert guard.allows(Site("169.254.1.1"), "169.254.1.1")
    assert not guard.allows(Site("10.0.0.7"), "10.0.0.7")
    assert not guard.allows(Site("10.0.0.8:8080"), "10.0.0.8")
    assert not guard.allows(ANY_SITE, "10.0.0.7")


@each_case("text", ["", "*", "10.0.0.0/8", "http://intranet.example/", "*.10.0.0.1", "a b", "me@host"])
def test_allow_private_is_checked_when_settings_are_read(text: str) -> None:
    """Networks and wildcards for everything are refused: they would open a site that a stranger chose."""
    with pytest.raises(ConfigError, match="allow_private"):
        WireSettings(allow_private=(text,))


def test_a_proxy_is_not_asked_for_its_own_localhost() -> None:
    """Names are the proxy's to look up, but localhost would be the proxy itself, and addresses are known here."""
    guard = guard_of([seed("http://localhost:8000/"), seed("http://10.0.0.1/")])
    assert guard.allows_by_name(ANY_SITE)
    assert guard.allows_by_name(Site("localhost:8000"))
    assert guard.allows_by_name(Site("10.0.0.1"))
    for site in ("localhost", "localhost:22", "a.localhost", "127.0.0.1:8000", "10.0.0.2", "[::1]:8000"):
        assert not guard.allows_by_name(Site(site)), site


@given(st.ip_addresses())
def test_nothing_private_by_the_standard_library_is_public_here(address: IPv4Address | IPv6Address) -> None:
    """Python's own table of private, loopback, link-local and multicast addresses is contained in ours."""
    is_special = address.is_private or address.is_loopback or address.is_link_local or address.is_multicast
    if is_special or address.is_unspecified:
        carried = getattr(address, "ipv4_mapped", None)
        if carried is None or carried.is_private:
            assert special_block(str(address)) is not None


@given(st.ip_addresses(v=4))
def test_wrapping_changes_nothing(address: IPv4Address) -> None:
    """An IPv4 address inside an IPv6 one is judged as itself."""
    plain = special_block(str(address))
    number = int(address)
    for wrapped in (0xFFFF << 32 | number, 0x64FF9B << 96 | number, 0x2002 << 112 | number << 80):
        assert special_block(str(ip_address(wrapped))) == plain


@each_case("site", ["mail.example:25", "www.example.org:22", "[2001:db8::1]:6667", "10.0.0.1:10080"])
def test_ports_of_other_protocols_are_bad(site: str) -> None:
    """No link makes us speak to a mail server (WHATWG Fetch, section 2.9)."""
    assert has_bad_port(Site(site))


@each_case("site", ["www.example.org", "www.example.org:8080", "www.example.org:443", "[2001:db8::25]", "10.0.0.25"])
def test_ports_of_http_are_not_bad(site: str) -> None:
    assert not has_bad_port(Site(site))
