"""Public cases of Web Bot Auth: requests, directories, cards, ranges. Other folders of `identity` have their own files.

`identity_cases` and `check_all_are_read` are for all of them: `test_corpus_identity_FOLDER.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from periplus.apps.identity.verifier import DirectoryAnswer, KeyDirectories, SignatureVerifier
from periplus.formats.address_ranges import read_address_ranges
from periplus.formats.structured_fields import FieldItem, read_dictionary
from periplus.formats.web_bot_auth import (
    SignaturePolicy,
    SignedMessage,
    read_card,
    read_directory,
    read_key,
    read_registry,
    read_signature_agent,
    signature_base,
    thumbprint,
)

pytestmark = pytest.mark.corpus

Case = dict[str, Any]


def identity_cases(corpus: Path, folder: str, file: str) -> list[Case]:
    """The cases of a file."""
    cases = json.loads((corpus / "identity" / folder / file).read_text())
    assert cases, f"{file} has no cases"
    return list(cases)


def check_all_are_read(corpus: Path, folder: str, read: Collection[str]) -> None:
    """Fail if a file of a folder is read by no test."""
    there = {path.name for path in (corpus / "identity" / folder).iterdir()}
    assert there <= set(read), f"read by nobody: {sorted(there - set(read))}"


def policy_of(case: Case) -> SignaturePolicy:
    policy = case.get("policy") or {}
    return SignaturePolicy(
        test_keys=policy.get("test_keys", "reject") == "allow", max_lifetime=policy.get("max_lifetime", 86_400)
    )


def message_of(case: Case) -> SignedMessage:
    fields = case["headers"].items() if isinstance(case["headers"], dict) else case["headers"]
    body = (case.get("body") or "").encode()
    return SignedMessage(case.get("method", "GET"), case["url"], tuple(map(tuple, fields)), body, "status" in case)


def answer_of(fetch: Case) -> DirectoryAnswer:
    return DirectoryAnswer(fetch["status"], tuple(fetch["headers"].items()), fetch["body"].encode())


def check_request(case: Case) -> None:
    fetches, asked = {fetch["url"]: answer_of(fetch) for fetch in case["fetches"]}, []

    def fetch(url: str) -> DirectoryAnswer:
        asked.append(url)
        return fetches.get(url, DirectoryAnswer(failure="directory-unreachable"))

    policy = policy_of(case)
    directories = KeyDirectories(fetch, policy)
    for known in case.get("cache", ()):
        fields = (("Cache-Control", f"max-age={known['max_age']}"),)
        body = json.dumps({"keys": known["keys"]}).encode()
        directories.put(known["agent"], DirectoryAnswer(200, fields, body), known["fetched"])
    once = (case.get("policy") or {}).get("nonce", "ignore") != "ignore"
    verifier = SignatureVerifier(directories, policy, lambda: case["now"], once=once)
    verdict, pending = verifier.verdict(message_of(case["request"]))
    found = {
        "outcome": verdict.outcome.value,
        "reason": verdict.reason,
        "agent": verdict.agent,
        "keyid": verdict.keyid,
        "problems": list(verdict.problems),
    }
    assert {name: value for name, value in found.items() if value} == case["expected"]
    assert len(asked) <= 1
    assert not pending


def check_directory(case: Case) -> None:
    found = read_directory(message_of(case), case["status"], case["now"], policy_of(case))
    assert {"usable": list(found.keys), "problems": list(found.problems), "proof": found.proof} == case["expected"]


def check_signature_agent(case: Case) -> None:
    found = read_signature_agent(case["header"])
    agents = [{"member": agent.member, "url": agent.url, "fetch": agent.fetch} for agent in found.agents]
    assert (agents, list(found.problems)) == (case["expected"], case.get("problems", []))


def check_message(case: Case) -> None:
    ((label, signed),) = (read_dictionary(case["signature_input"]) or {}).items()
    base, problem = signature_base(message_of(case["message"]), signed)  # type: ignore[arg-type]
    assert not problem
    assert base.decode() == case.get("base", base.decode())
    key, value = read_key(case["jwk"]), (read_dictionary(case["signature"]) or {})[label]
    assert key is not None
    assert isinstance(value, FieldItem)
    assert key.algorithm == case["algorithm"]
    assert key.verifies(value.value, base) is case["valid"]


def check_thumbprint(case: Case) -> None:
    assert thumbprint(case["jwk"]) == case["thumbprint"]


def check_card(case: Case) -> None:
    if "registry" in case:
        assert list(read_registry(case["registry"])) == case["cards"]
    else:
        assert (read_card(json.dumps(case["card"]).encode(), case["url"]) is not None) is case["valid"]


def check_ranges(case: Case) -> None:
    found = read_address_ranges(json.dumps(case["file"]).encode())
    assert found.problem == case.get("problem", "")
    assert [address for address in case["in"] if found.service(address) is None] == []
    assert [address for address in case["out"] if found.service(address) is not None] == []
    assert {address: found.service(address) for address in case.get("service", {})} == case.get("service", {})


CHECKS: dict[str, Callable[[Case], None]] = {
    "requests.json": check_request,
    "directories.json": check_directory,
    "signature_agent.json": check_signature_agent,
    "rfc9421.json": check_message,
    "thumbprints.json": check_thumbprint,
    "cards.json": check_card,
    "ranges.json": check_ranges,
}


@pytest.mark.parametrize("file", CHECKS)
def test_cases(corpus: Path, file: str) -> None:
    """Every case of a file; all that differ are shown."""
    differing = []
    for case in identity_cases(corpus, "web_bot_auth", file):
        try:
            CHECKS[file](case)
        except AssertionError as error:
            differing.append(f"{case['id']}: {error}")
    assert not differing, "\n".join(differing)


@pytest.mark.parametrize(("folder", "read"), [("web_bot_auth", CHECKS)])
def test_every_file_is_read(corpus: Path, folder: str, read: Collection[str]) -> None:
    check_all_are_read(corpus, folder, read)
