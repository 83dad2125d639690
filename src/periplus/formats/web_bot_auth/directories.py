"""Directories of public keys, and the cards with which agents introduce themselves.

A directory is a JWK set. A key that cannot be used is left out and gives a problem; a directory that cannot be used has
no keys.

| problem | what is wrong |
|---|---|
| `directory-unreachable`, `directory-redirects` | another status than 200; redirects are not followed |
| `directory-too-large`, `too-many-keys` | more than 64 KiB, or 50 keys |
| `directory-unreadable`, `no-keys` | not a JWK set, or an empty one |
| `media-type`, `kid-not-thumbprint` | at the well-known URL; the keys are used all the same |
| `bad-key`, `private-key`, `test-key` | of a key: not one, a secret one, one of a standard |
| `key-expired`, `key-not-yet-valid` | by its `exp` and `nbf` |
| `bad-proof` | its own signature is wrong; the keys are used all the same, as TLS shows whose they are |
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec
from msgspec import Struct

from periplus.urls import canonical

from ..structured_fields import FieldItem, InnerList, Member, read_dictionary, write_bare, write_member
from .agents import WELL_KNOWN
from .keys import TEST_KEYS, PrivateKey, PublicKey, read_key
from .message import SignedMessage, signature_base
from .requests import SignaturePolicy, has_digest

DIRECTORY_TYPE: Final = "application/http-message-signatures-directory+json"
MAX_DIRECTORY_BYTES: Final = 64 * 1024
MAX_KEYS: Final = 50
PROOF_TAG: Final = "http-message-signatures-directory"
_PRIVATE: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "k"})
_PROOF: Final = (FieldItem("@authority", {"req": True}), FieldItem("content-digest"))


class KeyDirectory(Struct, frozen=True):
    """The usable keys of a directory by their thumbprints, and what is wrong with the others.

    `dated` are those of the others that may be used at another time, by their `nbf` and `exp`. `failed` is why there is
    no directory; what was known of it before then still holds. `proof` is `valid`, `invalid` or `none`.
    """

    keys: Mapping[str, PublicKey] = {}
    dated: Mapping[str, PublicKey] = {}
    refused: Mapping[str, str] = {}
    problems: tuple[str, ...] = ()
    proof: str = "none"
    failed: str = ""


def read_directory(response: SignedMessage, status: int, now: float, policy: SignaturePolicy) -> KeyDirectory:
    """The keys of a response to a request for a directory."""
    body = response.body or b""
    failed = _failure(status, body)
    listed = [] if failed else _listed(body)
    if listed is None or len(listed) > MAX_KEYS:
        failed = "directory-unreadable" if listed is None else "too-many-keys"
    if failed or listed is None:
        return KeyDirectory(problems=(failed,), failed=failed)
    is_well_known = response.url.endswith(WELL_KNOWN)
    problems: list[str] = [] if listed else ["no-keys"]
    if is_well_known and (response.field("content-type") or "").partition(";")[0].strip().lower() != DIRECTORY_TYPE:
        problems.append("media-type")
    keys: dict[str, PublicKey] = {}
    dated: dict[str, PublicKey] = {}
    refused: dict[str, str] = {}
    proving: dict[str, PublicKey] = {}
    for jwk in listed:
        key = read_key(jwk) if isinstance(jwk, dict) else None
        if key is None:
            problems.append("bad-key")
            continue
        proving[key.thumbprint] = key
        problem = _key_problem(jwk, key, policy)
        if not problem and (problem := key.date_problem(now, policy.skew)):
            dated[key.thumbprint] = key
        if problem:
            refused[key.thumbprint] = problem
            problems.append(problem)
            continue
        keys[key.thumbprint] = key
        if is_well_known and jwk.get("kid", key.thumbprint) != key.thumbprint:
            problems.append("kid-not-thumbprint")
    proof = _proof(response, body, proving, now, policy)
    if proof == "invalid":
        problems.append("bad-proof")
    return KeyDirectory(keys, dated, refused, tuple(dict.fromkeys(problems)), proof)


def _failure(status: int, body: bytes) -> str:
    if 300 <= status < 400:
        return "directory-redirects"
    if status != 200:
        return "directory-unreachable"
    return "directory-too-large" if len(body) > MAX_DIRECTORY_BYTES else ""


def _listed(body: bytes) -> list[Any] | None:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    keys = found.get("keys") if isinstance(found, dict) else None
    return keys if isinstance(keys, list) else None


def _key_problem(jwk: Mapping[str, Any], key: PublicKey, policy: SignaturePolicy) -> str:
    if _PRIVATE & jwk.keys():
        return "private-key"
    return "test-key" if key.thumbprint in TEST_KEYS and not policy.test_keys else ""


def _proof(
    response: SignedMessage, body: bytes, keys: Mapping[str, PublicKey], now: float, policy: SignaturePolicy
) -> str:
    """Whether the directory is signed by its keys for its authority; each signature that is there must be right."""
    inputs = read_dictionary(response.field("signature-input") or "") or {}
    signatures = read_dictionary(response.field("signature") or "") or {}
    states = [
        has_digest(response, body) and _is_proven(response, signed, signatures.get(label), keys, now, policy)
        for label, signed in list(inputs.items())[:MAX_KEYS]
        if isinstance(signed, InnerList) and signed.parameters.get("tag") == PROOF_TAG
    ]
    if not states:
        return "none"
    return "valid" if all(states) else "invalid"


def _is_proven(
    response: SignedMessage,
    signed: InnerList,
    value: Member | None,
    keys: Mapping[str, PublicKey],
    now: float,
    policy: SignaturePolicy,
) -> bool:
    """Whether a signature covers what a proof has to, holds now, and is that of the key that it names."""
    created, expires, algorithm, keyid = map(signed.parameters.get, ("created", "expires", "alg", "keyid"))
    key = keys.get(str(keyid))
    if key is None or type(created) is not int or type(expires) is not int or algorithm not in (None, key.algorithm):
        return False
    is_fresh = created <= now + policy.skew and expires >= now - policy.skew
    covers = all(item in signed.items for item in _PROOF)
    if not (is_fresh and covers and isinstance(value, FieldItem) and isinstance(value.value, bytes)):
        return False
    base, problem = signature_base(response, signed)
    return not problem and key.verifies(value.value, base)


def write_directory(keys: Sequence[PrivateKey]) -> bytes:
    """The directory of these keys: only their public halves."""
    return msgspec.json.encode({"keys": [{**key.jwk, "kid": key.thumbprint, "use": "sig"} for key in keys]})


def proof_fields(
    url: str, body: bytes, keys: Sequence[PrivateKey], now: float, lifetime: int
) -> tuple[tuple[str, str], ...]:
    """The header fields with which a server proves that a directory is its own: one signature for each key."""
    digest = ("Content-Digest", f"sha-256={write_bare(sha256(body).digest())}")
    response = SignedMessage("GET", url, (digest,), body, is_response=True)
    inputs, signatures = [], []
    for number, key in enumerate(keys, 1):
        signed = InnerList(
            _PROOF,
            {"created": int(now), "expires": int(now) + lifetime, "keyid": key.thumbprint, "tag": PROOF_TAG},
        )
        base, _ = signature_base(response, signed)
        inputs.append(f"binding{number}={write_member(signed)}")
        signatures.append(f"binding{number}={write_bare(key.sign(base))}")
    return digest, ("Signature-Input", ", ".join(inputs)), ("Signature", ", ".join(signatures))


class AgentCard(Struct, frozen=True, omit_defaults=True):
    """How an agent introduces itself (draft-meunier-webbotauth-registry): at which URL, by which name, with which keys."""  # noqa: E501

    client_id: str
    client_name: str = ""
    contacts: tuple[str, ...] = ()
    jwks_uri: str = ""
    jwks: Mapping[str, Any] | None = None
    web_bot_auth: Mapping[str, Any] = {}


_URLS: Final = ("client_id", "client_uri", "logo_uri", "jwks_uri", "ips_uri")
_LOOSE: Final = ("client_uri", "logo_uri")
"""Those that may have another scheme than https."""
_MAX_CARD_BYTES: Final = 64 * 1024
_MAX_REGISTRY: Final = 10_000
"""Lines of a registry that are read."""


def read_card(body: bytes, url: str) -> AgentCard | None:
    """The card at a URL; `None` if it is not valid: it must name that URL, and its keys either in it or at one URL."""
    try:
        found: dict[str, Any] = msgspec.json.decode(body) if len(body) <= _MAX_CARD_BYTES else {}
        card = msgspec.convert(found, AgentCard)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    is_about_url = card.client_id == url and all(_is_url(found.get(name), name) for name in _URLS)
    has_keys = ("jwks" in found) != ("jwks_uri" in found)
    is_set = card.jwks is None or isinstance(card.jwks.get("keys"), list)
    is_known = card.web_bot_auth.get("trigger", "crawler") in ("crawler", "fetcher")
    return card if is_about_url and has_keys and is_set and is_known else None


def _is_url(value: object, name: str) -> bool:
    if value is None:
        return True
    is_loose = name in _LOOSE and isinstance(value, str)
    return is_loose or (isinstance(value, str) and value.startswith("https://") and canonical(value) is not None)


def write_card(card: AgentCard) -> bytes:
    """A card."""
    return msgspec.json.encode(card)


_COMMENT: Final = re.compile(r"(?:^|\s)#.*")


def read_registry(text: str) -> tuple[str, ...]:
    """The URLs of the cards that a registry lists, a line each; what is not an https URL is left out."""
    lines = (_COMMENT.sub("", line).strip() for line in text.splitlines()[:_MAX_REGISTRY])
    return tuple(line for line in lines if line.startswith("https://") and canonical(line) is not None)
