"""The statements of each source about a page, as rows of the ledger: pure functions of what was read.

| source | speaks of |
|---|---|
| `robots-content-usage`, `header-content-usage` | search, train |
| `robots-content-signal`, `header-content-signal` | search, train, ai_input; `use=immediate` refuses all but ai_input |
| `robots-license`, `header-license`, `html-license` | search, train, ai_input; of Creative Commons archive as well |
| `tdmrep-json`, `header-tdm`, `meta-tdm` | train |
| `header-robots`, `meta-robots` | noindex: search; noai: train; noarchive: archive |
| `http-401`, `http-402` | all |

A file that was asked for and says nothing has one row with the answer `unknown`: `robots` and `tdmrep-json`. The rows
of a page are written together, once every file that it depends on was asked for: a page without rows is not explained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from periplus.content.facts import AGENT
from periplus.formats.headers import Headers, read_robots_tag
from periplus.formats.preferences import (
    TdmFile,
    read_content_signal,
    read_content_usage,
    read_reservation,
    read_usage_rule,
)
from periplus.formats.robots import Access
from periplus.formats.rsl import UNREADABLE_LICENSE, Permission, RslDocument
from periplus.model import Directives, Preference, Preferences, UseLimit
from periplus.policy.permissions import (
    ABSENT,
    ALLOW,
    DISALLOW,
    MAX_STATEMENT,
    READ,
    UNKNOWN,
    UNREACHABLE,
    UNREADABLE,
    USES,
    Statement,
)

REFUSING: Final = frozenset({401, 402})
"""Statuses of responses that refuse every use."""
_DIRECTIVES: Final = (("search", "noindex"), ("train", "noai"), ("archive", "noarchive"))
_NO_DIRECTIVES: Final = Directives()
_ALL_BUT_INPUT: Final = ("search", "train", "archive")


class Place(Struct, frozen=True):
    """Where statements were read: the URL, whether it was read, and what proves it."""

    url: str = ""
    status: str = READ
    digest: str = ""
    record: str = ""

    def says(
        self,
        source: str,
        use: str = "",
        answer: str = UNKNOWN,
        text: str = "",
        *,
        line: int = 0,
        rule: str = "",
        conditions: tuple[str, ...] = (),
    ) -> Statement:
        """A statement that was read here."""
        return Statement(
            source, use, answer, conditions, self.status, self.url, line, rule, text[:MAX_STATEMENT], self.digest,
            self.record,
        )  # fmt: skip


NO_PLACE: Final = Place()
"""The place of a page that says nothing."""


def of_preferences(
    place: Place, source: str, said: Preferences, text: str, line: int = 0, rule: str = ""
) -> Iterator[Statement]:
    """The statements of one field or line."""
    for use, preference in (("search", said.search), ("train", said.train), ("ai_input", said.ai_input)):
        if preference is not Preference.UNKNOWN:
            yield place.says(source, use, preference.value, text, line=line, rule=rule)
    if said.use is UseLimit.IMMEDIATE:
        for use in _ALL_BUT_INPUT:
            yield place.says(source, use, DISALLOW, text, line=line, rule=rule)


def of_robots(place: Place, access: Access | None, url: str) -> list[Statement]:
    """The statements of a robots.txt about a page, without its licences. `None`: there are no rules."""
    found: list[Statement] = []
    if access is not None and access.usage and access.allows(url):
        for rule in access.usage_for(url):
            text = f"{rule.field.title()}: {rule.value}"
            found += of_preferences(place, f"robots-{rule.field}", read_usage_rule(rule), text, rule.line, rule.pattern)
    return found or [place.says("robots")]


def of_page(head: Place, body: Place, status: int, headers: Headers, directives: Directives) -> list[Statement]:
    """The statements of a response and its page, without licences and TDMRep.

    `directives` are those of headers and elements together; what headers do not say is said by the page.
    """
    found = of_status(head, status) if status in REFUSING else []
    usage = ", ".join(headers.all("content-usage"))
    if usage:
        said = read_content_usage(usage)
        found += of_preferences(head, "header-content-usage", said, f"Content-Usage: {usage}")
    for value in headers.all("content-signal"):
        said = read_content_signal(value)
        found += of_preferences(head, "header-content-signal", said, f"Content-Signal: {value}")
    if directives != _NO_DIRECTIVES:
        found += _of_directives(head, body, headers.all("x-robots-tag"), directives)
    return found


def _of_directives(head: Place, body: Place, tags: Sequence[str], directives: Directives) -> Iterator[Statement]:
    sent = read_robots_tag(tags, AGENT) if tags else _NO_DIRECTIVES
    for use, name in _DIRECTIVES:
        if getattr(sent, name):
            yield head.says("header-robots", use, DISALLOW, f"X-Robots-Tag: {name}")
        elif getattr(directives, name):
            yield body.says("meta-robots", use, DISALLOW, f"meta robots: {name}")


def of_status(place: Place, status: int) -> list[Statement]:
    """A response that refuses to send the page refuses every use of it."""
    return [place.says(f"http-{status}", use, DISALLOW, f"HTTP {status}") for use in USES]


def of_reservations(
    url: str,
    site: Place,
    file: TdmFile | None,
    head: Place,
    headers: Sequence[tuple[str, str]] = (),
    body: Place | None = None,
    metas: Mapping[str, Sequence[str]] | None = None,
) -> list[Statement]:
    """The statements of TDMRep: each of file, headers and page, whose order is left to the combination."""
    rule = file.rule_for(url) if file is not None and file.rules else None
    if rule is None:
        found = [site.says("tdmrep-json", "train")]
    else:
        answer = DISALLOW if rule.is_reserved else ALLOW
        text = _reservation(rule.is_reserved, rule.policy)
        found = [site.says("tdmrep-json", "train", answer, text, rule=rule.location)]
    if not headers and not metas:
        return found
    for source, place, said in (
        ("header-tdm", head, read_reservation(url, None, headers)),
        ("meta-tdm", body or head, read_reservation(url, None, (), metas)),
    ):
        if said.tdm is not Preference.UNKNOWN:
            is_reserved = said.tdm is Preference.DISALLOW
            found.append(place.says(source, "train", said.tdm.value, _reservation(is_reserved, said.policy)))
    return found


def _reservation(is_reserved: bool, policy: str) -> str:
    return f"tdm-reservation: {int(is_reserved)}" + (f", tdm-policy: {policy}" if policy else "")


def of_license(place: Place, source: str, document: RslDocument | None, url: str, line: int = 0) -> list[Statement]:
    """The statements of a licence that was named; `None`: it could not be fetched. Its silence is a statement, too."""
    if document is None:
        answers: Mapping[str, Permission] = UNREADABLE_LICENSE
        rule = ""
    else:
        answers, rule = document.answers(url), document.content_for(url)[0]
    found = [
        place.says(source, use, said.answer, f"License: {place.url}", line=line, rule=rule, conditions=said.conditions)
        for use, said in answers.items()
        if said.answer != UNKNOWN
    ]
    return found or [place.says(source, "train", UNKNOWN, f"License: {place.url}", line=line)]


def of_terms(place: Place, source: str, answers: Mapping[str, Permission], url: str) -> list[Statement]:
    """The statements of a licence that is known by its URL."""
    text = f"License: {url}"
    return [place.says(source, use, said.answer, text, conditions=said.conditions) for use, said in answers.items()]


def status_of_file(status: int | None, *, is_readable: bool) -> str:
    """What a request for a file found: `absent` for 404 and the like, `unreachable` where the site could not say."""
    if status is None or status >= 500 or status == 429:
        return UNREACHABLE
    if status >= 400:
        return ABSENT
    return READ if is_readable else UNREADABLE
