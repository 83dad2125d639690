"""Every place that opens an address, names a seed or makes a request is known, with the reason why it may.

A private address is opened by `AddressGuard`, which knows settings alone; settings open the site of a seed where
`opened_by` is called, for seeds that a person typed. The tables here list every such place in the sources. A new one
fails the test until it is listed, with the reason why a person stands behind it; other URLs are passed on as `found`.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import NamedTuple

import pytest
from tests.covering import DISTRIBUTIONS, name_of, source_of

NO_REQUESTS = ("lab/", "policy/", "model/", "insight/", "graph/", "apps/search/")
"""Packages that decide, measure and simulate: they have no wire. The lab serves, on loopback."""

GUARDS = {"engine/fetch/tables.py:RequestTables.guard"}
"""Where a guard is made: of settings, so that what they do not open is refused."""

OPENING = {
    "collection/collection.py:planned": "seeds given as `typed`, or in a file that a person named",
    "parts/focus/reading.py:_fetched": "a page given with --like, for that one request",
    "apps/export/timestamps.py:stamping": "an authority given with --timestamp, for that one request",
}
"""Where a URL opens its own site."""

TYPED = {
    "cli/crawl/command.py:crawl": "arguments of the command, and the file of --seeds",
    "cli/audit/command.py:_crawled": "the site to audit, not what its pages embed and link to",
    "cli/map.py:map": "the site to map",
    "cli/survey/command.py:survey": "the list of domains that a person names",
    "cli/ulinks.py:_of_site": "the site",
    "cli/ulinks.py:_looked_at": "the same site again; the links that were chosen are found",
    "cli/import_.py:_import_seeds": "--seed; the lists of --seeds are of others",
    "collection/importing.py:import_archives": "--seed; URLs of archives are found",
    "library/commands.py:crawl": "arguments of a program's author",
    "library/mapping.py:map": "arguments of a program's author",
}
"""Where seeds are passed on as typed by a person."""

FOUND = {
    "lab/commands/demo.py:demo": "sites of the lab, behind a proxy",
    "cli/import_.py:_import_seeds": "",
    "cli/ulinks.py:_looked_at": "",
    "collection/importing.py:import_archives": "",
    "library/mapping.py:map_found": "sites that agents name",
    "bridges/agents/crawl_jobs.py:CrawlJobs.start": "seeds that agents name",
    "bridges/scrapy/scheduler.py:Scheduler.open": "start_urls of a spider; Scrapy fetches them itself",
}
"""Where seeds are passed on that open nothing."""

PLANNED = {"cli/refresh.py:refresh", "apps/changes/watching.py:_watched"}
"""Where a collection is continued with the seeds that it has."""

COLLECTIONS = {
    "collection/collection.py:planned",
    "collection/collection.py:existing",
    "cli/audit/requests.py:_crawled",
}
"""Where a `Collection` is made: its settings are trusted, or those of one that is."""

SEEDS = {
    "collection/opening.py:seed_discovery": "the seeds of the collection",
    "collection/control_server.py:_Desk._widen": "URLs given over the control socket, which is the user's own",
    "bridges/scrapy/scheduler.py:Scheduler._accept": "requests of a spider",
    "engine/sitemaps/held_seeds.py:HeldSeeds.release": "seeds that waited for lists",
    "collection/facts/lookup.py:_judged": "asks filters; nothing is fetched",
}
"""Where a discovery is made a seed. Being one opens nothing."""

WIRES = {
    "collection/shards.py:_wire",
    "collection/shards.py:_session.make",
    "collection/fresh_pages.py:FreshPages.__init__",
    "apps/export/timestamps.py:stamping",
    "apps/identity/verifier.py:fetch_directory",
    "sites/address_ranges.py:range_requests",
    "parts/focus/reading.py:_fetched",
    "parts/render/wire.py:rendering_wire",
    "apps/serve/receivers/intake.py:Intake.requests",
    "engine/fetch/single.py:SingleRequests._wire",
    "parts/webhooks/delivery.py:post_of",
}
"""Where something is made that sends requests: each is given a guard."""

TASKS = {
    "engine/frontier/selection.py:CandidateSelector._task",
    "engine/frontier/selection.py:CandidateSelector.exclude",
    "engine/frontier/preflight.py:SitePreflight._task",
    "engine/frontier/preflight.py:_not_asked",
    "engine/fetch/single.py:SingleRequests._task",
    "store/warc/answers.py:_task_of",
    "store/warc/answers.py:ArchivedExchange.inferred_task",
}
"""Where a task is made: by the frontier and for single requests, for a wire with a guard; or of archived answers."""

SOCKETS = {
    "collection/control.py": "the control socket of a crawl",
    "collection/control_server.py": "the same",
    "apps/serve/running.py": "listens",
    "bridges/ray/connection.py": "the address of a Ray cluster that a person gave",
    "engine/fetch/connections.py": "names versions of HTTP",
    "engine/fetch/dns.py": "name lookups",
    "engine/fetch/http3.py": "names versions of HTTP",
    "engine/fetch/transfer.py": "the wire",
    "engine/fetch/poller.py": "the wire",
    "engine/fetch/single.py": "the wire",
    "engine/fetch/wire.py": "the wire",
    "parts/render/gate.py": "the browser's proxy, with a guard",
    "sites/identity.py": "name lookups of addresses in access logs",
    "bridges/exchange.py": "servers that a person names: hubs and search engines, OpenSearch",
}
"""Modules that can open a connection, or look up a name."""

NETWORK = {"socket", "pycurl", "http.client", "urllib.request", "ftplib", "smtplib", "ssl"}
CONNECTING = {"open_connection", "create_connection", "open_unix_connection", "urlopen"}


class Place(NamedTuple):
    """A node of the sources that matters here, with the class and function that it is in."""

    module: str
    scope: str
    node: ast.Call | ast.Attribute | ast.Import | ast.ImportFrom

    def __str__(self) -> str:
        return f"{self.module}:{self.scope}"


@cache
def sources() -> tuple[Place, ...]:
    """Every call, attribute and import of the packages that may send requests."""
    found: list[Place] = []
    for path in sorted(path for home in ("", *DISTRIBUTIONS) for path in source_of(home).rglob("*.py")):
        module = name_of(path)
        if module.startswith(NO_REQUESTS) and not module.startswith("lab/commands/"):
            continue
        waiting: list[tuple[ast.AST, tuple[str, ...]]] = [(ast.parse(path.read_text()), ())]
        while waiting:
            node, scope = waiting.pop()
            if isinstance(node, ast.Call | ast.Attribute | ast.Import | ast.ImportFrom):
                found.append(Place(module, ".".join(scope[:2]), node))
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                scope = (*scope, node.name)
            waiting += [(child, scope) for child in ast.iter_child_nodes(node)]
    return tuple(found)


def called(place: Place) -> str:
    """The name of what is called; empty if nothing is."""
    function = place.node.func if isinstance(place.node, ast.Call) else None
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def keywords(place: Place) -> set[str | None]:
    return {each.arg for each in place.node.keywords} if isinstance(place.node, ast.Call) else set()


def places(name: str, *, keyword: str = "", without: tuple[str, ...] = ()) -> set[str]:
    """Where something of this name is called: with this keyword, or without any of these."""
    return {
        str(place)
        for place in sources()
        if called(place) == name
        and (not keyword or keyword in keywords(place))
        and not (keywords(place) & set(without))
    }


def imported(place: Place) -> set[str]:
    match place.node:
        case ast.Import():
            return {alias.name for alias in place.node.names}
        case ast.ImportFrom(level=0):
            return {place.node.module or ""}
        case _:
            return set()


@pytest.mark.proof
def test_guards_are_made_of_settings() -> None:
    assert places("AddressGuard") == GUARDS


def test_every_place_where_a_url_opens_its_own_site() -> None:
    assert places("opened_by") == set(OPENING)


def test_every_place_that_says_a_person_typed_a_seed() -> None:
    assert places("planned", keyword="typed") | places("planned", keyword="typed_lines") == set(TYPED)


def test_every_place_that_passes_on_other_seeds() -> None:
    assert places("planned", keyword="found") == set(FOUND)
    assert places("planned", without=("typed", "typed_lines", "found")) == PLANNED


def test_every_place_that_makes_a_collection() -> None:
    """A collection with other settings than those of `planned` and `existing` would not have been checked."""
    assert places("CollectionSetup") == COLLECTIONS


def test_every_place_that_makes_a_seed() -> None:
    """Functions that make a discovery and name the source of seeds."""
    naming = {str(place) for place in sources() if _is_seed(place.node)}
    assert naming & places("Discovery") == set(SEEDS)


def _is_seed(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "Source.SEED"


def test_every_place_that_makes_a_task() -> None:
    assert places("FetchTask") == TASKS


def test_whatever_sends_requests_has_a_guard() -> None:
    made = set()
    for name in ("CurlWire", "SingleRequests", "BrowserPool"):
        made |= places(name)
        assert places(name, without=("guard",)) == set(), name
    assert made == WIRES


def test_every_module_that_can_connect() -> None:
    """A module that imports the means to connect, or calls something that does, is listed with its reason."""
    found = {place.module for place in sources() if imported(place) & NETWORK or called(place) in CONNECTING}
    assert found == set(SOCKETS)
