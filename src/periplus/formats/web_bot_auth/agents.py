"""`Signature-Agent`: where the keys of a request's sender are published.

| value | fetched |
|---|---|
| `sig1="https://signer.example"` | the well-known URL of that origin |
| `sig1="https://signer.example/jwks.json"` | as it is |
| `"https://signer.example"`, a bare string of earlier drafts | as above; problem `legacy-agent` |

Other problems: `agent-unreadable`, `agent-not-https`, `agent-parameters`. A member with a problem is left out.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from periplus.urls import canonical

from ..structured_fields import FieldItem, Member, read_dictionary, read_item

WELL_KNOWN: Final = "/.well-known/http-message-signatures-directory"
LEGACY: Final = "legacy-agent"
UNREADABLE: Final = "agent-unreadable"
PARAMETERS: Final = "agent-parameters"


class AgentMember(Struct, frozen=True):
    """One agent: the name of its member (`None`: a bare string), its URL as sent, and the URL of its keys."""

    member: str | None
    url: str
    fetch: str


class AgentField(Struct, frozen=True):
    """The agents of a request. `refused` are members that were left out, with their problems."""

    agents: tuple[AgentMember, ...]
    problems: tuple[str, ...] = ()
    refused: tuple[tuple[str | None, str], ...] = ()


def read_signature_agent(field: str) -> AgentField:
    """The agents that a field names."""
    if field.strip(" ").startswith('"'):
        item = read_item(field)
        members: list[tuple[str | None, Member]] = [] if item is None else [(None, item)]
    else:
        members = list((read_dictionary(field) or {}).items())
    if not members:
        return AgentField((), (UNREADABLE,))
    agents, refused = [], []
    for name, member in members:
        agent = _agent(name, member)
        if isinstance(agent, str):
            refused.append((name, agent))
        else:
            agents.append(agent)
    legacy = (LEGACY,) if agents and agents[0].member is None else ()
    return AgentField(tuple(agents), (*legacy, *dict.fromkeys(problem for _, problem in refused)), tuple(refused))


def _agent(name: str | None, member: Member) -> AgentMember | str:
    """The agent of a member, or its problem."""
    if not isinstance(member, FieldItem) or type(member.value) is not str:
        return UNREADABLE
    if member.parameters:
        return PARAMETERS
    url = member.value
    scheme, _, rest = url.partition("://")
    if scheme.lower() != "https" and rest:
        return "agent-not-https"
    fetch = canonical(url if set("/?#") & set(rest) else url + WELL_KNOWN)
    if fetch is None or not fetch.startswith("https://") or not rest or "@" in rest.partition("/")[0]:
        return UNREADABLE
    return AgentMember(name, url, fetch)
