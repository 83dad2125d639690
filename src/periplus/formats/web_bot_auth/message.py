"""The text that a signature covers: a line for each component of a message, and one for the signature's parameters.

RFC 9421 section 2. Of its components those of trailers are left out, and `sf` is only read for fields that are known
to be dictionaries.
"""

from __future__ import annotations

from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from typing import Final
from urllib.parse import parse_qsl, quote

from msgspec import Struct

from ..structured_fields import FieldItem, InnerList, read_dictionary, write_dictionary, write_member

MISSING: Final = "missing-component"
"""The problem of a signature over something that the message does not have."""
UNSUPPORTED: Final = "unsupported-component"
"""The problem of a signature over something that is not read here."""
MAX_COMPONENTS: Final = 20
"""Components of a signature, which are read before it is known whose it is; there are 8 that are not fields."""
_DICTIONARIES: Final = frozenset({"content-digest", "signature", "signature-agent", "signature-input"})
_DEFAULT_PORTS: Final = {"https": ":443", "http": ":80"}


class SignedMessage(Struct, frozen=True, dict=True):
    """A request, or a response with the URL of its request.

    `fields` are header fields in their order; names in any case. `body` is `None` where it is not known.
    """

    method: str
    url: str
    fields: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    is_response: bool = False

    def field(self, name: str) -> str | None:
        """The value of a field whose name is in lower case; `None` if the message does not have it."""
        values = [value.strip(" \t") for own, value in self.fields if own.lower() == name]
        return ", ".join(values) if values else None

    @property
    def scheme(self) -> str:
        """`https`, or another one."""
        return self.url.partition("://")[0].lower()

    @property
    def authority(self) -> str:
        """The host in lower case, and the port if it is not the usual one."""
        rest = self.url.partition("://")[2]
        end = min((at for mark in "/?#" if (at := rest.find(mark)) >= 0), default=len(rest))
        host = rest[:end].rpartition("@")[2].lower()
        return host.removesuffix(_DEFAULT_PORTS.get(self.scheme, ":"))

    @property
    def path(self) -> str:
        """The path as it is sent."""
        return self._target.partition("?")[0]

    @property
    def query(self) -> str:
        """The query with its question mark, which is there even if the query is empty."""
        return "?" + self._target.partition("?")[2]

    @property
    def _target(self) -> str:
        """The path and query."""
        rest = self.url.partition("://")[2].partition("#")[0]
        begin = min((at for mark in "/?" if (at := rest.find(mark)) >= 0), default=len(rest))
        return rest[begin:] if rest[begin : begin + 1] == "/" else f"/{rest[begin:]}"

    def derived(self, name: str) -> str | None:
        """A component that is not a field, such as `@path`; `None` if there is no such component."""
        read = _DERIVED.get(name)
        return None if read is None else read(self)

    def parameter(self, name: str) -> str | None:
        """The value of a parameter of the query, in the form of section 2.2.8; `None` unless it is there once."""
        values = self._parameters.get(name, ())
        return values[0] if len(values) == 1 else None

    @cached_property
    def _parameters(self) -> dict[str, list[str]]:
        """The values of each parameter of the query. Kept, as a query may be long and have many that are covered."""
        found: dict[str, list[str]] = defaultdict(list)
        for name, value in parse_qsl(self.query[1:], keep_blank_values=True, errors="replace"):
            found[quote(name, safe="*-._")].append(quote(value, safe="*-._"))
        return found


_DERIVED: Final[dict[str, Callable[[SignedMessage], str]]] = {
    "@method": lambda message: message.method,
    "@target-uri": lambda message: f"{message.scheme}://{message.authority}{message._target}",
    "@authority": lambda message: message.authority,
    "@scheme": lambda message: message.scheme,
    "@request-target": lambda message: message._target,
    "@path": lambda message: message.path,
    "@query": lambda message: message.query,
}


def signature_base(message: SignedMessage, signed: InnerList) -> tuple[bytes, str]:
    """What a signature over these components signs, or the problem with it: `MISSING` or `UNSUPPORTED`."""
    if len(signed.items) > MAX_COMPONENTS:
        return b"", UNSUPPORTED
    lines = []
    for component in signed.items:
        value, problem = _value(message, component)
        if value is None:
            return b"", problem
        lines.append(f"{write_member(component)}: {value}")
    lines.append(f'"@signature-params": {write_member(signed)}')
    text = "\n".join(lines)
    is_plain = text.isascii() and text.count("\n") == len(lines) - 1 and "\r" not in text
    return (text.encode(), "") if is_plain else (b"", UNSUPPORTED)


def _value(message: SignedMessage, component: FieldItem) -> tuple[str | None, str]:
    name, parameters = component.value, component.parameters
    if type(name) is not str:
        return None, UNSUPPORTED
    if message.is_response and parameters.get("req") is True:
        parameters = {key: value for key, value in parameters.items() if key != "req"}
        if not name.startswith("@"):
            return None, UNSUPPORTED  # fields of the request are not kept
    elif message.is_response and name.startswith("@"):
        return None, UNSUPPORTED
    if name == "@query-param" and list(parameters) == ["name"]:
        return message.parameter(str(parameters["name"])), MISSING
    if name.startswith("@"):
        return (message.derived(name) if not parameters else None), UNSUPPORTED
    value = message.field(name)
    if value is None or not parameters:
        return value, MISSING
    return _part(message, name, value, component)


def _part(message: SignedMessage, name: str, value: str, component: FieldItem) -> tuple[str | None, str]:
    """The value of a field in one of the forms that parameters ask for."""
    match dict(component.parameters):
        case {"key": str(key), **rest} if not rest:
            member = (read_dictionary(value) or {}).get(key)
            return (None if member is None else write_member(member)), MISSING
        case {"sf": True, **rest} if not rest and name in _DICTIONARIES:
            members = read_dictionary(value)
            return (None if members is None else write_dictionary(members)), MISSING
        case {"bs": True, **rest} if not rest:
            values = [own.strip(" \t") for field, own in message.fields if field.lower() == name]
            return ", ".join(f":{b64encode(own.encode('latin-1', 'replace')).decode()}:" for own in values), MISSING
    return None, UNSUPPORTED
