"""The verifier: what it fetches and how often, what it keeps, and what it concludes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

import pytest

from periplus.apps.identity.verifier import (
    FAILURES_KEPT,
    LACKING_KEPT,
    MOST_DIRECTORIES,
    DirectoryAnswer,
    KeyDirectories,
    SignatureVerifier,
    fetch_directory,
    fetch_with,
)
from periplus.engine.clock import SystemClock
from periplus.engine.fetch import AddressGuard, CrawlerIdentity, ResolverSettings, SingleRequests, WireSettings
from periplus.formats.web_bot_auth import (
    PrivateKey,
    RequestSigning,
    SignaturePolicy,
    SignatureVerdict,
    SignedMessage,
    new_key,
    write_directory,
)
from periplus.model import Url

pytest.importorskip("cryptography", reason="signatures need the extra `identity`")

URL = Url("https://www.example.org/page")
AGENT = "https://signer.example.net"
DIRECTORY = f"{AGENT}/.well-known/http-message-signatures-directory"
KEY, OTHER = new_key(), new_key()


class Web:
    """Directories, a clock, and a verifier that uses them."""

    def __init__(self, *, once: bool = False) -> None:
        self.now = 1_790_000_000.0
        self.answer = directory(KEY)
        self.asked: list[str] = []
        policy = SignaturePolicy()
        self.directories = KeyDirectories(self.fetch, policy)
        self.verifier = SignatureVerifier(self.directories, policy, lambda: self.now, once=once)

    def fetch(self, url: str) -> DirectoryAnswer:
        self.asked.append(url)
        return self.answer

    def judge(self, key: PrivateKey = KEY, nonce: str = "", agent: str = AGENT) -> SignatureVerdict:
        fields = RequestSigning(key, agent).fields("GET", URL, self.now, nonce)
        return self.verifier.verdict(SignedMessage("GET", URL, fields, b""))[0]


def directory(*keys: PrivateKey, age: int = 3600) -> DirectoryAnswer:
    return DirectoryAnswer(200, (("Cache-Control", f"max-age={age}"),), write_directory(keys))


@pytest.fixture
def web() -> Web:
    return Web()


def test_a_directory_is_fetched_once_while_it_is_fresh(web: Web) -> None:
    for _ in range(5):
        verdict = web.judge()
        assert (verdict.outcome, verdict.agent, verdict.keyid) == ("verified", DIRECTORY, KEY.thumbprint)
    assert web.asked == [DIRECTORY]
    web.now += 3601
    assert web.judge().outcome == "verified"
    assert len(web.asked) == 2


def test_a_new_key_is_looked_for_after_a_minute(web: Web) -> None:
    assert web.judge().outcome == "verified"
    web.answer = directory(KEY, OTHER)
    assert web.judge(OTHER).reason == "key-unknown"
    assert len(web.asked) == 1
    web.now += LACKING_KEPT
    assert web.judge(OTHER).outcome == "verified"
    assert len(web.asked) == 2


def test_a_directory_that_lacks_a_key_replaces_what_was_known(web: Web) -> None:
    assert web.judge().outcome == "verified"
    web.answer = directory(OTHER)
    web.now += 3601
    verdict = web.judge()
    assert (verdict.outcome, verdict.reason) == ("unverified", "key-unknown")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (DirectoryAnswer(failure="directory-unreachable"), "directory-unreachable"),
        (DirectoryAnswer(failure="private-address"), "private-address"),
        (DirectoryAnswer(302, (("Location", "https://elsewhere.example/"),)), "directory-redirects"),
        (DirectoryAnswer(500), "directory-unreachable"),
        (DirectoryAnswer(200, (), b"<html>"), "directory-unreadable"),
        (DirectoryAnswer(200, (), b" " * 65_537), "directory-too-large"),
    ],
)
def test_a_directory_that_fails_replaces_nothing(web: Web, answer: DirectoryAnswer, reason: str) -> None:
    assert web.judge().outcome == "verified"
    web.answer = answer
    web.now += 3601
    assert web.judge().outcome == "verified"
    fresh = Web()
    fresh.answer = answer
    for _ in range(3):
        verdict = fresh.judge()
        assert (verdict.outcome, verdict.reason, verdict.agent) == ("unverified", reason, "")
    assert len(fresh.asked) == 1
    fresh.answer = directory(KEY)
    fresh.now += FAILURES_KEPT
    assert fresh.judge().outcome == "verified"


@pytest.mark.parametrize("place", ["read_directory", "fresh_for"])
def test_an_answer_that_breaks_its_reader_is_kept_as_a_failure(
    web: Web, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def broken(*_: object) -> None:
        raise TypeError("unhashable")

    monkeypatch.setattr(f"periplus.apps.identity.verifier.{place}", broken)
    for _ in range(3):
        assert web.judge().reason == "directory-unreadable"
    assert len(web.asked) == 1
    monkeypatch.undo()
    web.now += FAILURES_KEPT
    assert web.judge().outcome == "verified"


def test_a_key_counts_for_its_own_agent_only(web: Web) -> None:
    assert web.judge().outcome == "verified"
    web.answer = directory(OTHER)
    verdict = web.judge(agent="https://mallory.example.net")
    assert (verdict.outcome, verdict.reason) == ("unverified", "key-unknown")


def test_one_fetch_at_a_time_for_a_directory(web: Web) -> None:
    started, release = threading.Event(), threading.Event()
    answer = web.answer

    def slow(url: str) -> DirectoryAnswer:
        web.asked.append(url)
        started.set()
        release.wait(10)
        return answer

    directories = KeyDirectories(slow, SignaturePolicy())
    verifier = SignatureVerifier(directories, SignaturePolicy(), lambda: web.now)
    fields = RequestSigning(KEY, AGENT).fields("GET", URL, web.now)
    found: list[SignatureVerdict] = []
    judge: Callable[[], None] = lambda: found.append(verifier.verdict(SignedMessage("GET", URL, fields, b""))[0])  # noqa: E731
    threads = [threading.Thread(target=judge) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert started.wait(10)
    time.sleep(0.05)
    release.set()
    for thread in threads:
        thread.join(10)
    assert [verdict.outcome for verdict in found] == ["verified"] * 8
    assert len(web.asked) == 1


def test_without_waiting_nothing_is_fetched(web: Web) -> None:
    fields = RequestSigning(KEY, AGENT).fields("GET", URL, web.now)
    verdict, pending = web.verifier.verdict(SignedMessage("GET", URL, fields, b""), waits=False)
    assert (verdict.outcome, verdict.reason, pending) == ("unverified", "key-pending", [DIRECTORY])
    assert not web.asked
    web.verifier.learn(DIRECTORY)
    verdict, pending = web.verifier.verdict(SignedMessage("GET", URL, fields, b""), waits=False)
    assert (verdict.outcome, pending) == ("verified", [])


def test_a_signature_is_accepted_once_if_that_is_the_policy() -> None:
    web = Web(once=True)
    assert web.judge(nonce="b25l").outcome == "verified"
    assert web.judge(nonce="b25l").reason == "replayed"
    assert web.judge(nonce="dHdv").outcome == "verified"
    assert web.judge().outcome == "verified"  # known by its bytes
    assert web.judge().reason == "replayed"
    web.now += 1000
    assert web.judge(nonce="b25l").outcome == "verified"


def test_several_signers(web: Web) -> None:
    """The first that is verified is the sender: no directory is fetched for those behind it."""
    ours, theirs = (
        RequestSigning(key, agent).fields("GET", URL, web.now)
        for key, agent in ((OTHER, "https://other.example.net"), (KEY, AGENT))
    )
    fields = tuple(
        (name, f"{one.replace('sig1', 'sig0')}, {two}") for (name, one), (_, two) in zip(ours, theirs, strict=True)
    )
    verdict, _ = web.verifier.verdict(SignedMessage("GET", URL, fields, b""))
    assert (verdict.outcome, verdict.agent) == ("verified", DIRECTORY)
    assert len(web.asked) == 2
    swapped = tuple((name, ", ".join(reversed(value.split(", ")))) for name, value in fields)
    fresh = Web()
    verdict, _ = fresh.verifier.verdict(SignedMessage("GET", URL, swapped, b""))
    assert (verdict.outcome, fresh.asked) == ("verified", [DIRECTORY])


def test_a_copy_is_one_whoever_signed_it_beside() -> None:
    """Also if another signature of the same request had not been seen."""
    web = Web(once=True)
    assert web.judge(nonce="b25l").outcome == "verified"
    agent, *copied = RequestSigning(KEY, AGENT).fields("GET", URL, web.now, "b25l")
    _, *other = RequestSigning(KEY, AGENT).fields("GET", URL, web.now, "dHdv")
    pairs = zip(copied, other, strict=True)
    both = [(name, f"{one}, {two.replace('sig1', 'sig2', 1)}") for (name, one), (_, two) in pairs]
    verdict, _ = web.verifier.verdict(SignedMessage("GET", URL, (agent, *both), b""))
    assert (verdict.outcome, verdict.reason) == ("invalid", "replayed")


@pytest.mark.parametrize(
    ("dates", "reason"), [({"nbf": 600}, "key-not-yet-valid"), ({"exp": -600}, "key-expired"), ({"exp": 600}, "")]
)
def test_a_key_counts_between_its_dates(web: Web, dates: dict[str, int], reason: str) -> None:
    """Outside of them nothing is claimed falsely. They are those of the request, which a log may have from before."""
    jwk = KEY.jwk | {name: web.now + value for name, value in dates.items()}
    web.answer = DirectoryAnswer(200, (), json.dumps({"keys": [jwk]}).encode())
    verdict = web.judge()
    assert (verdict.outcome, verdict.reason) == ("unverified" if reason else "verified", reason)
    for later, is_valid in ((-1200, "nbf" not in dates), (1200, "nbf" in dates)):
        at = web.now + later
        fields = RequestSigning(KEY, AGENT).fields("GET", URL, at)
        verdict, _ = web.verifier.verdict(SignedMessage("GET", URL, fields, b""), at=at)
        assert verdict.outcome == ("verified" if is_valid else "unverified")
    assert len(web.asked) == 1


def test_few_directories_are_kept(web: Web) -> None:
    for number in range(MOST_DIRECTORIES + 50):
        web.judge(agent=f"https://signer{number}.example.net")
    assert len(web.directories._known) == MOST_DIRECTORIES


def test_what_failed_is_dropped_first_and_then_what_was_used_longest_ago(web: Web) -> None:
    def judge(*numbers: int) -> list[str]:
        before = len(web.asked)
        for number in numbers:
            web.judge(agent=f"https://signer{number}.example.net")
        return [url.removeprefix("https://signer").partition(".")[0] for url in web.asked[before:]]

    judge(*range(MOST_DIRECTORIES - 1))
    web.answer = DirectoryAnswer(failure="directory-unreachable")
    assert judge(5000, 5001, 5001) == ["5000", "5001"]  # the second failure takes the place of the first
    web.answer = directory(KEY)
    assert judge(0, 6000, 6001) == ["6000", "6001"]  # in the places of the failure and of the first that was not used
    assert judge(0, 2, 1) == ["1"]


def test_a_bound_holds_for_all_directories_and_for_a_domain(web: Web) -> None:
    web.directories = KeyDirectories(web.fetch, SignaturePolicy(), 50)
    web.verifier = SignatureVerifier(web.directories, SignaturePolicy(), lambda: web.now)
    for number in range(10):
        web.judge(agent=f"https://signer{number}.example.net")
        web.judge(agent=f"https://192.0.2.{number}")
    assert len(web.asked) == 10
    for number in range(100):
        web.judge(agent=f"https://signer{number}.example")
    assert len(web.asked) == 50
    verdict = web.judge(agent="https://another.example")
    assert (verdict.outcome, verdict.reason) == ("unverified", "key-pending")
    assert web.judge(agent="https://signer0.example").outcome == "verified"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "10.0.0.1", "[::1]", "169.254.169.254"])
def test_private_addresses_are_not_fetched_from(host: str) -> None:
    """A client may name any URL: the verifier must not become its hand in our network."""
    answer = fetch_directory(f"https://{host}/.well-known/http-message-signatures-directory")
    assert answer == DirectoryAnswer(failure="private-address")


def test_names_that_lead_to_private_addresses_are_not_fetched_from() -> None:
    """`dns.hosts` stands for a name server that answers with an address of this machine."""
    requests = SingleRequests(
        WireSettings(timeout=3.0, connect_timeout=3.0),
        identity=CrawlerIdentity(),
        clock=SystemClock(),
        dns=ResolverSettings(hosts={"signer.test": "127.0.0.1"}),
        guard=AddressGuard(),
    )
    assert fetch_with(requests, "https://signer.test/jwks.json") == DirectoryAnswer(failure="private-address")
