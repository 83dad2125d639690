"""Pages that are not there although their status says so: soft 404s.

Nothing here fetches: `part` asks for the URLs that cannot exist, `insight` reads the tables.

Some sites answer 200 with an apology, or redirect to their home page (Bar-Yossef et al., "Sic transit gloria telae",
2004). Such a soft 404 is found by asking for one URL that cannot exist: its answer is the site's *error template*, and
pages that resemble it are soft 404s, whatever their status. A site is asked only when something is suspicious:

* three pages of one cluster whose URLs differ in their template, or in more than two segments; or eight pages of one
  cluster and one template;
* a page of few words whose title says "not found";
* a URL that was linked or listed and redirects to the home page.

A site that answers 404 or 410 is honest, and is not asked again for 30 days. Where one template is confirmed, further
ones (another section has its own) are accepted without a request if the title says so too; where two are, if the page
is short. A site that shows its home page, or the same text everywhere (a consent wall, an empty page filled by
scripts), has no error template.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

from msgspec import Struct, field
from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from periplus.model import Url
from periplus.policy.duplicates import brief_of, likenesses
from periplus.policy.filters.templates import key_of, template_of
from periplus.urls import is_home

from .settings import AbsenceSettings
from .words import says_not_found

MAX_TEMPLATES: Final = 8
"""Error templates, and error targets, that are kept of a site: one a section of a large site."""
MAX_GROUPS: Final = 8
"""Groups of equal pages that are watched at a time; the group that grew longest ago makes room."""
MAX_SUSPECTS: Final = 16
"""URLs kept of a group until it is decided whether they are soft 404s."""
_LETTERS: Final = "abcdefghijklmnop"
_IMPOSSIBLE: Final = re.compile(f"[{_LETTERS}]{{16}}(?=[./]|$)")
_LONGEST_EXTENSION: Final = 6
_SHORTEST_NAME: Final = 3
"""Characters of a name in a URL that a page repeats: shorter ones are in many texts."""
_ESTIMATED_TIMES: Final = 2
"""A page is not short if its words are estimated to be this many times the maximum: the estimate is rough."""


class ReadPage(Struct, frozen=True):
    """The parts of a page that are compared. Pages of one site with the same `cluster` are near-duplicates.

    `is_copy`: a page with the same text was read before. `bare`: the hash of its text without its own URL, if it is
    short and repeats that; else 0.
    """

    url: Url
    title: str
    sketch: bytes
    main: int
    words: int
    cluster: int = 0
    is_copy: bool = False
    bare: int = 0


class ErrorTemplate(Struct, frozen=True, array_like=True, gc=False):
    """The page that a site shows for absent ones: brief, digest of the main text, title's hash. `of` is its URL.

    `bare`: the hash of its text without its own URL, if it repeats that.
    """

    brief: bytes
    main: int
    title: int
    of: str = ""
    bare: int = 0


class SameTextGroup(Struct, array_like=True):
    """Pages of a site that say the same: how many, by which templates, and the URLs of the first."""

    count: int = 0
    templates: list[int] = field(default_factory=list)
    urls: list[Url] = field(default_factory=list)
    brief: bytes = b""
    main: int = 0
    title: int = 0
    says_so: bool = False


class SiteAbsence(Struct, array_like=True):
    """The evidence about how a site answers for absent pages.

    `groups` are by the name of the cluster. `targets` are the URLs that absent pages redirect to, `redirecting` URLs
    that redirected to the home page before that was known. `probe` is the URL that was asked for and not answered yet,
    `probes` the number of requests since `first_probe_at`.
    """

    templates: list[ErrorTemplate] = field(default_factory=list)
    targets: list[Url] = field(default_factory=list)
    groups: dict[int, SameTextGroup] = field(default_factory=dict)
    redirecting: list[Url] = field(default_factory=list)
    honest_until: float = 0.0
    probes: int = 0
    first_probe_at: float = 0.0
    probe: Url | None = None


def soft_404(known: SiteAbsence | None, page: ReadPage, settings: AbsenceSettings) -> ErrorTemplate | None:
    """The error template that a page resembles; the home page never does."""
    if known is None or not known.templates or is_home(page.url):
        return None
    brief, title = brief_of(page.sketch), title_key(page.title)
    for template, likeness in zip(
        known.templates, likenesses(brief, [each.brief for each in known.templates]), strict=True
    ):
        least = settings.least_likeness_titled if template.title == title else settings.least_likeness
        if template.main == page.main or (page.sketch and likeness >= least) or 0 != template.bare == page.bare:
            return template
    return None


def is_error_target(known: SiteAbsence | None, url: Url, target: Url) -> bool:
    """Whether a URL redirects to where its site sends requests for absent pages."""
    return known is not None and target in known.targets and not is_home(url)


def suspect_page(known: SiteAbsence, page: ReadPage, settings: AbsenceSettings) -> bool:
    """Note a page that is a copy of another, or says that it is not there: whether that makes the site suspicious."""
    group = _group(known, page)
    if page.url in group.urls:
        return False
    group.count += 1
    if len(group.urls) < MAX_SUSPECTS:
        group.urls.append(page.url)
    key = key_of(template_of(page.url))
    if key not in group.templates and len(group.templates) < MAX_SUSPECTS:
        group.templates.append(key)
    if group.says_so or group.count >= settings.pages_alike_of_template:
        return True
    differ = len(group.templates) > 1 or _differ(group.urls) or bool(known.templates)
    return group.count >= settings.pages_alike and differ


def suspect_redirect(known: SiteAbsence, url: Url, target: Url) -> bool:
    """Note a redirect to the home page: whether it is suspicious. One of `http:` to `https:` is not."""
    if is_home(url) or not is_home(target):
        return False
    if url not in known.redirecting:
        known.redirecting = [*known.redirecting, url][-MAX_SUSPECTS:]
    return True


def is_short_apology(title: str, text: str, settings: AbsenceSettings, estimated_words: int = 0) -> bool:
    """Whether a page of few words says in its title that it is not there.

    `estimated_words`: their number by the beginning of the text (`PageStatistics.words`); 0 if it is not known.
    """
    most = settings.max_words
    if estimated_words >= _ESTIMATED_TIMES * most:  # most pages are long, as their beginning shows
        return False
    return says_not_found(title) and word_count(text) < most


def bare_text(url: Url, text: str, settings: AbsenceSettings, estimated_words: int) -> int:
    """The hash of a short text without the path or name of its URL; 0 if it is long, or repeats neither."""
    if estimated_words >= settings.max_words:
        return 0
    path = unquote(url[url.index("/", 8) :])
    name = path.rstrip("/").rpartition("/")[2]
    if len(name) < _SHORTEST_NAME or name not in text:
        return 0
    return xxh3_64_intdigest(text.replace(url, "").replace(path, "").replace(name, "").encode("utf-8", "replace"))


def word_count(text: str) -> int:
    """Words of a visible text, which has one space between two words."""
    return text.count(" ") + 1 if text else 0


def may_probe(known: SiteAbsence, settings: AbsenceSettings, now: float) -> bool:
    """Whether a site may be asked for a URL that cannot exist."""
    if not settings.enabled or known.probe is not None or now < known.honest_until:
        return False
    is_new_month = now >= known.first_probe_at + settings.honest_days * 86400.0
    return is_new_month or known.probes < settings.max_probes


def begin_probe(known: SiteAbsence, suspect: Url, settings: AbsenceSettings, now: float) -> Url:
    """A URL that cannot exist, beside a suspect one: it is asked for now."""
    if now >= known.first_probe_at + settings.honest_days * 86400.0:
        known.probes, known.first_probe_at = 0, now
    known.probes += 1
    known.probe = impossible_url(suspect, known.probes)
    return known.probe


def impossible_url(suspect: Url, number: int = 1) -> Url:
    """A URL beside a suspect that cannot exist: 16 letters from a hash in place of its name, or of its last value.

    `number`: of the probe. Suspects in one directory have the same URL, whichever of them was read first.
    """
    path, mark, query = suspect.partition("?")
    if "=" in query:
        before, after = f"{path}{mark}{query.rpartition('=')[0]}=", ""
    else:
        slash = "/" if path.endswith("/") and not is_home(suspect) else ""
        directory, _, name = path.removesuffix(slash).rpartition("/")
        extension = name.rpartition(".")[2] if "." in name else ""
        is_plain = extension.isalnum() and len(extension) <= _LONGEST_EXTENSION
        before, after = f"{directory}/", f"{'.' + extension if is_plain else ''}{slash}"
    letters = xxh3_64_hexdigest(f"absent {number} {before} {after}".encode())
    return Url(before + "".join(_LETTERS[int(digit, 16)] for digit in letters) + after)


def learn_honest(known: SiteAbsence, settings: AbsenceSettings, now: float) -> None:
    """Record that the site answers honestly that a page does not exist: earlier suspicions are forgotten."""
    known.probe = None
    known.groups.clear()
    known.redirecting.clear()
    known.honest_until = now + settings.honest_days * 86400.0


def learn_nothing(known: SiteAbsence) -> None:
    """Record that the probe failed: it was counted, and another may follow."""
    known.probe = None


def learn_target(known: SiteAbsence, target: Url) -> list[Url]:
    """The site redirects absent pages: the URLs that were redirected there before and are soft 404s, then.

    A target that repeats the name that was asked for (at the host with `www.`, or behind a login) teaches nothing.
    """
    asked, known.probe = known.probe, None
    if asked is not None and _name_in(asked) in target:
        return []
    if target not in known.targets:
        known.targets = [*known.targets, target][-MAX_TEMPLATES:]
    found, known.redirecting = (known.redirecting, []) if is_home(target) else ([], known.redirecting)
    return found


def learn_template(
    known: SiteAbsence, page: ReadPage, home: int | None, settings: AbsenceSettings, now: float
) -> list[Url]:
    """The site sent a page for a URL that does not exist: the earlier pages that resemble it and are soft 404s, then.

    `home` is the digest of the main text of the home page, if it was read. A page without words teaches nothing.
    """
    known.probe = None
    if not page.sketch or page.main == home:
        learn_honest(known, settings, now)
        return []
    template = ErrorTemplate(brief_of(page.sketch), page.main, title_key(page.title), page.url, page.bare)
    return _with_template(known, template, settings)


def accept_group(known: SiteAbsence, page: ReadPage, settings: AbsenceSettings) -> bool:
    """On a site that is known to send error pages: whether the group of a page is another template, without a probe.

    Its title says so; or the site has several templates, and this is one more short page at many URLs.
    """
    group = known.groups.get(page.cluster)
    if not known.templates or group is None or group.count < settings.pages_alike:
        return False
    is_likely = len(known.templates) >= settings.max_probes and page.words < settings.max_words
    if not group.says_so and not is_likely:
        return False
    _with_template(known, ErrorTemplate(group.brief, group.main, group.title, page.url), settings)
    return True


def title_key(title: str) -> int:
    """The hash of a title in stored data."""
    return xxh3_64_intdigest(" ".join(title.lower().split()).encode("utf-8", "replace"))


def _with_template(known: SiteAbsence, template: ErrorTemplate, settings: AbsenceSettings) -> list[Url]:
    """Add a template; the URLs of the groups that resemble it, which are decided now."""
    known.templates = [*known.templates, template][-MAX_TEMPLATES:]
    found: list[Url] = []
    for name, group in list(known.groups.items()):
        likeness = likenesses(template.brief, [group.brief])[0]
        least = settings.least_likeness_titled if group.title == template.title else settings.least_likeness
        if group.main == template.main or likeness >= least or name == template.bare:
            found += group.urls
            del known.groups[name]
    return found


def _name_in(impossible: Url) -> str:
    """The letters of a URL that cannot exist."""
    found = _IMPOSSIBLE.search(impossible)
    return found[0] if found else impossible


def _group(known: SiteAbsence, page: ReadPage) -> SameTextGroup:
    group = known.groups.pop(page.cluster, None)
    if group is None:
        group = SameTextGroup(
            int(page.is_copy), brief=brief_of(page.sketch), main=page.main, title=title_key(page.title)
        )
        if len(known.groups) >= MAX_GROUPS:
            del known.groups[next(iter(known.groups))]
    known.groups[page.cluster] = group  # at the end: the group that grew longest ago leaves first
    group.says_so = group.says_so or says_not_found(page.title)
    return group


def _differ(urls: Sequence[Url]) -> bool:
    """Whether two of these differ in more than two segments."""
    first = urls[0].split("/")[3:]
    for url in urls[1:]:
        other = url.split("/")[3:]
        differing = sum(a != b for a, b in zip(first, other, strict=False)) + abs(len(first) - len(other))
        if differing > 2:
            return True
    return False
