"""The settings of an experiment, from a TOML file or the command line.

The settings of a generated web, of the network, of a generated history and of refresh costs are defined where they are
used. Here they are combined, with `[experiment]` for the whole and `[input]` for files that are read instead of
generated data. An error names the key, the value and what is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from periplus.collection.config.toml_files import load, with_options
from periplus.model import ConfigError
from periplus.policy.ordering import orderings

from .crawl_set import read_crawl_set
from .generated import WebSettings, generate
from .graph_files import read_graph
from .histories import Histories, HistorySettings, generate_histories, read_histories
from .network import NetworkSettings
from .noisy_refresh import quality
from .recording import web_of_collection
from .refresh import TruthSettings, refresh_policies
from .runs import PolicyChoice
from .web import Web

FIRST_ORDERINGS = ("breadth_first", "largest_site", "opic", "random", "optimal")
"""Compared by default: the plain one, the paper's, one that learns, random, and an oracle."""
FIRST_REFRESHES = ("conventional", "uniform", "proportional", "optimal", "learned", "metadata")
"""The same for freshness."""
FIRST_WITH_SIGNALS = ("uniform", "deaf", "learned", "informed", "trusting")
"""The same where signals come: deaf to them, learning their worth, knowing it, and believing all."""
ORDERING_BUDGETS = (0.1, 0.3, 0.5, 0.8)
FRESHNESS_BUDGETS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
PAGES_A_SITE = 50
"""Of a generated web of which only the pages are given; the paper's sample had about 70."""
_MOST = {
    "repetitions": 1000, "workers": 256, "budgets": 1000, "policies": 100,
    "connections": 100, "bandwidths": 100, "pages_per_visit": 100,
}  # fmt: skip


class ExperimentSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the whole experiment."""

    policies: tuple[str, ...] = ()
    """Policies to compare, with settings ("batch:every=5000"); "all": all of them; none: a few."""
    budgets: tuple[float, ...] = ()
    """Shares at which results are shown: of the pages (ordering), or of the pages a day (freshness)."""
    seed: int = 0
    """The same seed gives the same results. Repetition i has the seed that is i larger."""
    repetitions: int = 1
    """How often to repeat it, each time with another seed; results are then means with a 95 % interval."""
    workers: int = 0
    """Processes; 0: one a core. They change no result."""
    limit: int = 0
    """Pages to fetch in a run, at most; 0: all."""
    connections: tuple[int, ...] = ()
    """Numbers of connections to compare (speedup, batch); none: the paper's."""
    bandwidths: tuple[float, ...] = ()
    """Lines to compare, in bytes a second (speedup, batch); none: the paper's."""
    pages_per_visit: tuple[int, ...] = ()
    """Pages on one connection to compare (batch); none: the paper's 1 and 100."""
    batch: int = 0
    """Pages of a batch (batch); 0: a tenth of the web."""
    days: int = 0
    """Days of a history to go through, the last ones; 0: all."""
    signals: str = ""
    """The quality of the signals of change that come (freshness): good, mixed, late, poor or useless; none: none."""


class InputSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is read; where nothing is named a web or a history is generated."""

    graph: str = ""
    """A file of links: an edge list, nodes and edges, .dat, or gaps (.adj); or a folder that holds one."""
    hosts: str = ""
    """The host of each page of that graph, a line each."""
    pages_per_site: int = 0
    """Pages of each site, where a graph has no names; 0: all pages are on one site."""
    collection: str = ""
    """A finished crawl, to be crawled again under other policies."""
    history: str = ""
    """A file of pages and the times of their changes, or a folder in the form of Microsoft's crawl set."""
    most_pages: int = 100_000
    """Of such a folder no more pages are taken than this, chosen by a hash of their numbers."""

    def check(self) -> None:
        """Raise `ConfigError` for what cannot be read together, or not in memory."""
        if self.graph and self.collection:
            raise ConfigError("a graph and a collection are two webs", hint="name one of them")
        if not 1 <= self.most_pages <= 10_000_000:
            raise ConfigError("[input] most_pages: 1 to 10,000,000", hint="write most_pages = 100_000")


