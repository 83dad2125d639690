"""Faults with robots.txt. Python's library, which the small crawler uses, has some of its own."""

from __future__ import annotations

import re
from string import punctuation
from urllib.parse import quote, urljoin, urlsplit

from lab.tests.conformance_faults.small_crawler import AGENT, Response, SmallCrawler

DISALLOW_ALL = ["User-agent: *", "Disallow: /"]
TOKEN = AGENT.partition("/")[0]


def path_of(url: str) -> str:
    """Path and query."""
    return "/" + "/".join(url.split("/")[3:])


class IgnoresRobots(SmallCrawler):
    """Asks for robots.txt, and forgets it."""

    def is_allowed(self, url: str) -> bool:
        """All is allowed."""
        self.rules_of(url)
        return True


class TakesSeedUnchecked(SmallCrawler):
    """Takes the seed for allowed."""

    def is_allowed(self, url: str) -> bool:
        """The seed, before robots.txt is asked for."""
        return url == self.seed or super().is_allowed(url)


class _OwnReader(SmallCrawler):
    """Reads the rules of all groups by itself."""

    lines: list[str]

    def robots_lines(self, response: Response) -> list[str]:
        """Keep them."""
        self.lines = super().robots_lines(response)
        return self.lines

    def is_allowed(self, url: str) -> bool:
        """What no rule disallows."""
        self.rules_of(url)
        rules = [line.partition(":")[2].strip() for line in self.lines if line.startswith("Disallow:")]
        return not any(rule and self.is_match(rule, path_of(url)) for rule in rules)

    def is_match(self, rule: str, path: str) -> bool:
        """Whether a rule is about a path: octet by octet."""
        return path.startswith(rule)

    def target(self, url: str) -> str:
        """With octets beyond ASCII escaped."""
        return quote(super().target(url), safe=punctuation)


class MatchesInAnyCase(_OwnReader):
    """Takes /Upper and /upper for one path."""

    def is_match(self, rule: str, path: str) -> bool:
        """Without regard to case."""
        return path.lower().startswith(rule.lower())


class MatchesExpressions(_OwnReader):
    """Takes rules for regular expressions, which may begin anywhere."""

    def is_match(self, rule: str, path: str) -> bool:
        """Anywhere."""
        return re.search(rule.lstrip("/*").rstrip("*"), path) is not None


class FollowsRedirectsUnchecked(SmallCrawler):
    """Lets the HTTP library follow redirects."""

    def visit(self, url: str) -> None:
        """Follow at once."""
        response = self.fetch(url)
        if response.status in (301, 302, 307, 308):
            self.visit(urljoin(url, response.fields["location"]))
        else:
            for link in self.links(response):
                self.take(urljoin(url, link))


class ReadsSitemapsUnchecked(SmallCrawler):
    """Takes all that a sitemap lists."""

    def crawl(self) -> None:
        """The sitemap first."""
        sitemap = self.fetch(urljoin(self.seed, "/sitemap.xml"))
        for url in re.findall(r"<loc>(.*?)</loc>", sitemap.body.decode()):
            self.fetch(url)
        super().crawl()


class ObeysEveryGroup(SmallCrawler):
    """Takes the rules of every group for its own."""

    def is_allowed(self, url: str) -> bool:
        """Nothing that is disallowed for anybody."""
        parser = self.rules_of(url)
        groups = [*parser.entries, parser.default_entry]  # type: ignore[attr-defined]
        return all(group is None or group.allowance(path_of(url)) for group in groups)


class _MatchesNames(SmallCrawler):
    """Finds its groups by itself."""

    def is_allowed(self, url: str) -> bool:
        """What its first group allows."""
        parser = self.rules_of(url)
        for group in parser.entries:  # type: ignore[attr-defined]
            if any(self.is_my_name(name) for name in group.useragents):
                return bool(group.allowance(path_of(url)))
        star = parser.default_entry  # type: ignore[attr-defined]
        return star is None or bool(star.allowance(path_of(url)))

    def is_my_name(self, name: str) -> bool:
        """Only in the right case."""
        return name == TOKEN


class MatchesLongerNames(_MatchesNames):
    """Takes the group of a relative for its own."""

    def is_my_name(self, name: str) -> bool:
        """All that begins like it."""
        return name.lower().startswith(f"{TOKEN.lower()}-")


class ObeysOrphans(SmallCrawler):
    """Takes rules before the first group for everybody's."""

    def robots_lines(self, response: Response) -> list[str]:
        """As if there were a group."""
        return ["User-agent: *", *super().robots_lines(response)]


class EndsLinesWithLf(SmallCrawler):
    """Knows one way to end a line."""

    def robots_lines(self, response: Response) -> list[str]:
        """Split at LF alone."""
        return response.body.decode("utf-8", "replace").split("\n")


class DecodesStrictly(SmallCrawler):
    """Drops a file with one wrong octet."""

    def robots_lines(self, response: Response) -> list[str]:
        """No rules if there is one."""
        try:
            return response.body.decode("utf-8").splitlines()
        except UnicodeDecodeError:
            return []


class ReadsLittle(SmallCrawler):
    """Reads the first 100 KiB."""

    def robots_lines(self, response: Response) -> list[str]:
        """No more."""
        return response.body[: 100 * 1024].decode("utf-8", "replace").splitlines()


class FearsAll(SmallCrawler):
    """Obeys only an ordinary robots.txt, and leaves all other sites alone."""

    def robots_lines(self, response: Response) -> list[str]:
        """Disallow all if it is not there, not text, or long."""
        is_text = response.fields.get("content-type", "").startswith("text/plain")
        is_usual = response.status == 200 and is_text and len(response.body) < 600 * 1024
        return super().robots_lines(response) if is_usual else DISALLOW_ALL


