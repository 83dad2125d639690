"""Web Bot Auth: who sends a request, by a signature (RFC 9421) and a directory of public keys that its agent publishes.

    fields = RequestSigning(key, "https://signer.example").fields("GET", url, now, nonce)
    claims = read_claims(request, now, policy)          # what a request claims, or why it claims nothing
    judged(claims[0], directory.keys[claims[0].keyid], request)

`message` makes the text that is signed of the components of a message; `keys` reads, makes and uses keys; `agents`
reads `Signature-Agent`; `requests` signs requests and reads what signed ones claim; `directories` reads and writes
directories of keys and the cards of agents. All are pure: keys are looked up by the caller, and times are given.

After draft-ietf-webbotauth-httpsig-protocol (editors' copy of October 2026), which changed twice: earlier drafts add a
well-known path to an origin, still earlier ones have a bare string. All three are read; the bare origin that is sent is
understood by all of them.

Signatures need the package `cryptography` (`pip install 'periplus[identity]'`); what only reads fields does not.
"""

from .agents import WELL_KNOWN, AgentField, AgentMember, read_signature_agent
from .directories import (
    DIRECTORY_TYPE,
    MAX_DIRECTORY_BYTES,
    AgentCard,
    KeyDirectory,
    proof_fields,
    read_card,
    read_directory,
    read_registry,
    write_card,
    write_directory,
)
from .keys import PrivateKey, PublicKey, needs_cryptography, new_key, read_key, read_private_key, thumbprint
from .message import SignedMessage, signature_base
from .requests import (
    RequestSigning,
    SignatureClaim,
    SignatureOutcome,
    SignaturePolicy,
    SignatureVerdict,
    is_signature_wanted,
    judged,
    read_claims,
)

__all__ = [
    "DIRECTORY_TYPE",
    "MAX_DIRECTORY_BYTES",
    "WELL_KNOWN",
    "AgentCard",
    "AgentField",
    "AgentMember",
    "KeyDirectory",
    "PrivateKey",
    "PublicKey",
    "RequestSigning",
    "SignatureClaim",
    "SignatureOutcome",
    "SignaturePolicy",
    "SignatureVerdict",
    "SignedMessage",
    "is_signature_wanted",
    "judged",
    "needs_cryptography",
    "new_key",
    "proof_fields",
    "read_card",
    "read_claims",
    "read_directory",
    "read_key",
    "read_private_key",
    "read_registry",
    "read_signature_agent",
    "signature_base",
    "thumbprint",
    "write_card",
    "write_directory",
]
