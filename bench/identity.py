"""What signatures cost: microseconds to sign a request, and to verify one whose key is known.

    python -m bench.identity

Wanted: at most 150 µs to sign, and 400 µs to verify. The best of several rounds counts, in CPU time of one process.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable
from os import urandom

from periplus.apps.identity.verifier import DirectoryAnswer, KeyDirectories, SignatureVerifier
from periplus.formats.web_bot_auth import RequestSigning, SignaturePolicy, SignedMessage, new_key, write_directory
from periplus.model import Url

NOW = 1_790_000_000.0
URL = Url("https://www.example.org/docs/page?x=1")
ROUNDS = 7
CALLS = 2_000
WANTED = {"sign": 150.0, "verify": 400.0, "unsigned": 5.0}


def cost(call: Callable[[], object]) -> float:
    """Microseconds of a call, in the best of several rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.process_time()
        for _ in range(CALLS):
            call()
        best = min(best, (time.process_time() - begun) / CALLS * 1e6)
    return best


def main() -> None:
    """Measure and print."""
    key = new_key()
    signing = RequestSigning(key, "https://signer.example.net")
    directory = DirectoryAnswer(200, (("Cache-Control", "max-age=86400"),), write_directory([key]))
    policy = SignaturePolicy()
    verifier = SignatureVerifier(KeyDirectories(lambda _: directory, policy), policy, lambda: NOW)
    request = SignedMessage("GET", URL, signing.fields("GET", URL, NOW, b64encode(urandom(16)).decode()), b"")
    unsigned = SignedMessage("GET", URL, (("User-Agent", "Example/1.0"), ("Accept", "*/*")), b"")
    assert verifier.verdict(request)[0].outcome == "verified"
    measured = {
        "sign": cost(lambda: signing.fields("GET", URL, NOW, b64encode(urandom(16)).decode())),
        "verify": cost(lambda: verifier.verdict(request)),
        "unsigned": cost(lambda: verifier.verdict(unsigned)),
    }
    for name, found in measured.items():
        print(f"{name:10}{found:8.1f} µs   wanted: at most {WANTED[name]:.0f}")


if __name__ == "__main__":
    main()
