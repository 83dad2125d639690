"""Requests that must not be verified, made from a good one by a seeded generator, and directories that are broken."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from periplus.formats.web_bot_auth import (
    PrivateKey,
    RequestSigning,
    SignatureClaim,
    SignatureOutcome,
    SignaturePolicy,
    SignedMessage,
    judged,
    new_key,
    read_claims,
    read_directory,
    write_directory,
)
from periplus.model import Url

NOW: Final = 1_790_000_000
AGENT: Final = "https://signer.example.net"
URL: Final = Url("https://www.example.org/docs/page?x=1")
Fields = list[tuple[str, str]]
Forged = tuple[SignedMessage, float]


class Forger:
    """Makes a good request of an agent, and others of it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.key, self.stranger = new_key(), new_key()
        url = f"{AGENT}/.well-known/http-message-signatures-directory"
        response = SignedMessage("GET", url, (), write_directory([self.key]), is_response=True)
        self.directory = read_directory(response, 200, NOW, SignaturePolicy())

    def good(self, url: Url = URL, method: str = "GET", key: PrivateKey | None = None, at: float = NOW) -> Fields:
        nonce = self.random.randbytes(16).hex()
        return list(RequestSigning(key or self.key, AGENT).fields(method, url, at, nonce))

    def is_verified(self, request: SignedMessage, now: float) -> bool:
        """Whether a verifier that has the agent's directory would believe a request."""
        for claim in read_claims(request, now, SignaturePolicy()):
            if isinstance(claim, SignatureClaim) and claim.keys_url.startswith(AGENT):
                key = self.directory.keys.get(claim.keyid)
                if key is not None and judged(claim, key, request).outcome is SignatureOutcome.VERIFIED:
                    return True
        return False

    def forged(self) -> Forged:
        """A request that a holder of the key did not make, or not so, or not now."""
        return self.random.choice(_FORGERIES)(self)


def _message(fields: Sequence[tuple[str, str]], url: str = URL, method: str = "GET") -> SignedMessage:
    return SignedMessage(method, url, tuple(fields), b"")


def _replayed(forger: Forger) -> Forged:
    """For another method, host or path."""
    words = forger.random.randbytes(4).hex()
    url, method = forger.random.choice([
        (f"https://{words}.example/docs/page?x=1", "GET"),
        (f"https://www.example.org/docs/{words}?x=1", "GET"),
        (f"https://www.example.org:8443/docs/page?x={words}", "GET"),
        (URL, forger.random.choice(["POST", "HEAD", "PUT", "get"])),
        ("http://www.example.org/docs/page?x=1", "GET"),
    ])  # fmt: skip
    return _message(forger.good(), url, method), NOW


def _out_of_time(forger: Forger) -> Forged:
    late = forger.random.choice([forger.random.uniform(361, 1e6), -forger.random.uniform(62, 1e6)])
    return _message(forger.good()), NOW + late


def _changed_character(forger: Forger) -> Forged:
    """One character of a signed value is another one. The fields are then no longer what was signed."""
    fields = forger.good()
    place = forger.random.randrange(3)
    name, value = fields[place]
    start = value.index("(") if name == "Signature-Input" else value.index("=") + 2
    at = forger.random.randrange(start, len(value) - (4 if name == "Signature" else 0))
    others = [letter for letter in 'abcXYZ019_-:;()" =.,/+' if letter != value[at]]
    changed = value[:at] + forger.random.choice(others) + value[at + 1 :]
    fields[place] = name, changed
    return _message(fields), NOW


def _truncated(forger: Forger) -> Forged:
    fields = forger.good()
    place = forger.random.randrange(3)
    name, value = fields[place]
    fields[place] = name, value[: forger.random.randrange(len(value) - 3)]
    return _message(fields), NOW


def _left_out(forger: Forger) -> Forged:
    fields = forger.good()
    del fields[forger.random.randrange(3)]
    return _message(fields), NOW


def _by_a_stranger(forger: Forger) -> Forged:
    """Signed with another key, under the name of the agent's, or of its own."""
    fields = dict(forger.good(key=forger.stranger))
    if forger.random.random() < 0.5:
        fields["Signature-Input"] = fields["Signature-Input"].replace(forger.stranger.thumbprint, forger.key.thumbprint)
    return _message(list(fields.items())), NOW


