"""Every table of a survey, worked out from the plan of `surveyed_domains` and from nothing that Periplus read.

Sums, quantiles and shares are computed here once more, in the plainest way, so that a mistake would have to be made
twice. Columns with the numbers of the paper are left out.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from tests.lab.surveyed_domains import PlannedRobots, SurveyedDomains
from tests.lab.surveyed_files import PlannedFile

from periplus.apps.survey import Survey, SurveyTable, tables_of

Rows = list[tuple[Any, ...]]


def differences(survey: Survey, plan: SurveyedDomains) -> list[str]:
    """Where a survey differs from the truth: one line for each table, with the first rows that differ."""
    return _differences({table.name: found_rows(table) for table in tables_of(survey)}, plan)


def written_differences(folder: Path, plan: SurveyedDomains) -> list[str]:
    """The same, of the tables that a survey has written into a folder."""
    found: dict[str, Rows] = {}
    for path in folder.glob("*.parquet"):
        table = pq.read_table(path)
        kept = table.select([name for name in table.column_names if not name.startswith("paper")])
        found[path.stem] = [tuple(row.values()) for row in kept.to_pylist()]
    return _differences(found, plan)


def _differences(found: dict[str, Rows], plan: SurveyedDomains) -> list[str]:
    true = truth(plan)
    lines = [f"tables {sorted(found.keys() ^ true.keys())}"] if found.keys() != true.keys() else []
    for name in found.keys() & true.keys():
        if not _same(found[name], true[name]):
            pairs = zip([*found[name], None], [*true[name], None], strict=False)
            first = next(pair for pair in pairs if pair[0] is None or pair[1] is None or not _same(*_as_rows(pair)))
            lines.append(f"{name}: {len(found[name])} rows, {len(true[name])} in truth; found, truth: {first}")
    return lines


def _as_rows(pair: tuple[Any, Any]) -> tuple[Rows, Rows]:
    return [pair[0]], [pair[1]]


def found_rows(table: SurveyTable) -> Rows:
    """The rows without what the paper says."""
    kept = [place for place, column in enumerate(table.columns) if not column.name.startswith("paper")]
    return [tuple(row[place] for place in kept) for row in table.rows]


def _same(found: Rows, true: Rows) -> bool:
    if len(found) != len(true):
        return False
    return all(len(one) == len(other) and all(map(_equal, one, other)) for one, other in zip(found, true, strict=True))


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        return one is not None and other is not None and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)


def truth(plan: SurveyedDomains) -> dict[str, Rows]:
    """The rows of every table by its name."""
    owners = _owners(plan)
    files = [(file, owners[file.tree]) for file in plan.files]
    return _robots_truth(plan) | _sitemap_truth(plan, files) | _whole_truth(plan, files)


def _owners(plan: SurveyedDomains) -> dict[str, str]:
    """Whose a tree is: that of the domain on whose host it lies, if it names it; else of the first that names it."""
    naming: defaultdict[str, list[str]] = defaultdict(list)
    for robots in plan.robots:
        for url in robots.sitemaps:
            naming[url.removesuffix(".gz")].append(robots.domain)
    return {
        url: next((domain for domain in domains if url.startswith(f"http://{domain}/")), domains[0])
        for url, domains in naming.items()
    }


def _ranked(counts: dict[Any, Any]) -> list[tuple[Any, Any]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _histogram(values: Iterable[int]) -> Rows:
    return sorted(Counter(values).items())


# robots.txt


def _robots_truth(plan: SurveyedDomains) -> dict[str, Rows]:
    found = [robots for robots in plan.robots if robots.is_file]
    outcomes = Counter(robots.outcome for robots in plan.robots)
    return {
        "robots_outcomes": [(name, n, n / len(plan.robots)) for name, n in _ranked(outcomes)],
        "tlds": _tlds(plan.robots),
        "ranks": _ranks(plan.robots),
        "fields": _fields(found),
        "agents": _agents(found),
        "robots_bytes": _histogram(robots.size for robots in found),
        "robots_lines": _histogram(robots.lines for robots in found),
        "robots_sections": _histogram(len(robots.disallows) for robots in found),
        "section_disallows": _histogram(n for robots in found for n in robots.disallows),
        "robots_sitemaps": _histogram(len(robots.sitemaps) for robots in found if robots.sitemaps),
        "robots_problems": _problems([robots.problems for robots in found]),
        "preferences": [],
    }


def _tlds(all_robots: Sequence[PlannedRobots]) -> Rows:
    by_tld: defaultdict[str, list[PlannedRobots]] = defaultdict(list)
    for robots in all_robots:
        by_tld[robots.domain.split(":")[0].split(".")[-1]].append(robots)
    rows = [
        (tld, len(own), len(own) / len(all_robots), sum(r.is_file for r in own), sum(bool(r.sitemaps) for r in own))
        for tld, own in by_tld.items()
    ]
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def _ranks(all_robots: Sequence[PlannedRobots]) -> Rows:
    width = max(1, math.ceil(len(all_robots) / 20))
    rows = []
    for start in range(0, len(all_robots), width):
        part = all_robots[start : start + width]
        with_robots, with_sitemaps = sum(r.is_file for r in part), sum(bool(r.sitemaps) for r in part)
        rows.append((start + 1, start + width, len(part), with_robots / len(part), with_sitemaps / len(part)))
    return rows


def _fields(found: Sequence[PlannedRobots]) -> Rows:
    files = Counter(name for robots in found for name in robots.fields)
    fields = sum((robots.fields for robots in found), Counter[str]())
    names = sorted(files, key=lambda name: (-files[name], -fields[name], name))
    return [(name, files[name], files[name] / len(found), fields[name], fields[name] / files[name]) for name in names]


def _agents(found: Sequence[PlannedRobots]) -> Rows:
    files = Counter(name for robots in found for name in set(robots.agents))
    named = Counter(name for robots in found for name in robots.agents)
    names = sorted(named, key=lambda name: (-named[name], -files[name], name))
    return [(name, named[name], named[name] / named.total(), files[name]) for name in names]


def _problems(problems: Sequence[Counter[str]]) -> Rows:
    files = Counter(reason for counts in problems for reason, number in counts.items() if number)
    every = sum(problems, Counter[str]())
    return [(r, files[r], every[r]) for r in sorted(files, key=lambda r: (-files[r], -every[r], r))]


# sitemaps


def _sitemap_truth(plan: SurveyedDomains, files: Sequence[tuple[PlannedFile, str]]) -> dict[str, Rows]:
    read = [file for file, _ in files if file.outcome == "read"]
    outcomes = Counter(file.outcome for file, _ in files)
    by_domain = _by_domain(files)
    return {
        "sitemap_outcomes": [(name, n, n / len(files)) for name, n in _ranked(outcomes)],
        "sitemap_problems": _problems([file.problems for file, _ in files]),
        "levels": _levels([file for file, _ in files]),
        "formats": _formats(read),
        "metadata": _metadata(read, by_domain),
        "file_uris": _histogram(file.entries for file in read if file.kind != "index"),
        "index_children": _histogram(file.children for file in read if file.kind == "index"),
        "domain_files": _histogram(len(own) for own in by_domain.values()),
        "domain_uris": _histogram(uris for own in by_domain.values() if (uris := _uris(own))),
        "top_domains_by_files": _top(by_domain, len),
        "top_domains_by_uris": _top(by_domain, _uris),
        "coverage": _coverage([_uris(own) for own in by_domain.values()]),
    }


def _by_domain(files: Sequence[tuple[PlannedFile, str]]) -> dict[str, list[PlannedFile]]:
    """What was read of each domain that has any."""
    by_domain: defaultdict[str, list[PlannedFile]] = defaultdict(list)
    for file, domain in files:
        if file.outcome == "read":
            by_domain[domain].append(file)
    return by_domain


def _uris(files: Sequence[PlannedFile]) -> int:
    return sum(file.entries for file in files)


def _levels(files: Sequence[PlannedFile]) -> Rows:
    rows = []
    for depth in sorted({file.depth for file in files}):
        level = [file for file in files if file.depth == depth]
        read = [file for file in level if file.outcome == "read"]
        rows.append((depth, len(level), len(read), sum(file.kind == "index" for file in read), _uris(read)))
    return rows


def _formats(read: Sequence[PlannedFile]) -> Rows:
    by_form: defaultdict[tuple[str, bool], list[PlannedFile]] = defaultdict(list)
    for file in read:
        by_form[file.kind, file.is_gzipped].append(file)
    rows: Rows = []
    for form, own in sorted(by_form.items(), key=lambda item: (-len(item[1]), item[0])):
        uris = _uris(own)
        said = [sum(getattr(file, f"with_{name}") for file in own) for name in ("lastmod", "changefreq", "priority")]
        shares = [number / uris if uris else None for number in said]
        rows.append((*form, len(own), sum(file.size for file in own), uris, uris / _uris(read), *shares))
    return rows


def _metadata(read: Sequence[PlannedFile], by_domain: dict[str, list[PlannedFile]]) -> Rows:
    with_uris = [own for own in by_domain.values() if _uris(own)]
    rows = []
    for name in ("lastmod", "changefreq", "priority"):
        said = [getattr(file, f"with_{name}") for file in read]
        domains = sum(any(getattr(file, f"with_{name}") for file in own) for own in with_uris)
        files = sum(number > 0 for number in said)
        rows.append((name, sum(said), sum(said) / _uris(read), files, domains, domains / len(with_uris)))
    return rows


def _top(by_domain: dict[str, list[PlannedFile]], of: Any) -> Rows:
    names = sorted(by_domain, key=lambda name: (-of(by_domain[name]), name))[:10]
    return [
        (name, len(by_domain[name]), _uris(by_domain[name]), _uris(by_domain[name]) / len(by_domain[name]))
        for name in names
    ]


def _coverage(uris: Sequence[int]) -> Rows:
    ranked = sorted((number for number in uris if number), reverse=True)
    places = [n for n in (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000) if n < len(ranked)] + [len(ranked)]
    return [(n, n / len(ranked), sum(ranked[:n]), sum(ranked[:n]) / sum(ranked)) for n in places]


# all in all


def _whole_truth(plan: SurveyedDomains, files: Sequence[tuple[PlannedFile, str]]) -> dict[str, Rows]:
    found = [robots for robots in plan.robots if robots.is_file]
    by_domain = _by_domain(files)
    read = [file for file, _ in files if file.outcome == "read"]
    spreads = {
        "bytes of a robots.txt": [robots.size for robots in found],
        "lines of a robots.txt": [robots.lines for robots in found],
        "sections of a robots.txt": [len(robots.disallows) for robots in found],
        "disallows of a section": [number for robots in found for number in robots.disallows],
        "sitemaps named by a robots.txt": [len(robots.sitemaps) for robots in found if robots.sitemaps],
        "URIs of a sitemap file": [file.entries for file in read if file.kind != "index"],
        "children of an index": [file.children for file in read if file.kind == "index"],
        "sitemap files of a domain": [len(own) for own in by_domain.values()],
        "URIs of a domain": [uris for own in by_domain.values() if (uris := _uris(own))],
    }
    return {
        "distributions": [_spread(name, values) for name, values in spreads.items()],
        "summary": _summary(plan, found, files, spreads),
        "domains": _domains(plan, files),
    }


def _spread(name: str, values: Sequence[int]) -> tuple[Any, ...]:
    ranked = sorted(values)
    quantiles = [ranked[math.ceil(at * len(ranked) - 1e-9) - 1] for at in (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)]
    return (name, len(values), statistics.fmean(values), statistics.pstdev(values), *quantiles, ranked[-1])


def _summary(
    plan: SurveyedDomains,
    found: Sequence[PlannedRobots],
    files: Sequence[tuple[PlannedFile, str]],
    spreads: dict[str, list[int]],
) -> Rows:
    naming, sections = spreads["sitemaps named by a robots.txt"], spreads["disallows of a section"]
    agents = [name for robots in found for name in robots.agents]
    per_file, per_domain = spreads["URIs of a sitemap file"], spreads["URIs of a domain"]
    of_domains, outcomes = spreads["sitemap files of a domain"], Counter(file.outcome for file, _ in files)
    rows: Rows = [
        ("domains", len(plan.domains)),
        ("domains with robots.txt", len(found)),
        ("share of domains with robots.txt", len(found) / len(plan.domains)),
        ("robots.txt with sitemaps", len(naming)),
        ("share of robots.txt with sitemaps", len(naming) / len(found)),
        ("share of domains with sitemaps", len(naming) / len(plan.domains)),
        ("sitemaps named", sum(naming)),
        ("most sitemaps named by one", max(naming)),
        ("robots.txt with one sitemap", naming.count(1)),
    ]
    for what in ("lines", "sections"):
        _, _, mean, deviation, _, _, median, *_ = _spread("", spreads[f"{what} of a robots.txt"])
        for measure, value in (("mean", mean), ("deviation", deviation), ("median", median)):
            rows.append((f"{what} of a robots.txt, {measure}", value))
    rows += [
        ("sections", len(sections)),
        ("sections without disallow", sections.count(0)),
        ("sections with one disallow", sections.count(1)),
        ("most disallows of a section", max(sections)),
        ("user agents named", len(agents)),
        ("different user agents", len(set(agents))),
        ("sitemap files named", len(files)),
        ("sitemap files read", outcomes["read"]),
        ("sitemap files forbidden (403)", outcomes["http-403"]),
        ("sitemap files with more URIs than allowed", sum(number > 50_000 for number in per_file)),
        ("most URIs of a sitemap file", max(per_file)),
        ("domains with sitemap files", len(of_domains)),
        ("domains with one sitemap file", of_domains.count(1)),
        ("domains with files read, but no URIs", len(of_domains) - len(per_domain)),
        ("URIs", sum(per_domain)),
        ("most URIs of a domain", max(per_domain)),
    ]
    return rows


def _domains(plan: SurveyedDomains, files: Sequence[tuple[PlannedFile, str]]) -> Rows:
    own: defaultdict[str, list[PlannedFile]] = defaultdict(list)
    for file, domain in files:
        own[domain].append(file)
    rows: Rows = []
    for rank, robots in enumerate(plan.robots, 1):
        mine = own[robots.domain]
        read = [file for file in mine if file.outcome == "read"]
        rows.append(
            (
                robots.domain, rank, robots.outcome, robots.status, robots.is_file, robots.is_html, robots.size,
                robots.lines, len(robots.disallows), len(robots.sitemaps), len(mine), len(read), _uris(read),
            )
        )  # fmt: skip
    return rows
