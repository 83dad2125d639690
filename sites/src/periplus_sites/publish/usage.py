"""What a published site permits, as one policy that is written in every form: `[usage]` of `publish.toml`.

| form | where |
|---|---|
| `content-usage`, `content-signal` | robots.txt, in every group (a crawler reads only its own), and headers |
| `tdmrep` | `/.well-known/tdmrep.json`; a header of the middleware |
| `rsl` | `license.xml`, a `License` line of robots.txt, a `Link` header of the middleware |

Each form states only what it can state: TDMRep the training of models, Content-Usage training and search. A licence
cannot leave a use open, so there is one only if the policy names all three uses. Content-Signal has no paths, so what
differs by path is not in its lines. `contradictions` finds what the owner's own robots.txt states otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final
from xml.sax.saxutils import quoteattr

from msgspec import Struct

from periplus.formats.preferences import read_usage_rule
from periplus.formats.robots import parse
from periplus.formats.robots.document import named_token
from periplus.formats.robots.fields import field_of
from periplus.formats.robots.patterns import matches_path, path_of
from periplus.formats.rsl import MEDIA_TYPE, NAMESPACE

from .settings import USES, UsageSettings, path_uses

TDMREP: Final = ".well-known/tdmrep.json"
LICENSE: Final = "license.xml"
MARK: Final = "  # by periplus publish"
"""Behind each of our lines in a group of the owner's."""
_WORDS: Final = {"allow": ("y", "yes"), "disallow": ("n", "no")}
_RSL_NAMES: Final = {"search": "search", "train": "ai-train", "ai_input": "ai-input"}
Uses = dict[str, str]
"""`allow` or `disallow` by use; uses of which nothing is stated are not there."""


class UsagePolicy(Struct, frozen=True):
    """The uses of the site, and of paths: the longest that matches counts, with what the site states besides."""

    site: Uses
    paths: dict[str, Uses]
    forms: tuple[str, ...]
    base_url: str

    @classmethod
    def of(cls, settings: UsageSettings, base_url: str) -> UsagePolicy:
        """The policy of the settings."""
        site = {use: value for use in USES if (value := getattr(settings, use))}
        paths = {path: site | uses for path, uses in map(path_uses, settings.paths)}
        return cls(site, dict(sorted(paths.items(), key=lambda each: -len(each[0]))), settings.forms, base_url)

    def __bool__(self) -> bool:
        return bool(self.site or self.paths)

    def uses_of(self, path: str) -> Uses:
        """What is stated of a path."""
        return next((uses for pattern, uses in self.paths.items() if matches_path(pattern, path)), self.site)

    @property
    def is_at_root(self) -> bool:
        """Whether the files of the site are where crawlers look for them."""
        return self.base_url.count("/") == 3

    # robots.txt

    def signal_lines(self) -> list[str]:
        """The Content-Signal line of a group, without what differs by path."""
        common = {
            use: value
            for use, value in self.site.items()
            if all(uses.get(use) == value for uses in self.paths.values())
        }
        return [f"Content-Signal: {said}"] if "content-signal" in self.forms and (said := _signals(common)) else []

    def rule_lines(self) -> list[str]:
        """The Content-Usage lines of a group."""
        if "content-usage" not in self.forms:
            return []
        own = [f"Content-Usage: {said}"] if (said := _usage(self.site)) else []
        return own + [f"Content-Usage: {path} {said}" for path, uses in self.paths.items() if (said := _usage(uses))]

    def license_lines(self) -> list[str]:
        """The License line, outside of groups."""
        return [f"License: {self.base_url}{LICENSE}"] if self.has_license else []

    # files

    def files(self) -> dict[str, bytes]:
        """The files to be written, by their names below the root of the site."""
        found = {TDMREP: self.tdmrep_json(), LICENSE: self.license_xml()} if self.is_at_root else {}
        return {name: body for name, body in found.items() if body}

    def tdmrep_json(self) -> bytes:
        """The file of TDMRep: the first rule that matches counts, so the longest path is first. Empty: none."""
        if "tdmrep" not in self.forms:
            return b""
        rules = [
            {"location": path, "tdm-reservation": int(uses["train"] == "disallow")}
            for path, uses in [*self.paths.items(), ("/", self.site)]
            if "train" in uses
        ]
        return f"{json.dumps(rules, indent=2)}\n".encode() if rules else b""

    @property
    def has_license(self) -> bool:
        """Whether there is a licence: not if a use is left open somewhere, which none can say."""
        is_complete = all(len(uses) == len(USES) for uses in (self.site, *self.paths.values()))
        return "rsl" in self.forms and self.is_at_root and is_complete

    def license_xml(self) -> bytes:
        """The licence; empty if there is none."""
        if not self.has_license:
            return b""
        contents = [("/", self.site), *self.paths.items()]
        written = "".join(
            f"  <content url={quoteattr(path)}>\n    <license>{_license(uses)}</license>\n  </content>\n"
            for path, uses in contents
        )
        return f'<?xml version="1.0" encoding="UTF-8"?>\n<rsl xmlns="{NAMESPACE}">\n{written}</rsl>\n'.encode()

    # headers

    def headers(self, path: str) -> Iterator[tuple[str, str]]:
        """The headers of a page."""
        uses = self.uses_of(path)
        if "content-usage" in self.forms and (said := _usage(uses)):
            yield "Content-Usage", said
        if "content-signal" in self.forms and (said := _signals(uses)):
            yield "Content-Signal", said
        if "tdmrep" in self.forms and "train" in uses:
            yield "tdm-reservation", str(int(uses["train"] == "disallow"))
        if self.has_license:
            yield "Link", f'<{self.base_url}{LICENSE}>; rel="license"; type="{MEDIA_TYPE}"'


