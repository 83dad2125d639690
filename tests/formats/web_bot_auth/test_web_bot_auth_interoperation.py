"""What we sign, other implementations verify, and the other way round: in Python, and two in JavaScript.

Those in JavaScript are packages of npm; the test runs where `PERIPLUS_NODE_MODULES` names a folder that has them:

    npm install --prefix FOLDER http-message-signatures web-bot-auth
    PERIPLUS_NODE_MODULES=FOLDER/node_modules make test FOR=formats

Of `web-bot-auth` only signatures are read: version 0.1.3 does not verify members of a dictionary, and signs a string.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from periplus.formats.web_bot_auth import (
    PublicKey,
    RequestSigning,
    SignatureClaim,
    SignatureOutcome,
    SignaturePolicy,
    SignedMessage,
    judged,
    new_key,
    read_claims,
    read_key,
)
from periplus.model import Url

pytest.importorskip("cryptography", reason="signatures need the extra `identity`")

URL = Url("https://www.example.org/docs/page?x=1")
AGENT = "https://signer.example.net"
KEY = new_key()


def public_key() -> PublicKey:
    key = read_key(KEY.jwk)
    assert key is not None
    return key


def check(request: SignedMessage, now: float) -> SignatureOutcome:
    [claim] = read_claims(request, now, SignaturePolicy())
    assert isinstance(claim, SignatureClaim), claim
    assert claim.keyid == KEY.thumbprint
    return judged(claim, public_key(), request).outcome


class Message:
    """A request as the other library wants it."""

    def __init__(self, url: str, headers: dict[str, str], method: str = "GET") -> None:
        from requests.structures import CaseInsensitiveDict

        self.method, self.url, self.headers = method, url, CaseInsensitiveDict(headers)


def other_library() -> Any:
    return pytest.importorskip("http_message_signatures", reason="http-message-signatures is not installed")


def test_the_other_library_verifies_ours() -> None:
    library = other_library()

    class Resolver(library.HTTPSignatureKeyResolver):  # type: ignore[misc, name-defined]
        def resolve_public_key(self, key_id: str) -> Any:
            assert key_id == KEY.thumbprint
            return public_key().key

        def resolve_private_key(self, key_id: str) -> Any:
            raise AssertionError(key_id)

    fields = dict(RequestSigning(KEY, AGENT).fields("GET", URL, time.time(), "bm9uY2U="))
    verifier = library.HTTPMessageVerifier(
        signature_algorithm=library.algorithms.ED25519,
        key_resolver=Resolver(),
        component_resolver_class=library.HTTPSignatureComponentResolver,
    )
    [found] = verifier.verify(Message(URL, fields))
    assert '"signature-agent";key="sig1"' in found.covered_components
    for name, value in (
        ("Signature-Agent", 'sig1="https://other.example.net"'),
        ("Signature", fields["Signature"][:-9] + "AAAAAAA=:"),
    ):
        with pytest.raises(library.InvalidSignature):
            verifier.verify(Message(URL, {**fields, name: value}))


def test_we_verify_the_other_library() -> None:
    library = other_library()

    class Resolver(library.HTTPSignatureKeyResolver):  # type: ignore[misc, name-defined]
        def resolve_private_key(self, key_id: str) -> Any:
            return KEY._key

        def resolve_public_key(self, key_id: str) -> Any:
            raise AssertionError(key_id)

    from datetime import datetime, timedelta

    signer = library.HTTPMessageSigner(signature_algorithm=library.algorithms.ED25519, key_resolver=Resolver())
    message = Message(URL, {"Signature-Agent": f'sig1="{AGENT}"'})
    now = datetime.now()
    signer.sign(
        message,
        key_id=KEY.thumbprint,
        created=now,
        expires=now + timedelta(minutes=5),
        label="sig1",
        tag="web-bot-auth",
        covered_component_ids=("@authority", "@target-uri", '"signature-agent";key="sig1"'),
    )
    request = SignedMessage("GET", URL, tuple(message.headers.items()), b"")
    assert check(request, time.time()) is SignatureOutcome.VERIFIED


SCRIPT = """
import { createRequire } from "module";
import { readFileSync } from "fs";
import { createPublicKey, createPrivateKey, verify, sign } from "crypto";
const load = createRequire(process.argv[2] + "/");
const { httpbis } = load("http-message-signatures");
const given = JSON.parse(readFileSync(0, "utf8"));
const publicKey = createPublicKey({ key: given.public, format: "jwk" });
const privateKey = createPrivateKey({ key: given.private, format: "jwk" });
const now = new Date();
const times = { created: now, expires: new Date(now.getTime() + 300_000) };
const request = { method: "GET", url: given.url, headers: { "Signature-Agent": `sig1="${given.agent}"` } };
const signed = await httpbis.signMessage({
  key: { id: given.keyid, alg: "ed25519", sign: async (data) => sign(null, data, privateKey) },
  name: "sig1", fields: ["@method", "@authority", '"signature-agent";key="sig1"'],
  params: ["created", "expires", "keyid", "tag"], paramValues: { ...times, tag: "web-bot-auth" },
}, request);
const verdicts = {};
for (const [name, headers] of Object.entries(given.requests)) {
  try {
    const found = await httpbis.verifyMessage({
      keyLookup: async (params) => params.keyid !== given.keyid ? null : {
        id: given.keyid, algs: ["ed25519"], verify: async (data, value) => verify(null, data, publicKey, value),
      },
    }, { method: "GET", url: given.url, headers });
    verdicts[name] = found === true ? "verified" : String(found);
  } catch (error) { verdicts[name] = String(error); }
}
const bots = load("web-bot-auth"), { signerFromJWK } = load("web-bot-auth/crypto");
const old = new Request(given.url, { headers: { "Signature-Agent": `"${given.agent}"` } });
const legacy = await bots.signatureHeaders(old, await signerFromJWK(given.private), times);
console.log(JSON.stringify({ signed: signed.headers, legacy, verdicts }));
"""
PACKAGES = ("http-message-signatures", "web-bot-auth")


def node_modules() -> str:
    folder = os.environ.get("PERIPLUS_NODE_MODULES", "")
    if shutil.which("node") is None or not all((Path(folder) / name).is_dir() for name in PACKAGES):
        pytest.skip("no node, or not all packages in PERIPLUS_NODE_MODULES")
    return folder


def test_implementations_in_javascript(tmp_path: Path) -> None:
    """Theirs are verified here, ours is verified there, and a changed one is not."""
    folder = node_modules()
    from base64 import urlsafe_b64encode

    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    secret = KEY._key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    ours = dict(RequestSigning(KEY, AGENT).fields("GET", URL, time.time(), "bm9uY2U="))
    given = {
        "url": URL,
        "agent": AGENT,
        "keyid": KEY.thumbprint,
        "private": {**KEY.jwk, "d": urlsafe_b64encode(secret).rstrip(b"=").decode()},
        "public": KEY.jwk,
        "requests": {"ours": ours, "changed": {**ours, "Signature-Agent": 'sig1="https://other.example.net"'}},
    }
    script = tmp_path / "interoperate.mjs"
    script.write_text(SCRIPT)
    run = subprocess.run(
        ["node", str(script), folder], input=json.dumps(given), capture_output=True, text=True, timeout=600, check=False
    )
    assert run.returncode == 0, run.stderr
    answer = json.loads(run.stdout)
    assert answer["verdicts"]["ours"] == "verified"
    assert answer["verdicts"]["changed"] != "verified"
    for fields in (answer["signed"], {"Signature-Agent": f'"{AGENT}"', **answer["legacy"]}):
        request = SignedMessage("GET", URL, tuple(fields.items()), b"")
        assert check(request, time.time()) is SignatureOutcome.VERIFIED
