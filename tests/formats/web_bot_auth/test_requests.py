"""What a signature must cover and say, in the order of the steps; keys of every kind; directories and cards."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from periplus.formats.structured_fields import FieldItem, InnerList, read_dictionary, write_bare, write_member
from periplus.formats.web_bot_auth import (
    AgentCard,
    KeyDirectory,
    SignatureClaim,
    SignatureOutcome,
    SignaturePolicy,
    SignatureVerdict,
    SignedMessage,
    is_signature_wanted,
    judged,
    new_key,
    proof_fields,
    read_card,
    read_claims,
    read_directory,
    read_key,
    read_registry,
    read_signature_agent,
    signature_base,
    write_card,
    write_directory,
)

pytest.importorskip("cryptography", reason="signatures need the extra `identity`")

NOW = 1_790_000_000
KEY = new_key()
URL = "https://www.example.org/a%20b?x=1&y=%C3%A9&y2=&z=a+b"
AGENT = 'sig1="https://signer.example.net"'
COMPONENTS = '"@authority" "signature-agent";key="sig1"'
TIMES = f"created={NOW};expires={NOW + 300}"
WELL_KNOWN = "https://signer.example.net/.well-known/http-message-signatures-directory"


def request(
    components: str = COMPONENTS,
    parameters: str = f'{TIMES};keyid="{KEY.thumbprint}";tag="web-bot-auth"',
    agent: str | None = AGENT,
    body: bytes | None = b"",
    url: str = URL,
    method: str = "GET",
    label: str = "sig1",
    **others: str,
) -> SignedMessage:
    """A request that is signed as asked, as far as that is possible."""
    given = f"{label}=({components});{parameters}"
    fields = [(name.replace("_", "-"), value) for name, value in others.items()]
    fields += [("Signature-Agent", agent)] if agent is not None else []
    read = (read_dictionary(given) or {}).get(label)
    message = SignedMessage(method, url, (*fields, ("Signature-Input", given)), body)
    base = signature_base(message, read)[0] if isinstance(read, InnerList) else b""
    fields += [("Signature-Input", given), ("Signature", f"{label}={write_bare(KEY.sign(base))}")]
    return SignedMessage(method, url, tuple(fields), body)


def judge(message: SignedMessage) -> SignatureVerdict:
    [claim] = read_claims(message, NOW + 5, SignaturePolicy())
    key = read_key(KEY.jwk)
    assert key is not None
    return judged(claim, key, message) if isinstance(claim, SignatureClaim) else claim


@pytest.mark.parametrize(
    "components",
    [
        COMPONENTS,
        f'"@target-uri" {COMPONENTS}',
        f'"@method" "@scheme" "@request-target" "@path" "@query" {COMPONENTS}',
        f'"@query-param";name="y" "@query-param";name="z" "@query-param";name="y2" {COMPONENTS}',
        f'"x-note" "x-note";bs {COMPONENTS}',
        f'"signature-agent";sf {COMPONENTS}',
        '"@authority" "signature-agent"',
    ],
)
def test_components_that_are_covered(components: str) -> None:
    assert judge(request(components, x_note="  blanks  ")).outcome is SignatureOutcome.VERIFIED


def test_a_member_with_parameters_is_ignored() -> None:
    """The field has one member then, whatever the signature is called."""
    agents = f'other="https://a.test";type=jwks, one={AGENT.partition("=")[2]}'
    assert judge(request('"@authority" "signature-agent"', agent=agents)).outcome is SignatureOutcome.VERIFIED


def with_parameters(text: str) -> SignedMessage:
    return request(parameters=f'{text};tag="web-bot-auth"')


def with_digest(digest: str, body: bytes | None) -> SignedMessage:
    return request(f'{COMPONENTS} "content-digest"', content_digest=digest, body=body)


INVALID = {
    "unreadable-input": [
        request(parameters=f"{TIMES};keyid={KEY.thumbprint!r}"),
        request(components='@authority "a"'),
        request(components='"@Authority"'),
        request(components="1"),
        SignedMessage("GET", URL, (("Signature", "sig1=:AA==:"),)),
    ],
    "unreadable-signature": [SignedMessage("GET", URL, (("Signature-Input", "sig1=();tag=web"),))],
    "not-https": [request(url="http://www.example.org/")],
    "duplicate-component": [request(f'{COMPONENTS} "signature-agent";key="sig1"')],
    "duplicate-parameter": [with_parameters(f"created={NOW};{TIMES}")],
    "target-not-covered": [request('"@path" "signature-agent";key="sig1"')],
    "agent-not-covered": [request('"@authority" "@path"')],
    "missing-parameter": [
        with_parameters(TIMES),
        with_parameters(f'created="1";expires={NOW + 9};keyid="a"'),
        with_parameters(f"{TIMES};keyid=a"),
    ],
    "clock-ahead": [with_parameters(f'created={NOW + 99};expires={NOW + 199};keyid="a"')],
    "expired": [with_parameters(f'created={NOW + 9};expires={NOW + 8};keyid="a"')],
    "agent-not-https": [request(agent='sig1="ftp://signer.example.net"')],
    "agent-unreadable": [
        request(agent='sig1="https://me:pw@signer.example.net"'),
        request(agent='sig1="https://"'),
        request(agent="?"),
    ],
    "agent-ambiguous": [request('"@authority" "signature-agent"', agent='a="https://a.test", b="https://b.test"')],
    "missing-component": [request(f'{COMPONENTS} "x-note"'), request(f'{COMPONENTS} "@query-param";name="none"')],
    "algorithm-mismatch": [with_parameters(f'{TIMES};keyid="{KEY.thumbprint}";alg="hmac-sha256"')],
    "digest-mismatch": [with_digest("sha-256=:AAAA:", b"x"), with_digest("md5=:AAAA:", b"x")],
}
UNVERIFIED = {
    "agent-absent": [request('"@authority"', agent=None)],
    "agent-parameters": [
        request(agent='sig1="https://signer.example.net";type=jwks'),
        request('"@authority" "signature-agent"', agent='a="https://signer.example.net";type=jwks'),
    ],
    "unsupported-component": [
        request(f'{COMPONENTS} "@status"'),
        request(f'{COMPONENTS} "x-note";tr', x_note="a"),
        request(f'{COMPONENTS} "x-note"', x_note="\xe9"),
    ],
    "digest-unchecked": [with_digest("sha-256=:AAAA:", None)],
}
UNSIGNED = {"other-tag": [request(parameters=TIMES)]}


@pytest.mark.parametrize(
    ("outcome", "reason", "message"),
    [
        pytest.param(outcome, reason, message, id=reason)
        for outcome, reasons in (("invalid", INVALID), ("unverified", UNVERIFIED), ("unsigned", UNSIGNED))
        for reason, messages in reasons.items()
        for message in messages
    ],
)
def test_reasons(outcome: str, reason: str, message: SignedMessage) -> None:
    verdict = judge(message)
    assert (verdict.outcome, verdict.reason) == (outcome, reason)


def test_a_body_is_covered_by_its_digest() -> None:
    digest = f"sha-256={write_bare(sha256(b'body').digest())}"
    message = request(f'{COMPONENTS} "content-digest"', content_digest=digest, body=b"body", method="POST")
    assert judge(message).outcome is SignatureOutcome.VERIFIED


def test_each_signature_is_judged_by_itself() -> None:
    """One that is wrong does not spoil another."""
    good = request()
    fields = dict(good.fields)
    fields["Signature-Input"] += (
        f', other=("@authority" "signature-agent";key="none");{TIMES};keyid="a";tag="web-bot-auth"'
    )
    fields["Signature"] += ", other=:AA==:"
    claims = read_claims(SignedMessage("GET", URL, tuple(fields.items()), b""), NOW, SignaturePolicy())
    assert isinstance(claims[0], SignatureClaim)
    assert isinstance(claims[1], SignatureVerdict)
    assert claims[1].reason == "agent-member-missing"


@pytest.mark.parametrize("other", ["other=1", 'other=("@Authority")', 'other=("@Authority");tag="web-bot-auth"'])
def test_what_others_wrote_does_not_spoil_a_signature(other: str) -> None:
    """An entry that cannot be read is a fault of its own signer."""
    fields = dict(request().fields)
    fields["Signature-Input"] = f"{other}, {fields['Signature-Input']}"
    fields["Signature"] += ", other=1"
    *_, claim = read_claims(SignedMessage("GET", URL, tuple(fields.items()), b""), NOW, SignaturePolicy())
    assert isinstance(claim, SignatureClaim)


def test_a_signer_may_cover_the_signature_of_another() -> None:
    """As a proxy does, with all that the first signature covers."""
    inner = dict(request().fields)
    agents = f'{AGENT}, proxy="https://proxy.example.net"'
    covered = '"@authority" "signature-agent";key="sig1" "signature";key="sig1" "signature-input";key="sig1"'
    given = f'proxy=({covered} "signature-agent";key="proxy");{TIMES};keyid="{KEY.thumbprint}";tag="web-bot-auth"'
    fields = {**inner, "Signature-Agent": agents, "Signature-Input": f"{inner['Signature-Input']}, {given}"}
    signed = (read_dictionary(given) or {})["proxy"]
    assert isinstance(signed, InnerList)
    base, problem = signature_base(SignedMessage("GET", URL, tuple(fields.items())), signed)
    assert not problem
    fields["Signature"] += f", proxy={write_bare(KEY.sign(base))}"
    message = SignedMessage("GET", URL, tuple(fields.items()), b"")
    key = read_key(KEY.jwk)
    assert key is not None
    for claim, agent in zip(read_claims(message, NOW, SignaturePolicy()), ("signer", "proxy"), strict=True):
        assert isinstance(claim, SignatureClaim)
        assert claim.keys_url.startswith(f"https://{agent}.example.net/")
        assert judged(claim, key, message).outcome is SignatureOutcome.VERIFIED


def signed_with(kind: str) -> tuple[dict[str, Any], bytes, bytes]:
    """A public key, a text, and its signature."""
    from base64 import urlsafe_b64encode

    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

    def number(value: int) -> str:
        return urlsafe_b64encode(value.to_bytes((value.bit_length() + 7) // 8)).rstrip(b"=").decode()

    if kind == "EC":
        key = ec.generate_private_key(ec.SECP256R1())
        r, s = utils.decode_dss_signature(key.sign(b"text", ec.ECDSA(hashes.SHA256())))
        point = key.public_key().public_numbers()
        x, y = (urlsafe_b64encode(part.to_bytes(32)).rstrip(b"=").decode() for part in (point.x, point.y))
        return {"kty": "EC", "crv": "P-256", "x": x, "y": y}, b"text", r.to_bytes(32) + s.to_bytes(32)
    private = rsa.generate_private_key(65537, 2048)
    pss = padding.PSS(padding.MGF1(hashes.SHA512()), 64)
    numbers = private.public_key().public_numbers()
    jwk = {"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e)}
    return jwk, b"text", private.sign(b"text", pss, hashes.SHA512())


@pytest.mark.parametrize(("kind", "algorithm"), [("EC", "ecdsa-p256-sha256"), ("RSA", "rsa-pss-sha512")])
def test_keys_of_every_kind(kind: str, algorithm: str) -> None:
    jwk, text, signature = signed_with(kind)
    key = read_key(jwk)
    assert key is not None
    assert key.algorithm == algorithm
    assert key.verifies(signature, text)
    assert not key.verifies(signature, b"other")
    assert not key.verifies(signature[:-1], text)
    assert not key.verifies(b"", text)
    assert read_key({**jwk, "alg": "HS256"}) is None
    assert read_key({**jwk, "use": "enc"}) is None


def read(*keys: Any, url: str = WELL_KNOWN, fields: tuple[tuple[str, str], ...] = ()) -> KeyDirectory:
    body = json.dumps({"keys": list(keys)}).encode()
    typed = (*fields, ("Content-Type", "application/http-message-signatures-directory+json; charset=utf-8"))
    return read_directory(SignedMessage("GET", url, typed, body, is_response=True), 200, NOW, SignaturePolicy())


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"d": "AA"}, "private-key"),
        ({"exp": NOW - 1}, "key-expired"),
        ({"nbf": NOW + 3600}, "key-not-yet-valid"),
        ({"use": "enc"}, "bad-key"),
        ({"alg": "HS256"}, "bad-key"),
        ({"alg": []}, "bad-key"),
        ({"nbf": 10**400}, "key-not-yet-valid"),
        ({"exp": -(10**400)}, "key-expired"),
        ({"x": "AA"}, "bad-key"),
        ({"x": KEY.jwk["x"] + "="}, "bad-key"),
        ({"kty": "oct", "k": "AA"}, "bad-key"),
    ],
)
def test_keys_that_are_not_used(given: dict[str, Any], problem: str) -> None:
    found = read({**KEY.jwk, **given})
    assert (dict(found.keys), found.problems) == ({}, (problem,))


def test_a_key_may_hold_for_longer_than_a_float_can_say() -> None:
    assert list(read({**KEY.jwk, "exp": 10**400}).keys) == [KEY.thumbprint]


def test_directories_are_read_as_written() -> None:
    keys = [KEY, new_key()]
    body = write_directory(keys)
    fields = proof_fields(WELL_KNOWN, body, keys, NOW, 3600)
    typed = (*fields, ("Content-Type", "application/http-message-signatures-directory+json"))
    response = SignedMessage("GET", WELL_KNOWN, typed, body, is_response=True)
    found = read_directory(response, 200, NOW, SignaturePolicy())
    assert (list(found.keys), found.problems, found.proof) == ([key.thumbprint for key in keys], (), "valid")
    for late in (-120, 3700):
        assert read_directory(response, 200, NOW + late, SignaturePolicy()).proof == "invalid"
    other = SignedMessage("GET", WELL_KNOWN.replace("signer", "other"), typed, body, is_response=True)
    assert read_directory(other, 200, NOW, SignaturePolicy()).problems == ("bad-proof",)
    longer = SignedMessage("GET", WELL_KNOWN, typed, body + b" ", is_response=True)
    assert read_directory(longer, 200, NOW, SignaturePolicy()).proof == "invalid"


def test_cards_are_read_as_written() -> None:
    card = AgentCard("https://a.test/card", "A", ("mailto:a@a.test",), f"https://a.test{'/keys'}")
    assert read_card(write_card(card), "https://a.test/card") == card
    assert read_card(write_card(card), "https://b.test/card") is None
    wrongs: list[dict[str, object]] = [
        {"jwks_uri": "http://a.test/keys"},
        {"jwks": {"keys": []}},
        {"contacts": "me"},
        {"client_name": 1},
    ]
    for wrong in wrongs:
        body = json.dumps({"client_id": "https://a.test/card", "jwks_uri": "https://a.test/keys", **wrong}).encode()
        assert read_card(body, "https://a.test/card") is None, wrong
    assert read_card(b"[]", "https://a.test/card") is None
    assert read_registry("https://a.test/card#x\nhttp://b.test/\n  # no\nhttps://c.test #") == (
        "https://a.test/card#x", "https://c.test",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("field", "fetch"),
    [
        ('a="https://A.test:443"', "https://a.test/.well-known/http-message-signatures-directory"),
        ('a="https://a.test/"', "https://a.test/"),
        ('a="https://a.test/keys?x=1"', "https://a.test/keys?x=1"),
        ('"https://a.test/keys"', "https://a.test/keys"),
    ],
)
def test_where_keys_are_fetched_from(field: str, fetch: str) -> None:
    [agent] = read_signature_agent(field).agents
    assert agent.fetch == fetch


@pytest.mark.parametrize(
    ("accepted", "is_wanted"),
    [
        (['sig1=("@authority");tag="web-bot-auth"'], True),
        (['sig1=("@authority")'], True),
        (['sig1=("@authority");tag="other"'], False),
        (['a=();tag="other"', "b=()"], True),
        ([""], False),
        ([], False),
        (["("], False),
    ],
)
def test_sites_that_ask_for_signatures(accepted: list[str], is_wanted: bool) -> None:
    assert is_signature_wanted(accepted) is is_wanted


def test_members_are_written_as_the_standard_does() -> None:
    item = FieldItem("signature-agent", {"key": "sig1", "req": True})
    assert write_member(item) == '"signature-agent";key="sig1";req'
