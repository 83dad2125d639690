"""Adapters of other crawlers: they can be read, and are pinned to what is installed."""

import pytest
from bench.peers import Ours, Tool

from bench.conformance import ADAPTERS, PEERS, peer_adapter
from periplus_lab.conformance.judging import listed_cases

_KNOWN = {
    name for case in listed_cases() for name in (case.group, f"{case.group}/{case.trial}", f"{case.group}/{case.name}")
}


def test_every_adapter_has_a_peer() -> None:
    assert {path.stem for path in ADAPTERS.glob("*.toml")} == set(PEERS)


@pytest.mark.parametrize("name", PEERS)
def test_an_adapter_says_what_it_starts(name: str) -> None:
    adapter = peer_adapter(name)
    words = [*adapter.command, *adapter.refresh]
    assert adapter.settings
    assert "{seed}" in words
    assert not any("{home}" in word or "{here}" in word for word in words)
    assert not set(adapter.not_applicable) - _KNOWN
    if not isinstance(PEERS[name], Tool | Ours):  # their versions are those of the system, and of this tree
        assert adapter.version == PEERS[name].version()