class Scenario(Struct, frozen=True, forbid_unknown_fields=True):
    """Every setting of an experiment."""

    experiment: ExperimentSettings = ExperimentSettings()
    """Settings of the whole experiment."""
    input: InputSettings = InputSettings()
    """What is read in place of what would be generated."""
    web: WebSettings = WebSettings(pages=20_000, sites=400)
    """The web that is generated. Its seed is that of the experiment."""
    network: NetworkSettings = NetworkSettings()
    """The crawler's side of the network. Times are in seconds, sizes in bytes."""
    history: HistorySettings = HistorySettings()
    """The history of changes that is generated. Its seed is that of the experiment."""
    refresh: TruthSettings = TruthSettings()
    """The cost of metadata."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """The settings of a file, over the defaults. Raises `ConfigError`, which names file, table and key."""
        return load(cls, path)

    def with_options(self, options: Mapping[str, object]) -> Self:
        """The same but for these, named as `table.key`; `None` changes nothing."""
        return with_options(self, options, "the options")

    def check(self) -> None:
        """Raise `ConfigError` for what no experiment can be made of."""
        experiment = self.experiment
        for budget in experiment.budgets:
            if not 0.0 < budget <= 1.0:
                raise ConfigError(
                    f"a budget of {budget:g} is not a share", hint="write shares above 0, up to 1: 0.01,0.05"
                )
        for name, most in _MOST.items():
            value = getattr(experiment, name)
            if (value if isinstance(value, int) else len(value)) > most:
                raise ConfigError(f"[experiment] {name}: more than {most}", hint="split it into several experiments")
        if min((*experiment.connections, *experiment.bandwidths, *experiment.pages_per_visit), default=1) <= 0:
            raise ConfigError("[experiment] connections, bandwidths and pages are above 0", hint="write 1, 64, 256")
        if experiment.repetitions < 1:
            raise ConfigError("[experiment] repetitions: once at least", hint="write repetitions = 1")
        if self.web.seed or self.history.seed:
            raise ConfigError("there is one seed, that of the experiment", hint="put it below [experiment]")
        if experiment.signals:
            quality(experiment.signals)
        self.input.check()
        _check_network(self.network)
        if not (self.input.graph or self.input.collection):
            self.web.check()

    @property
    def seeds(self) -> range:
        """The seeds of the repetitions."""
        return range(self.experiment.seed, self.experiment.seed + self.experiment.repetitions)

    def orderings(self, default: Iterable[str] = FIRST_ORDERINGS) -> list[PolicyChoice]:
        """The selected orderings. Raises `ConfigError` for an unknown name or setting."""
        names = self.experiment.policies or tuple(default)
        return [PolicyChoice.parse(name) for name in distinct(orderings() if names == ("all",) else names)]

    def refreshes(self) -> list[str]:
        """The selected refresh policies; unknown names are refused where they are used."""
        names = self.experiment.policies or (FIRST_WITH_SIGNALS if self.experiment.signals else FIRST_REFRESHES)
        return distinct(refresh_policies() if names == ("all",) else names)

    def webs(self, warn: Callable[[str], None] = lambda _: None) -> Callable[[int], Web]:
        """The web of a seed: a new one for each where it is generated, always the same where it is read.

        `warn` is called with what the user should know about the file that was read.
        """
        if self.input.collection:
            return _same(web_of_collection(Path(self.input.collection)))
        if self.input.graph:
            hosts = Path(self.input.hosts) if self.input.hosts else None
            each = self.input.pages_per_site
            return _same(read_graph(Path(self.input.graph), hosts=hosts, pages_per_site=each, warn=warn))
        return _Generated(self.web)

    def histories(self) -> Histories | Callable[[int], Histories]:
        """The history that was named, or one for each seed."""
        if self.input.history:
            path = Path(self.input.history)
            if path.is_dir():
                return read_crawl_set(path, most_pages=self.input.most_pages)
            return read_histories(path)
        return lambda seed: generate_histories(replace(self.history, seed=seed))

    @property
    def web_name(self) -> str:
        """A short description of the web."""
        if self.input.collection or self.input.graph:
            return self.input.collection or self.input.graph
        return f"generated, {self.web.pages:,} pages on {self.web.sites:,} sites"

    @property
    def history_name(self) -> str:
        """A short description of the history."""
        return self.input.history or f"generated, {self.history.pages:,} pages on {self.history.sites:,} sites"


class _Generated:
    """Webs by their seed. The last one is cached, because several runs use it."""

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self._last: tuple[int, Web] | None = None

    def __call__(self, seed: int) -> Web:
        if self._last is None or self._last[0] != seed:
            self._last = (seed, generate(replace(self._settings, seed=seed)))
        return self._last[1]


def _same(web: Web) -> Callable[[int], Web]:
    return lambda _seed: web


def split_policies(text: str) -> tuple[str, ...]:
    """`a,b:x=1,y=2,c` are three: what has a value belongs to the policy before it."""
    found: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        if found and "=" in part and ":" not in part:
            found[-1] += f",{part}"
        elif part:
            found.append(part)
    return tuple(found)


def distinct(names: Iterable[str]) -> list[str]:
    """The names without repeats, in order."""
    return list(dict.fromkeys(names))


def _check_network(network: NetworkSettings) -> None:
    if not 1 <= network.connections <= 100_000 or network.pages_per_visit < 1:
        raise ConfigError("[network] a crawler needs a connection, and a page on it", hint="write connections = 64")
    if not network.bandwidth > 0 or not (math.isfinite(network.delay) and network.delay >= 0):
        raise ConfigError(
            "[network] bandwidth is above 0 bytes a second, delay 0 s or more", hint="see docs/simulator.md"
        )
