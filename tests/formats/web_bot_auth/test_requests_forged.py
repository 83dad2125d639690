"""Requests that nobody signed so are not verified; broken fields and directories are read within bounds."""

from __future__ import annotations

import time
from random import Random
from typing import Any
from urllib.parse import parse_qsl

import pytest
from tests.formats.web_bot_auth.forging import AGENT, NOW, URL, Forger, directory_body, mutated

from periplus.formats.web_bot_auth import (
    SignaturePolicy,
    SignedMessage,
    new_key,
    read_card,
    read_claims,
    read_directory,
    read_signature_agent,
)

pytest.importorskip("cryptography", reason="signatures need the extra `identity`")

FORGED = 10_000
MUTATED = 2_000
MANY_MUTATED = 100_000
SLOWEST = 1.0
"""Seconds that a single text may take, on a busy machine."""


def test_the_good_request_is_verified() -> None:
    """Otherwise the other tests would show nothing."""
    forger = Forger(1)
    assert forger.is_verified(SignedMessage("GET", URL, tuple(forger.good()), b""), NOW + 5)


@pytest.mark.proof
def test_no_forged_request_is_verified() -> None:
    forger = Forger(20_261_118)
    for number in range(FORGED):
        request, now = forger.forged()
        assert not forger.is_verified(request, now), f"number {number}: {request} at {now}"


def read_mutations(count: int) -> None:
    random, forger, key = Random(7), Forger(3), new_key()
    policy = SignaturePolicy()
    for number in range(count):
        begun = time.perf_counter()
        if number % 2:
            body = mutated(random, directory_body(random, key))
            url = f"{AGENT}/.well-known/http-message-signatures-directory"
            fields = tuple((name, mutated(random, value.encode()).decode("latin-1")) for name, value in forger.good())
            found = read_directory(SignedMessage("GET", url, fields, body, is_response=True), 200, NOW, policy)
            assert len(found.keys) <= 50
            assert len(found.problems) <= 12
            read_card(body, url)
        else:
            fields = tuple((name, mutated(random, value.encode()).decode("latin-1")) for name, value in forger.good())
            request = SignedMessage("GET", URL, fields, b"")
            assert not forger.is_verified(request, NOW + 5) or _says_the_same(fields, forger)
            assert 1 <= len(read_claims(request, NOW, policy)) <= 3
            read_signature_agent(fields[0][1])
        assert time.perf_counter() - begun < SLOWEST


def _says_the_same(fields: tuple[tuple[str, str], ...], forger: Forger) -> bool:
    """Whether the fields still say what was signed: blanks, or members beside it."""
    claims = read_claims(SignedMessage("GET", URL, fields, b""), NOW + 5, SignaturePolicy())
    return any(getattr(claim, "keyid", "") == forger.key.thumbprint for claim in claims)


def test_mutated_fields_and_directories_are_read() -> None:
    read_mutations(MUTATED)


@pytest.mark.slow
def test_many_mutated_fields_and_directories_are_read() -> None:
    read_mutations(MANY_MUTATED)


def test_long_fields_are_refused_quickly() -> None:
    for value in ("sig1=(" + '"a" ' * 100_000, "a=1," * 100_000, "(" * 100_000, '"' * 100_000, "a;" * 100_000):
        begun = time.perf_counter()
        request = SignedMessage("GET", URL, (("Signature-Input", value), ("Signature", value)), b"")
        [verdict] = read_claims(request, NOW, SignaturePolicy())
        assert verdict.reason == "unreadable-input"  # type: ignore[union-attr]
        assert time.perf_counter() - begun < SLOWEST


@pytest.mark.parametrize(("count", "reason"), [(18, ""), (19, "unsupported-component"), (40, "unsupported-component")])
def test_a_long_query_is_read_once(monkeypatch: pytest.MonkeyPatch, count: int, reason: str) -> None:
    """Whose signature it is is not known yet."""
    read: list[str] = []

    def parse(query: str, **how: Any) -> list[tuple[str, str]]:
        read.append(query)
        return parse_qsl(query, **how)

    monkeypatch.setattr("periplus.formats.web_bot_auth.message.parse_qsl", parse)
    names = " ".join(f'"@query-param";name="a{number}"' for number in range(count))
    parameters = f'created={NOW};expires={NOW + 60};keyid="x";tag="web-bot-auth"'
    given = ", ".join(f'{label}=("@authority" "signature-agent" {names});{parameters}' for label in ("a", "b", "c"))
    signatures = "a=:AA==:, b=:AA==:, c=:AA==:"
    fields = (("Signature-Agent", f'"{AGENT}"'), ("Signature-Input", given), ("Signature", signatures))
    url = f"{URL}&" + "&".join(f"a{number}=" for number in range(count)) + "&b=" * 20_000
    claims = read_claims(SignedMessage("GET", url, fields, b""), NOW, SignaturePolicy())
    assert [getattr(claim, "reason", "") for claim in claims] == [reason] * 3
    assert len(read) == (0 if reason else 1)


@pytest.mark.parametrize(
    "body", [b"[" * 1_000_000, b'{"keys":' * 100_000, b'{"keys":[' + b"{}," * 60 + b"{}]}", b"\xff"]
)
def test_large_directories_have_no_keys(body: bytes) -> None:
    found = read_directory(SignedMessage("GET", AGENT, (), body, is_response=True), 200, NOW, SignaturePolicy())
    assert found.failed
    assert not found.keys
