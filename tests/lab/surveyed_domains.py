"""A list of domains to survey, made from a seed, with everything known of it: what they serve, and what a survey finds.

    plan = SurveyedDomains(count=1000, seed=7)
    plan.domains          the list
    plan.answers          what every URL says
    plan.files            every sitemap file, and what is true of it
    plan.robots           every domain's robots.txt, and what is true of it

`surveyed_truth` makes every table of a survey of it; `surveyed_server` serves it over HTTP. Shares are those of the
Berkeley report: 45 % have a robots.txt, 14 % of these name sitemaps. `port` goes into all URLs, for a server that is
found by a table of addresses and not as a proxy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from msgspec import Struct, field
from tests.lab.surveyed_files import Grove, PlannedFile, Said

SUFFIXES = ("survey.test", "survey.example", "survey.test", "other.test")
SHARED_HOST = "files.survey.test"
"""Serves sitemaps of many domains, and has no robots.txt."""

AGENTS = (
    ("Googlebot", "googlebot"), ("GoogleBot/2.1", "googlebot"), ("Mediapartners-Google", "mediapartners-google"),
    ("wget", "wget"), ("Wget/1.6", "wget"), ("WebZIP/4.21", "webzip"), ("WebZip", "webzip"),
    ("Mozilla/4.0 (compatible; MSIE 5.0)", "mozilla"), ("Microsoft URL Control", "microsoft url control"),
    ("Microsoft URL Control - 6.00.8169", "microsoft url control"), ("WebBandit/3.50", "webbandit"),
    ("lwp-trivial/1.34", "lwp-trivial"), ("MIIxpc", "miixpc"), ("Teleport Pro 1.29", "teleport pro"),
    ("larbin_2.6.2", "larbin"), ("Slurp", "slurp"), ("slurp  ", "slurp"), ("msnbot", "msnbot"),
)  # fmt: skip
"""As they are written, and the name that they are counted under."""

_OUTCOMES = {
    "file": 38.0, "redirect": 4.0, "www": 2.0, "home": 1.1,
    "404": 39.4, "403": 2.0, "410": 0.5, "html": 8.0, "500": 2.0, "503": 1.0, "silent": 0.4, "closes": 0.6, "loop": 1.0,
}  # fmt: skip
"""Per cent of domains: a file; one that lies under www., behind a redirect, behind a page, behind a redirect to the
front page; errors; a page and no file; silence; redirects that go round."""
_FOUND = {"file": "file", "redirect": "file", "www": "file-at-www", "home": "file-at-www"}
_LOST = {"html": "html-instead", "silent": "timeout", "closes": "closed-early", "loop": "too-many-redirects"}
_STATUS = {"html": 200, "loop": 301, "silent": None, "closes": None}
_PAGE = b"<!DOCTYPE html>\n<html><head><title>Welcome</title></head><body><p>Buy now.</p></body></html>\n"


class PlannedRobots(Struct):
    """The robots.txt of a domain: its text as far as it is written, and what is true of that."""

    domain: str
    outcome: str
    status: int | None
    is_html: bool = False
    text: list[str] = []
    fields: Counter[str] = field(default_factory=Counter)
    agents: list[str] = []
    disallows: list[int] = []
    sitemaps: list[str] = []
    problems: Counter[str] = field(default_factory=Counter)
    size: int = 0
    lines: int = 0

    @property
    def is_file(self) -> bool:
        return self.outcome in ("file", "file-at-www")

    def write(self, name: str, value: str) -> None:
        """One line, whose name counts as it is spelt."""
        self.text.append(f"{name}: {value}".rstrip())
        self.fields[name.strip().lower()] += 1

    def name_sitemap(self, url: str, *, written: str = "") -> None:
        self.write("Sitemap", written or url)
        if url not in self.sitemaps:
            self.sitemaps.append(url)


class SurveyedDomains:
    """The domains, from a seed. `naming` is the share of robots.txt files that name sitemaps."""

    def __init__(
        self,
        count: int = 1000,
        seed: int = 1,
        *,
        port: int | None = None,
        naming: float = 0.14,
        most_entries: int = 300,
    ) -> None:
        self._port = "" if port is None else f":{port}"
        self._naming = naming
        self._most_entries = most_entries
        self.domains = [f"d{number:05d}.{SUFFIXES[number % 4]}{self._port}" for number in range(count)]
        self.answers: dict[str, Said] = {}
        self.files: list[PlannedFile] = []
        self.robots: list[PlannedRobots] = []
        self._shared = Random(f"{seed}/shared")
        chances = [Random(f"{seed}/{number}") for number in range(count)]
        sorts = [chance.choices(list(_OUTCOMES), list(_OUTCOMES.values()))[0] for chance in chances]
        self._roots = [self._plant(*each) for each in zip(self.domains, sorts, chances, strict=True)]
        for domain, sort, chance, roots in zip(self.domains, sorts, chances, self._roots, strict=True):
            self.robots.append(self._publish(domain, sort, chance, roots))

    @property
    def hosts(self) -> list[str]:
        """Every host that answers, without ports."""
        names = [domain.partition(":")[0] for domain in self.domains]
        return [*names, *(f"www.{name}" for name in names), SHARED_HOST]

    def answer(self, url: str) -> Said:
        """What a URL says."""
        return self.answers.get(url, _NOT_FOUND)

    def _plant(self, domain: str, sort: str, chance: Random) -> list[str]:
        """The trees that the robots.txt of a domain will name."""
        if sort not in _FOUND or chance.random() >= self._naming:
            return []
        grove = Grove(domain, domain, f"{SHARED_HOST}{self._port}", chance, self._most_entries)
        roots = [grove.plant() for _ in range(1 if chance.random() < 0.85 else chance.randint(2, 6))]
        self.files += grove.files
        self.answers |= grove.answers
        return roots

    def _publish(self, domain: str, sort: str, chance: Random, roots: list[str]) -> PlannedRobots:
        if sort not in _FOUND:
            return self._refuse(domain, sort)
        robots = PlannedRobots(domain, _FOUND[sort], 200, is_html=sort in ("www", "home"))
        _write_sections(robots, chance)
        self._name_sitemaps(robots, chance, roots, domain if sort == "file" else f"www.{domain}")
        body = _body(robots, chance)
        bare, www = f"http://{domain}/robots.txt", f"http://www.{domain}/robots.txt"
        self.answers[bare if sort == "file" else www] = Said(200, "text/plain", body)
        if sort == "redirect":
            self.answers[bare] = Said(301, "text/html", b"", www)
        elif sort == "www":
            self.answers[bare] = Said(200, "text/html", _PAGE)
        elif sort == "home":
            self.answers[bare] = Said(302, "text/html", b"", f"http://www.{domain}/")
            self.answers[f"http://www.{domain}/"] = Said(200, "text/html", _PAGE)
        return robots

    def _refuse(self, domain: str, sort: str) -> PlannedRobots:
        """A domain without a robots.txt, or with one that cannot be fetched."""
        url = f"http://{domain}/robots.txt"
        if sort.isdigit():
            self.answers[url] = Said(int(sort), "text/html", _PAGE)
            return PlannedRobots(domain, f"http-{sort}", int(sort))
        if sort == "html":
            self.answers[url] = Said(200, "text/html", _PAGE)
            self.answers[f"http://www.{domain}/robots.txt"] = Said(404, "text/html", _PAGE)
        elif sort == "loop":
            self.answers[url] = Said(301, "text/html", b"", f"http://{domain}/round")
            self.answers[f"http://{domain}/round"] = Said(301, "text/html", b"", url)
        else:
            self.answers[url] = Said(trouble=sort)
        return PlannedRobots(domain, _LOST[sort], _STATUS[sort], is_html=sort == "html")

    def _name_sitemaps(self, robots: PlannedRobots, chance: Random, roots: list[str], found_at: str) -> None:
        """In all the ways in which people do: in brackets, without their host, twice, with twins, those of others."""
        for root in roots:
            way = chance.random()
            if way < 0.05:
                robots.name_sitemap(root, written=f"<{root}>")
            elif way < 0.1 and root.startswith(f"http://{found_at}/"):
                robots.name_sitemap(root, written=root.removeprefix(f"http://{found_at}"))
            else:
                robots.name_sitemap(root)
            if 0.1 <= way < 0.15:
                robots.name_sitemap(root)
            elif 0.15 <= way < 0.2:
                robots.name_sitemap(f"{root}.gz")
                self.answers[f"{root}.gz"] = self.answers[root]
        if roots and self._shared.random() < 0.1:
            others = [other for other in self._roots if other and other is not roots]
            robots.name_sitemap(self._shared.choice(others or [roots])[0])


_NOT_FOUND = Said(404, "text/html", b"<html><title>Not found</title></html>")


def _body(robots: PlannedRobots, chance: Random) -> bytes:
    end = chance.choice(("\n", "\n", "\n", "\r\n"))
    body = "".join(f"{line}{end}" for line in robots.text).encode()
    body = (b"\xef\xbb\xbf" if chance.random() < 0.03 else b"") + body
    robots.size, robots.lines = len(body), len(robots.text)
    return body


def _write_sections(robots: PlannedRobots, chance: Random) -> None:
    """Mostly one or two sections, in some files those of a widespread template; none in an empty file."""
    kind = chance.random()
    if kind < 0.03:
        return
    if chance.random() < 0.2:
        robots.text += ["# robots.txt", "", "# keep out  # please"]
    if chance.random() < 0.03:
        robots.write("Disallow", "/before-anybody/")
        robots.problems["outside-group"] += 1
    if kind < 0.06:
        for number in range(chance.randint(110, 130)):
            name = f"template-bot-{_letters(number)}"
            _write_section(robots, chance, [(name, name)])
    for number in range(chance.choice((1, 1, 1, 2, 2, 3, 6))):
        agents = [("*", "*")] if number == 0 else _some_agents(robots, chance)
        _write_section(robots, chance, agents)


def _some_agents(robots: PlannedRobots, chance: Random) -> list[tuple[str, str]]:
    if chance.random() < 0.1:
        name = f"onlyhere-{_letters(int(robots.domain[1:6]))}"
        return [(name, name)]
    return chance.sample(AGENTS, chance.choice((1, 1, 1, 2, 3)))


def _write_section(robots: PlannedRobots, chance: Random, agents: list[tuple[str, str]]) -> None:
    for written, name in agents:
        robots.write(chance.choice(("User-agent", "User-Agent", "user-agent")), written)
        robots.agents.append(name)
    robots.disallows.append(0)
    number = chance.choice((0, 1, 1, 1, 1, 2, 5, 20))
    for rule in range(number):
        _write_disallow(robots, chance, f"/private/{rule}/")
    if not number:
        robots.write("Disallow", "")
    if chance.random() < 0.15:
        chance.choice(_EXTRAS)(robots)
    if chance.random() < 0.3:
        robots.text.append("")


def _write_disallow(robots: PlannedRobots, chance: Random, path: str) -> None:
    """Some are misspelt, and most readers understand them all the same."""
    robots.disallows[-1] += 1
    way = chance.random()
    if way < 0.02:
        robots.write("Dissallow", path)
    elif way < 0.04:
        robots.text.append(f"Disallow {path}")
        robots.fields["disallow"] += 1
        robots.problems["no-colon"] += 1
    elif way < 0.06:
        robots.write("Disallow", path[1:])
        robots.problems["pattern-without-slash"] += 1
    else:
        robots.write("Disallow", path)


def _write_note(robots: PlannedRobots) -> None:
    robots.text.append("please be nice")
    robots.problems["not-a-field"] += 1


def _write_bad_delay(robots: PlannedRobots) -> None:
    robots.write("Crawl-delay", "soon")
    robots.problems["bad-value"] += 1


_EXTRAS: tuple[Callable[[PlannedRobots], None], ...] = (
    _write_note,
    _write_bad_delay,
    lambda robots: robots.write("Allow", "/private/0/open"),
    lambda robots: robots.write("Crawl-Delay", "0.01"),
    lambda robots: robots.write("Noindex", "/drafts/"),
    lambda robots: robots.write("Host", "www.example.org"),
    lambda robots: robots.write("Request-rate", "100/1"),
    lambda robots: robots.write("Visit-time", "0000-2359"),
    lambda robots: robots.write("ACAP-crawler", "*"),
    lambda robots: robots.write("Clean-param", "ref /shop/"),
)


def _letters(number: int) -> str:
    """A number in letters: names of agents hold no digits."""
    return "".join("abcdefghij"[int(digit)] for digit in str(number))
