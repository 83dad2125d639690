"""A program that makes clients makes one from the description of the API, and the client works."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.apps.serve.asking import Site
from tests.apps.serve.conftest import Serving

from periplus.apps.serve.app import described_api
from periplus.bridges.agents.rest import AgentRoutes

ROOT = Path(__file__).resolve().parents[3]
CLIENTS = ROOT / ".venv/clients"
TOKEN = "a-token-of-the-client-that-is-long-enough"
CONFIG = {
    "post_hooks": [],
    "content_type_overrides": {
        "application/opensearchdescription+xml": "text/plain",
        "application/link-format": "text/plain",
    },
}
"""The two kinds of text that the generator does not know are read as plain text."""
PROGRAM = """
import sys
from periplus_client import AuthenticatedClient
from periplus_client.api.default import get_api_collection_sites, get_api_search

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
answer = get_api_search.sync(client=client, q="parts")
for found in answer.results:
    print(found.url, [pair for pair in found.marks][:1])
print(get_api_collection_sites.sync_detailed(client=client).status_code)
print(get_api_search.sync_detailed(client=AuthenticatedClient(base_url=sys.argv[1], token="no"), q="x").status_code)
"""


@pytest.fixture(scope="module")
def generator() -> str:
    """The program, installed on its own as `make test` does it."""
    subprocess.run(["make", "-s", ".venv/clients"], cwd=ROOT, check=True, timeout=900)
    return str(CLIENTS / "bin/openapi-python-client")


@pytest.mark.proof
def test_a_client_is_made_and_searches(serving: Serving, generator: str, tmp_path: Path) -> None:
    """Without a warning: nothing of the API is missing from the client."""
    site = serving(token=TOKEN)
    description, config = tmp_path / "api.json", tmp_path / "config.json"
    description.write_text(site.get("/api/openapi.json", {"Authorization": f"Bearer {TOKEN}"}).text)
    config.write_text(json.dumps(CONFIG))
    made = tmp_path / "made"
    options = ["--path", str(description), "--config", str(config), "--output-path", str(made), "--fail-on-warning"]
    done = subprocess.run([generator, "generate", *options], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    *found, allowed, refused = called(made, site, TOKEN)
    assert (allowed, refused) == ("200", "401")
    assert len(found) > 3
    assert all(line.startswith("http://") and "[[" in line for line in found)


def called(made: Path, site: Site, token: str) -> list[str]:
    """What the client of the folder says of the server."""
    command = [str(CLIENTS / "bin/python"), "-c", PROGRAM, site.origin, token]
    done = subprocess.run(command, cwd=made, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def schemas_of(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in the description."""
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from schemas_of(each)


def test_the_description_keeps_the_stricter_rules() -> None:
    """Arrays have one schema of items, operations a name of their own, paths exactly the parameters that are described.

    References lead somewhere, and every answer has a schema.
    """
    description = described_api([AgentRoutes()])
    operations = [(path, each) for path, methods in description["paths"].items() for each in methods.values()]
    assert len({each["operationId"] for _, each in operations}) == len(operations) > 30
    for path, each in operations:
        named = [one["name"] for one in each["parameters"]]
        assert len(set(named)) == len(named)
        inside = {one["name"] for one in each["parameters"] if one["in"] == "path"}
        assert {part.split("}")[0] for part in path.split("{")[1:]} == inside
        assert all(one["schema"] for one in each["responses"]["200"]["content"].values())
    known = {f"#/components/schemas/{name}" for name in description["components"]["schemas"]}
    for schema in schemas_of(description):
        assert "prefixItems" not in schema
        assert schema.get("type") != "array" or isinstance(schema["items"], dict)
        assert schema.get("$ref", next(iter(known))) in known
