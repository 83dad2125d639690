"""Signs requests, and reads what signed requests claim.

A request is judged in the order of the steps below; the first that fails gives the reason.

| step | reasons |
|---|---|
| fields are read | `unreadable-input`, `unreadable-signature` |
| the tag is `web-bot-auth` | `other-tag`: such a request is unsigned for us |
| the request came over https | `not-https` |
| components and parameters | `duplicate-component`, `duplicate-parameter`, `target-not-covered`, `agent-not-covered`, `missing-parameter` |
| time | `clock-ahead`, `expired`, `lifetime-too-long` |
| the agent's member | `agent-absent`, `agent-unreadable`, `agent-not-https`, `agent-parameters`, `agent-member-missing`, `agent-ambiguous`, `missing-component`, `unsupported-component` |
| its key | `test-key`, and what is wrong with the directory (`directories`) or `key-unknown` |
| the algorithm of the key | `algorithm-mismatch` |
| the signature | `bad-signature` |
| `Content-Digest`, if it is covered | `digest-mismatch`, `digest-unchecked` |
"""  # noqa: E501 - a table

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256, sha512
from typing import Final

from msgspec import Struct

from periplus.model import Url
from periplus.urls import site_of

from ..structured_fields import FieldItem, InnerList, Member, read_dictionary
from .agents import PARAMETERS, AgentMember, read_signature_agent
from .keys import TEST_KEYS, PrivateKey, PublicKey
from .message import UNSUPPORTED, SignedMessage, signature_base

TAG: Final = "web-bot-auth"
MAX_SIGNATURES: Final = 3
"""Signatures of one request that are judged: an agent's, and those of who sends on its behalf."""
_LABEL: Final = "sig1"
_DIGESTS: Final = {"sha-256": sha256, "sha-512": sha512}


class SignatureOutcome(StrEnum):
    """What a request's signature says of its sender.

    `invalid`: the signature is wrong. `unverified`: it could not be checked, which is not a false claim.
    """

    VERIFIED = "verified"
    INVALID = "invalid"
    UNVERIFIED = "unverified"
    UNSIGNED = "unsigned"


class SignatureVerdict(Struct, frozen=True):
    """The outcome for a request, why it is not better, and of a verified one the agent and its key.

    `agent` is the URL that the keys were fetched from. `problems` do not change the outcome.
    """

    outcome: SignatureOutcome
    reason: str = ""
    agent: str = ""
    keyid: str = ""
    problems: tuple[str, ...] = ()


class SignaturePolicy(Struct, frozen=True):
    """What a verifier accepts. Times are in seconds; a `max_lifetime` of `None` is no limit."""

    test_keys: bool = False
    max_lifetime: int | None = 86_400
    skew: int = 60


UNSIGNED: Final = SignatureVerdict(SignatureOutcome.UNSIGNED)


class SignatureClaim(Struct, frozen=True):
    """What a signature claims, before its key is known: `keys_url` is where the agent publishes it."""

    keys_url: str
    keyid: str
    algorithm: str | None
    signed: bytes
    signature: bytes
    expires: int
    nonce: str
    covers_digest: bool
    problems: tuple[str, ...] = ()

    def invalid(self, reason: str) -> SignatureVerdict:
        """The verdict that the signature is wrong."""
        return SignatureVerdict(SignatureOutcome.INVALID, reason, problems=self.problems)

    def unverified(self, reason: str) -> SignatureVerdict:
        """The verdict that it could not be checked."""
        return SignatureVerdict(SignatureOutcome.UNVERIFIED, reason, problems=self.problems)


class _RefusedError(Exception):
    def __init__(self, reason: str, outcome: SignatureOutcome = SignatureOutcome.INVALID) -> None:
        super().__init__(reason)
        self.verdict = SignatureVerdict(outcome, reason)