class FearsNothing(SmallCrawler):
    """Takes an error for leave."""

    def robots_lines(self, response: Response) -> list[str]:
        """No rules if there is an error."""
        return super().robots_lines(response) if response.status == 200 else []


class FollowsForever(SmallCrawler):
    """Follows every redirect of robots.txt."""

    def robots_lines(self, response: Response) -> list[str]:
        """Until it is there, or hundreds were followed."""
        for _ in range(200):
            if "location" not in response.fields:
                break
            response = self.fetch(urljoin(response.url, response.fields["location"]))
        return super().robots_lines(response)


class OwnFileOfEachOrigin(SmallCrawler):
    """Leaves its host, and its scheme; no fault."""

    def is_in_scope(self, url: str) -> bool:
        """Anywhere."""
        return urlsplit(url).scheme in ("http", "https")


class OneFileForAll(OwnFileOfEachOrigin):
    """Obeys the robots.txt of the seed everywhere."""

    def is_allowed(self, url: str) -> bool:
        """As if it were a URL of the seed's site."""
        return self.rules_of(self.seed).can_fetch(AGENT, url)


class FearsEmptyRules(SmallCrawler):
    """Takes an empty Disallow for one that matches everything."""

    def robots_lines(self, response: Response) -> list[str]:
        """Disallow the root."""
        return [line if line != "Disallow:" else "Disallow: /p" for line in super().robots_lines(response)]


class ObeysWhatOthersAreTold(SmallCrawler):
    """Follows no link of a page that says nofollow to anybody."""

    def links(self, response: Response) -> list[str]:
        """None if the word is there."""
        said = response.body.partition(b"</head>")[0].decode() + response.fields.get("x-robots-tag", "")
        return [] if "nofollow" in said.lower() else super().links(response)


FAULTS = {
    "ignores-robots": IgnoresRobots,
    "takes-seed-unchecked": TakesSeedUnchecked,
    "matches-verbatim": _OwnReader,
    "matches-in-any-case": MatchesInAnyCase,
    "matches-expressions": MatchesExpressions,
    "follows-redirects-unchecked": FollowsRedirectsUnchecked,
    "reads-sitemaps-unchecked": ReadsSitemapsUnchecked,
    "obeys-every-group": ObeysEveryGroup,
    "matches-names-in-one-case": _MatchesNames,
    "matches-longer-names": MatchesLongerNames,
    "obeys-orphans": ObeysOrphans,
    "ends-lines-with-lf": EndsLinesWithLf,
    "decodes-strictly": DecodesStrictly,
    "reads-little": ReadsLittle,
    "fears-all": FearsAll,
    "fears-nothing": FearsNothing,
    "follows-forever": FollowsForever,
    "own-file-of-each-origin": OwnFileOfEachOrigin,
    "one-file-for-all": OneFileForAll,
    "fears-empty-rules": FearsEmptyRules,
    "obeys-what-others-are-told": ObeysWhatOthersAreTold,
}
FAILS = {
    "longest-match": "-",
    "allow-wins-a-tie": "-",
    "wildcard": "-",
    "end-of-pattern": "-",
    "query": "ignores-robots",
    "case-of-paths": "matches-in-any-case",
    "plain-characters": "matches-expressions",
    "first-octet": "matches-expressions",
    "comment": "matches-verbatim",
    "spaces-and-case": "matches-verbatim",
    "unknown-lines": "ignores-robots",
    "redirect-to-forbidden": "follows-redirects-unchecked",
    "sitemap-lists-forbidden": "reads-sitemaps-unchecked",
    "robots-first": "takes-seed-unchecked",
    "non-ascii-rule": "matches-verbatim",
    "non-ascii-link": "matches-verbatim",
    "percent-encoded-unreserved": "matches-verbatim",
    "case-of-hex-digits": "matches-verbatim",
    "percent-encoded-reserved": "-",
    "special-characters": "matches-verbatim",
    "own-group": "ignores-robots",
    "own-group-replaces-star": "obeys-every-group",
    "groups-are-combined": "-",
    "several-names": "ignores-robots",
    "order-of-groups": "obeys-every-group",
    "case-of-names": "matches-names-in-one-case",
    "version-after-name": "-",
    "longer-name": "matches-longer-names",
    "shorter-name": "-",
    "star-group": "ignores-robots",
    "star-groups-are-combined": "-",
    "blank-lines-in-group": "-",
    "rule-without-group": "obeys-orphans",
    "byte-order-mark": "-",
    "cr-line-ends": "ends-lines-with-lf",
    "not-utf-8": "decodes-strictly",
    "first-500-kib": "reads-little",
    "huge-file": "fears-all",
    "html-as-robots": "fears-all",
    "not-found": "fears-all",
    "server-error": "fears-nothing",
    "network-error": "-",
    "five-redirects": "-",
    "redirect-to-another-host": "-",
    "redirect-loop": "follows-forever",
    "disallow-all": "ignores-robots",
    "seed-too": "ignores-robots",
    "own-file-of-each-host": "one-file-for-all",
    "own-file-of-each-scheme": "one-file-for-all",
    "crawl-delay": "-",
    "request-rate": "-",
    "empty-disallow": "fears-empty-rules",
    "meta-nofollow": "-",
    "meta-nofollow-by-name": "-",
    "meta-for-others": "obeys-what-others-are-told",
    "header-nofollow": "-",
    "header-for-others": "obeys-what-others-are-told",
    "rel-nofollow": "-",
}
"""The fault that fails each case; `-`: what Python's library does, and a crawler that knows no more than links."""
PASSES = {"own-file-of-each-scheme": "own-file-of-each-origin"}
"""The small crawler that passes a case."""
