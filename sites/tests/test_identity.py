"""Whether an address is that of the crawler it names: names that are confirmed, ranges, and answers a ledger keeps."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.each_case import each_case

from periplus.formats.address_ranges import read_address_ranges
from periplus_sites.agents import Crawler
from periplus_sites.identity import (
    KEPT_FOR,
    Answer,
    IdentityVerdict,
    LedgerAnswers,
    Ranges,
    SystemResolver,
    confirm,
    ends_with,
    read_ranges,
    signs_for,
    verdict,
)
from periplus_sites.ledger import Ledger

GOOGLE = Crawler("Googlebot", suffixes=("googlebot.com",), ranges=("https://a.test/googlebot.json",))
LISTED = Crawler("GPTBot", ranges=("https://a.test/gptbot.json",))
NAMES = {
    "192.0.2.1": ["crawl-192-0-2-1.googlebot.com"],
    "192.0.2.2": ["crawl-192-0-2-2.googlebot.com"],  # given by the owner of the address; the name leads elsewhere
    "192.0.2.3": ["crawl.notgooglebot.com"],
    "2001:db8::1": ["six.googlebot.com"],
}
ADDRESSES = {
    "crawl-192-0-2-1.googlebot.com": ["192.0.2.1"],
    "crawl-192-0-2-2.googlebot.com": ["198.51.100.7"],
    "crawl.notgooglebot.com": ["192.0.2.3"],
    "six.googlebot.com": ["2001:0db8:0000::1"],
}


def names_of(address: str) -> Sequence[str]:
    if address == "192.0.2.99":
        raise OSError(errno.ETIMEDOUT, "no answer")
    if address not in NAMES:
        raise OSError(1, "no such host")
    return NAMES[address]


class Zone:
    """A resolver of the names above that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def answers(self, addresses: Sequence[str]) -> Mapping[str, Answer]:
        self.asked += addresses
        return {each: confirm(each, names_of, lambda name: ADDRESSES[name]) for each in addresses}


@each_case(
    ("address", "judged"),
    [
        ("192.0.2.1", IdentityVerdict.VERIFIED),
        ("2001:db8::1", IdentityVerdict.VERIFIED),
        ("192.0.2.2", IdentityVerdict.FALSE),
        ("192.0.2.3", IdentityVerdict.FALSE),
        ("192.0.2.4", IdentityVerdict.FALSE),
        ("192.0.2.99", IdentityVerdict.UNKNOWN),
    ],
)
def test_a_name_must_be_of_the_operator_and_have_the_address(address: str, judged: IdentityVerdict) -> None:
    answer = Zone().answers([address])[address]
    assert verdict(GOOGLE, address, Ranges(), answer) is judged


def test_without_an_answer_nothing_is_claimed() -> None:
    assert verdict(GOOGLE, "192.0.2.1", Ranges(), None) is IdentityVerdict.UNKNOWN
    assert verdict(LISTED, "192.0.2.1", Ranges(), Answer(())) is IdentityVerdict.UNKNOWN


def test_suffixes_end_at_the_boundary_of_a_label() -> None:
    assert ends_with("a.GoogleBot.com.", ["googlebot.com"])
    assert ends_with("googlebot.com", ["googlebot.com"])
    assert not ends_with("notgooglebot.com", ["googlebot.com"])
    assert not ends_with("googlebot.com.evil.test", ["googlebot.com"])


@each_case(
    ("agent", "signs"),
    [
        ("https://crawl.googlebot.com/.well-known/http-message-signatures-directory", True),
        ("https://googlebot.com/.well-known/http-message-signatures-directory", True),
        ("https://notgooglebot.com/.well-known/http-message-signatures-directory", False),
        ("https://googlebot.com:8443/.well-known/http-message-signatures-directory", False),
        ("https://googlebot.com/.well-known/http-message-signatures-directory?of=mallory", False),
        ("https://googlebot.com/web/https://a.test/.well-known/http-message-signatures-directory", False),
        ("https://googlebot.com/jwks.json", False),
        ("https://googlebot.com/", False),
    ],
)
def test_only_the_directory_of_an_own_host_signs_for_a_crawler(agent: str, signs: bool) -> None:
    assert signs_for(agent, GOOGLE) is signs


def test_published_ranges_verify(tmp_path: Path) -> None:
    (tmp_path / "gptbot.json").write_text(
        '{"prefixes": [{"ipv4Prefix": "192.0.2.0/28"}, {"ipv6Prefix": "2001:db8::/32"}, {"ipv4Prefix": "nonsense"}]}'
    )
    (tmp_path / "googlebot.json").write_text('{"prefixes": [{"ipv4Prefix": "198.51.100.0/24"}]}')
    (tmp_path / "broken.json").write_text("[")
    ranges, oldest = read_ranges(tmp_path)
    assert oldest is not None
    for address, judged in {
        "192.0.2.15": IdentityVerdict.VERIFIED,
        "192.0.2.16": IdentityVerdict.FALSE,
        "2001:db8:1::5": IdentityVerdict.VERIFIED,
        "a.name.test": IdentityVerdict.UNKNOWN,
    }.items():
        assert verdict(LISTED, address, ranges, None) is judged
    assert verdict(GOOGLE, "198.51.100.3", ranges, None) is IdentityVerdict.VERIFIED
    assert verdict(GOOGLE, "192.0.2.1", ranges, None) is IdentityVerdict.UNKNOWN  # its name was not looked up


@each_case("body", [b"", b"[]", b"{}", b'{"prefixes": 1}', b'{"prefixes": [1]}', b"[" * 100_000])
def test_other_files_have_no_ranges(body: bytes) -> None:
    assert not read_address_ranges(body).ranges


def test_a_ledger_keeps_answers_for_a_week(tmp_path: Path) -> None:
    ledger, zone, now = Ledger(tmp_path / "ledger.sqlite"), Zone(), 1_750_000_000.0
    asked = ["192.0.2.1", "192.0.2.4", "192.0.2.99"]
    first = LedgerAnswers(ledger, zone, lambda: now).answers(asked)
    assert zone.asked == asked
    kept = LedgerAnswers(ledger, None, lambda: now + KEPT_FOR - 1).answers(asked)
    assert kept == {each: first[each] for each in asked[:2]}  # no answer is not kept
    assert LedgerAnswers(ledger, None, lambda: now + KEPT_FOR + 1).answers(asked) == {}
    ledger.close()


def test_the_resolver_of_the_machine_knows_its_own_address() -> None:
    """Loopback has a name on most machines; without one the answer is that there is none."""
    found = SystemResolver().answers(["127.0.0.1"])
    assert set(found) <= {"127.0.0.1"}
    assert verdict(GOOGLE, "127.0.0.1", Ranges(), found.get("127.0.0.1")) is not IdentityVerdict.VERIFIED