def read_claims(request: SignedMessage, now: float, policy: SignaturePolicy) -> list[SignatureClaim | SignatureVerdict]:
    """What each signature of a request claims, or the verdict where that is clear without a key; never empty."""
    given, signatures = request.field("signature-input"), request.field("signature")
    if given is None and signatures is None:
        return [UNSIGNED]
    members = read_dictionary(given or "") or {}
    inputs = {label: member for label, member in members.items() if isinstance(member, InnerList)}
    if not inputs:
        return [SignatureVerdict(SignatureOutcome.INVALID, "unreadable-input")]
    values = read_dictionary(signatures or "")
    if not values:
        return [SignatureVerdict(SignatureOutcome.INVALID, "unreadable-signature")]
    tagged = [(label, signed) for label, signed in inputs.items() if signed.parameters.get("tag") == TAG]
    if not tagged:
        return [SignatureVerdict(SignatureOutcome.UNSIGNED, "other-tag")]
    claims: list[SignatureClaim | SignatureVerdict] = []
    for label, signed in tagged[:MAX_SIGNATURES]:
        try:
            claims.append(_claim(request, label, signed, values.get(label), now, policy))
        except _RefusedError as refused:
            claims.append(refused.verdict)
    return claims


def _claim(
    request: SignedMessage, label: str, signed: InnerList, value: Member | None, now: float, policy: SignaturePolicy
) -> SignatureClaim:
    if not all(type(item.value) is str and item.value == item.value.lower() for item in signed.items):
        raise _RefusedError("unreadable-input")
    if not isinstance(value, FieldItem) or not isinstance(value.value, bytes):
        raise _RefusedError("unreadable-signature")
    if request.scheme != "https":
        raise _RefusedError("not-https")
    field = request.field("signature-agent")
    _check_components(signed, has_agent=field is not None)
    created, expires, keyid = _parameters(signed)
    _check_times(created, expires, now, policy)
    if field is None:
        raise _RefusedError("agent-absent", SignatureOutcome.UNVERIFIED)
    agent = _agent(field, label, signed)
    base, problem = signature_base(request, signed)
    if problem:
        raise _RefusedError(
            problem, SignatureOutcome.UNVERIFIED if problem == UNSUPPORTED else SignatureOutcome.INVALID
        )
    if keyid in TEST_KEYS and not policy.test_keys:
        raise _RefusedError("test-key")
    algorithm, nonce = signed.parameters.get("alg"), signed.parameters.get("nonce", "")
    return SignatureClaim(
        keys_url=agent.fetch,
        keyid=keyid,
        algorithm=None if algorithm is None else str(algorithm),
        signed=base,
        signature=value.value,
        expires=expires,
        nonce=str(nonce),
        covers_digest=any(item.value == "content-digest" for item in signed.items),
        problems=read_signature_agent(field).problems if agent.member is None else (),
    )


def _check_components(signed: InnerList, *, has_agent: bool) -> None:
    names = [(item.value, tuple(sorted(item.parameters.items(), key=str))) for item in signed.items]
    if len(set(names)) < len(names):
        raise _RefusedError("duplicate-component")
    if signed.repeated or any(item.repeated for item in signed.items):
        raise _RefusedError("duplicate-parameter")
    plain = {name for name, parameters in names if not parameters}
    if not plain & {"@authority", "@target-uri"}:
        raise _RefusedError("target-not-covered")
    if has_agent and "signature-agent" not in {name for name, _ in names}:
        raise _RefusedError("agent-not-covered")


def _parameters(signed: InnerList) -> tuple[int, int, str]:
    created, expires, keyid = map(signed.parameters.get, ("created", "expires", "keyid"))
    if type(created) is not int or type(expires) is not int or type(keyid) is not str:
        raise _RefusedError("missing-parameter")
    return created, expires, keyid


def _check_times(created: int, expires: int, now: float, policy: SignaturePolicy) -> None:
    if created > now + policy.skew:
        raise _RefusedError("clock-ahead")
    if expires < now - policy.skew or expires < created:
        raise _RefusedError("expired")
    if policy.max_lifetime is not None and expires - created > policy.max_lifetime:
        raise _RefusedError("lifetime-too-long")


