"""WebSub: requests, a hub's questions, and signatures."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from tests.each_case import each_case
from tests.reference.websub_messages import read_request, sign, write_intent

from periplus.formats import websub
from periplus.formats.websub import Intent, SubscriberRequest
from periplus.model import Problem

TOPIC, CALLBACK = "https://example.org/feed?a=b&c=d", "https://us.example/websub/x"


def reason(found: object) -> str:
    assert isinstance(found, Problem)
    return found.reason


def test_signature_of_a_known_value() -> None:
    """The value that other implementations compute for this secret and body."""
    digest = "bc34c1a93cc52a1e89787d5bfca33388be4a3190ed87910472a44e4bbb8122c2"
    assert sign(b"<feed/>", b"secret") == f"sha256={digest}"
    assert websub.check_signature(f"sha256={digest}", b"<feed/>", b"secret") == "sha256"
    assert websub.check_signature(f" SHA256 = {digest.upper()} ", b"<feed/>", b"secret") == "sha256"


@each_case("method", ["sha256", "sha384", "sha512"])
def test_strong_signatures(method: str) -> None:
    """Each method of the specification is accepted, and a changed body or secret is noticed."""
    header = f"{method}={hmac.new(b's', b'body', getattr(hashlib, method)).hexdigest()}"
    assert websub.check_signature(header, b"body", b"s") == method
    assert reason(websub.check_signature(header, b"body!", b"s")) == "wrong-signature"
    assert reason(websub.check_signature(header, b"body", b"t")) == "wrong-signature"
    assert reason(websub.check_signature(header[:-1], b"body", b"s")) == "wrong-signature"


def test_sha1_is_a_choice() -> None:
    """A valid SHA-1 signature is only accepted if the caller says so."""
    header = sign(b"body", b"s", "sha1")
    assert reason(websub.check_signature(header, b"body", b"s")) == "weak-method"
    assert websub.check_signature(header, b"body", b"s", accepts_sha1=True) == "sha1"
    assert reason(websub.check_signature(header, b"other", b"s", accepts_sha1=True)) == "wrong-signature"


@each_case(
    ("header", "expected"),
    [
        (None, "no-signature"),
        ("", "no-signature"),
        ("sha256", "bad-signature"),
        ("sha256=", "bad-signature"),
        ("sha256=xyz", "bad-signature"),
        ("sha256=é", "bad-signature"),
        ("md5=" + "0" * 32, "unknown-method"),
        ("sha256=" + "0" * 64, "wrong-signature"),
        ("sha256=" + "0" * 100_000, "bad-signature"),
    ],
)
def test_forged_signatures(header: str | None, expected: str) -> None:
    """Nothing but the digest of the body under the secret is accepted."""
    assert reason(websub.check_signature(header, b"body", b"s", accepts_sha1=True)) == expected


def test_request_round_trip() -> None:
    """A hub reads what a subscriber writes."""
    request = SubscriberRequest("subscribe", TOPIC, CALLBACK, b"\x00\xff secret", 864_000)
    assert read_request(websub.write_request(request)) == request
    with pytest.raises(ValueError, match="199"):
        websub.write_request(SubscriberRequest("subscribe", TOPIC, CALLBACK, b"x" * 200))


@each_case(
    ("body", "expected"),
    [
        (b"", "bad-mode"),
        (b"hub.mode=publish", "bad-mode"),
        (b"hub.mode=subscribe&hub.topic=x", "bad-topic"),
        (b"hub.mode=subscribe&hub.topic=https://e.org/&hub.callback=ftp://e.org/", "bad-callback"),
        (
            b"hub.mode=subscribe&hub.topic=https://e.org/&hub.callback=https://e.org/&hub.secret=" + b"x" * 200,
            "bad-secret",
        ),
        (b"&".join([b"a=b"] * 100), "bad-form"),
        (b"x" * 100_000, "too-large"),
    ],
)
def test_invalid_requests(body: bytes, expected: str) -> None:
    """A hub that gets one of these knows what was wrong."""
    assert reason(read_request(body)) == expected


def test_intent_round_trip() -> None:
    """A subscriber reads what a hub writes, refusals included."""
    for intent in (Intent("subscribe", TOPIC, "ch&al=lenge", 600), Intent("denied", TOPIC, reason="not yours")):
        assert websub.read_intent(write_intent(intent)) == intent


@each_case(
    ("query", "expected"),
    [
        ("hub.mode=publish", "bad-mode"),
        ("hub.mode=subscribe&hub.topic=nothing", "bad-topic"),
        ("hub.mode=subscribe&hub.topic=https://e.org/", "bad-challenge"),
        ("hub.mode=subscribe&hub.topic=https://e.org/&hub.challenge=" + "x" * 5000, "bad-challenge"),
    ],
)
def test_invalid_intents(query: str, expected: str) -> None:
    """A question that cannot be answered has a reason."""
    assert reason(websub.read_intent(query)) == expected


@each_case(
    ("text", "lease"),
    [("600", 600), ("1", websub.MIN_LEASE), ("9" * 11, websub.MAX_LEASE), ("0", 0), ("-5", 0), ("ten", 0), ("٣", 0)],
)
def test_leases(text: str, lease: int) -> None:
    """A lease is believed within bounds."""
    found = websub.read_intent(f"hub.mode=subscribe&hub.topic=https://e.org/&hub.challenge=c&hub.lease_seconds={text}")
    assert isinstance(found, Intent)
    assert found.lease == lease