def _usage(uses: Uses) -> str:
    named = (("search", "search"), ("train-ai", "train"))
    return ", ".join(f"{name}={_WORDS[uses[use]][0]}" for name, use in named if use in uses)


def _signals(uses: Uses) -> str:
    named = (("search", "search"), ("ai-input", "ai_input"), ("ai-train", "train"))
    return ", ".join(f"{name}={_WORDS[uses[use]][1]}" for name, use in named if use in uses)


def _license(uses: Uses) -> str:
    lists = {
        answer: " ".join(_RSL_NAMES[use] for use in USES if uses[use] == answer) for answer in ("allow", "disallow")
    }
    permits = f'<permits type="usage">{lists["allow"]}</permits>' if lists["allow"] else ""
    return permits + (f'<prohibits type="usage">{lists["disallow"]}</prohibits>' if lists["disallow"] else "")


def with_policy(body: bytes, policy: UsagePolicy) -> tuple[bytes, list[str]]:
    """The owner's robots.txt with our lines in every group of it; and further lines for a block at its end.

    Content-Usage is a rule, and comes before the first one of a group: there the list of its agents ends.
    Content-Signal does not end that list, and comes behind each agent that another line follows.
    """
    signals, rules = policy.signal_lines(), policy.rule_lines()
    text = without_policy(body)
    if not signals and not rules:
        return text, policy.license_lines()
    robots = parse(text)
    has_group = any(named_token(agent) == "*" for group in robots.groups for agent in group.agents)
    own = [] if has_group else ["User-agent: *", *signals, *rules, "Allow: /"]
    lines = text.split(b"\n")
    written: list[bytes] = []
    waits = follows_agent = False
    for line in lines:
        field = _field(line)
        if follows_agent and field and field != "user-agent":
            written += [_marked(each) for each in signals]
            follows_agent = False
        if waits and field in ("allow", "disallow", "content-usage"):
            written += [_marked(each) for each in rules]
            waits = False
        if field == "user-agent":
            waits = follows_agent = True
        written.append(line)
    if waits:
        added = [_marked(each) for each in (*(signals if follows_agent else ()), *rules)]
        at = len(written) - 1 if written and not written[-1].strip() else len(written)
        written[at:at] = added
    return b"\n".join(written), [*policy.license_lines(), *own]


def without_policy(body: bytes) -> bytes:
    """The owner's lines."""
    mark = MARK.strip().encode()
    if mark not in body:
        return body
    return b"\n".join(line for line in body.split(b"\n") if not line.rstrip(b"\r").endswith(mark))


def _field(line: bytes) -> str:
    name, colon, _ = line.partition(b"#")[0].partition(b":")
    return field_of(name.decode("latin-1")) if colon else ""


def _marked(line: str) -> bytes:
    return f"{line}{MARK}".encode()


def contradictions(body: bytes, policy: UsagePolicy) -> Iterator[str]:
    """What the owner's robots.txt states of a use that the policy states otherwise, each in words."""
    robots = parse(body)
    places = ["/", *(path.rstrip("$").replace("*", "") for path in policy.paths)]
    agents = dict.fromkeys(named_token(agent) or agent for group in robots.groups for agent in group.agents)
    found: dict[str, None] = {}
    for access in map(robots.access, agents):
        for place in places:
            url = f"https://site.invalid{place}"
            for rule in access.usage_for(url) if access.usage else ():
                said, uses = read_usage_rule(rule), policy.uses_of(path_of(url))
                for use in USES:
                    stated = getattr(said, use).value
                    if use in uses and stated in _WORDS and stated != uses[use]:
                        text = f"line {rule.line} of robots.txt, {rule.field.title()}: {rule.value}"
                        found[f'{text}, contradicts [usage] {use} = "{uses[use]}" at {place}'] = None
    yield from found