def _agent(field: str, label: str, signed: InnerList) -> AgentMember:
    """The agent that a signature covers: the member that it names, or the whole field if it has one member.

    A member with parameters is ignored, which leaves nothing to find the keys with.
    """
    read = read_signature_agent(field)
    if not read.agents and not read.refused:
        raise _RefusedError(read.problems[0])
    refused = dict(read.refused)
    covered = [item.parameters.get("key") for item in signed.items if item.value == "signature-agent"]
    names = [agent.member for agent in read.agents] + list(refused)
    others = [name for name in names if refused.get(name) != PARAMETERS] or names
    if label in covered or (None in covered and label in names):
        chosen: str | None = label
    elif len(covered) == 1 and (covered[0] is not None or len(others) == 1):
        chosen = others[0] if covered[0] is None else str(covered[0])
    else:
        raise _RefusedError("agent-ambiguous")
    for agent in read.agents:
        if agent.member == chosen:
            return agent
    reason = refused.get(chosen, "agent-member-missing")
    raise _RefusedError(reason, SignatureOutcome.UNVERIFIED if reason == PARAMETERS else SignatureOutcome.INVALID)


def judged(claim: SignatureClaim, key: PublicKey, request: SignedMessage) -> SignatureVerdict:
    """The verdict on a claim by the key that its agent publishes under its `keyid`."""
    if claim.algorithm is not None and claim.algorithm != key.algorithm:
        return claim.invalid("algorithm-mismatch")
    if not key.verifies(claim.signature, claim.signed):
        return claim.invalid("bad-signature")
    if claim.covers_digest:
        if request.body is None:
            return claim.unverified("digest-unchecked")
        if not has_digest(request, request.body):
            return claim.invalid("digest-mismatch")
    return SignatureVerdict(SignatureOutcome.VERIFIED, "", claim.keys_url, claim.keyid, claim.problems)


def has_digest(message: SignedMessage, body: bytes) -> bool:
    """Whether `Content-Digest` (RFC 9530) is that of a body: every digest of a known kind, and at least one."""
    members = read_dictionary(message.field("content-digest") or "") or {}
    known = [(_DIGESTS[name], member) for name, member in members.items() if name in _DIGESTS]
    return bool(known) and all(
        isinstance(member, FieldItem) and member.value == make(body).digest() for make, member in known
    )


class RequestSigning:
    """Signs requests with a key, as an agent; `lifetime` in seconds."""

    def __init__(self, key: PrivateKey, agent: str, lifetime: int = 300) -> None:
        self._key = key
        self.keyid = key.thumbprint
        self._lifetime = lifetime
        self._agent = ("Signature-Agent", f'{_LABEL}="{agent}"')
        self._first = f'"signature-agent";key="{_LABEL}": "{agent}"\n"@signature-params": '
        self._signed = f'("@method" "@authority" "@path" "signature-agent";key="{_LABEL}")'

    def fields(self, method: str, url: Url, now: float, nonce: str = "") -> tuple[tuple[str, str], ...]:
        """The header fields of a request for a canonical URL of https."""
        created = int(now)
        parameters = (
            f"{self._signed};created={created};expires={created + self._lifetime};"
            f'keyid="{self.keyid}"{f";nonce={chr(34)}{nonce}{chr(34)}" if nonce else ""};tag="{TAG}"'
        )
        site = site_of(url)
        path = url[url.index("/", 8) :].partition("?")[0]
        base = f'"@method": {method}\n"@authority": {site}\n"@path": {path}\n{self._first}{parameters}'
        signature = b64encode(self._key.sign(base.encode())).decode()
        return (
            self._agent,
            ("Signature-Input", f"{_LABEL}={parameters}"),
            ("Signature", f"{_LABEL}=:{signature}:"),
        )


def is_signature_wanted(accepted: Sequence[str]) -> bool:
    """Whether the values of `Accept-Signature` ask for a signature of this kind."""
    members = read_dictionary(", ".join(accepted)) or {}
    return any(member.parameters.get("tag", TAG) == TAG for member in members.values())