def _relabelled(forger: Forger) -> Forged:
    """The agent's member, or one of the two labels, has another name."""
    fields = dict(forger.good())
    other = f"sig{forger.random.randrange(2, 99)}"
    names = forger.random.choice([["Signature-Agent"], ["Signature-Input"], ["Signature"]])
    for name in names:
        fields[name] = re.sub(r"^sig1=", f"{other}=", fields[name])
    return _message(list(fields.items())), NOW


def _narrowed(forger: Forger) -> Forged:
    """A component is left out of the list, or added to it."""
    fields = dict(forger.good())
    given = fields["Signature-Input"]
    listed = ['"@method" ', '"@authority" ', '"@path" ', ' "signature-agent";key="sig1"']
    changed = given.replace(forger.random.choice(listed), "", 1)
    if forger.random.random() < 0.3:
        changed = given.replace("(", '("@scheme" ', 1)
    fields["Signature-Input"] = changed
    return _message(list(fields.items())), NOW


def _prolonged(forger: Forger) -> Forged:
    """The times of an old signature are changed."""
    fields = dict(forger.good(at=NOW - 10_000))
    given = fields["Signature-Input"]
    for name, value in (("created", NOW), ("expires", NOW + 300)):
        given = re.sub(rf"{name}=\d+", f"{name}={value + forger.random.randrange(60)}", given)
    fields["Signature-Input"] = given
    return _message(list(fields.items())), NOW


def _spliced(forger: Forger) -> Forged:
    """The fields of two good requests are mixed."""
    one, other = forger.good(), forger.good(Url(f"https://www.example.org/{forger.random.randrange(10**9)}"))
    name = forger.random.choice(["Signature-Input", "Signature"])
    fields = [pair for pair in one if pair[0] != name] + [pair for pair in other if pair[0] == name]
    return _message(fields), NOW


def _other_algorithm(forger: Forger) -> Forged:
    fields = dict(forger.good())
    name = forger.random.choice(["hmac-sha256", "rsa-pss-sha512", "ecdsa-p256-sha256", "none", "ed25519"])
    fields["Signature-Input"] += f';alg="{name}"'
    return _message(list(fields.items())), NOW


_FORGERIES: Final[Sequence[Callable[[Forger], Forged]]] = (
    _replayed, _out_of_time, _changed_character, _truncated, _left_out, _by_a_stranger, _relabelled, _narrowed,
    _prolonged, _spliced, _other_algorithm,
)  # fmt: skip


_TOKENS: Final = (b'"', b"\\", b"[", b"{", b"null", b"1e999", b"\xff", b"\n", b";", b",", b":")


def mutated(random: Random, text: bytes) -> bytes:
    """A text with some bytes changed, taken out, doubled or added."""
    found = bytearray(text)
    for _ in range(random.randrange(1, 6)):
        at = random.randrange(len(found) + 1)
        match random.randrange(5):
            case 0:
                found[at:at] = random.randbytes(random.randrange(1, 9))
            case 1:
                del found[at : at + random.randrange(1, 20)]
            case 2:
                found[at:at] = found[at : at + random.randrange(1, 200)]
            case 3:
                found[at:at] = random.choice(
                    [b'"', b"\\", b"[", b"{", b"null", b"1e999", b"\xff", b"\n", b";", b",", b":"]
                )
            case _:
                found[at : at + 1] = random.randbytes(1)
    return bytes(found)


def directory_body(random: Random, key: PrivateKey) -> bytes:
    """A directory with strange keys beside a good one."""
    strange: list[object] = [
        {"kty": "RSA", "n": "AQAB", "e": "AQAB"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "oct", "k": "AA"},
        {"kty": "OKP", "crv": "Ed25519", "x": "A" * 43},
        {"kty": "OKP", "crv": "X25519", "x": "AA"},
        {"kty": ["OKP"]},
        {**key.jwk, "exp": random.choice([0, -1, 1e300, "soon"])},
        {**key.jwk, "use": "enc"},
        {**key.jwk, "d": "AA"},
        *({}, [], None, 1, "x"),
    ]
    chosen = random.sample(strange, random.randrange(len(strange)))
    return json.dumps({"keys": [*chosen, {**key.jwk, "kid": key.thumbprint}]}).encode()
