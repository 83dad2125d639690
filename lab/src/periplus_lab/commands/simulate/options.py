"""The options of `periplus simulate`: how each is typed, what `--help` shows, and the setting that it stands for.

A setting in a file has the same meaning as its option; the option wins. Nothing of the simulator is imported before an
experiment is run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from periplus.cli.commands import Option
from periplus.model import UsageError

if TYPE_CHECKING:
    from periplus_lab.simulate.scenario import Scenario


class RunOption(Struct, frozen=True):
    """An option of an experiment.

    `sets` is the setting that it stands for, if there is one; `read` makes its value of the flag and the text. `more`
    is for click.
    """

    flag: str
    metavar: str | None
    help: str
    panel: str | None = None
    kind: Any = str
    sets: str = ""
    least: float | None = None
    most: float | None = None
    default: Any = None
    read: Callable[[str, Any], object] | None = None
    more: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """Its name among the values that were typed."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def typed(self) -> Any:
        """The option as it is declared."""
        return Option(
            self.flag, metavar=self.metavar, help=self.help, panel=self.panel or "", min=self.least, max=self.most,
            **self.more,
        )  # fmt: skip

    @property
    def parameter(self) -> Parameter:
        """The option as a parameter of a command."""
        kind = self.kind | None if self.default is None else self.kind
        return Parameter(
            self.name, Parameter.KEYWORD_ONLY, default=self.default, annotation=Annotated[kind, self.typed]
        )

    def value(self, typed: Any) -> Any:
        """What was typed, as it is used."""
        return self.read(self.flag, typed) if self.read and typed is not None else typed


# how texts are read


def policies(_: str, text: str) -> list[str]:
    """The names of an option that takes several."""
    from periplus_lab.simulate.scenario import split_policies

    names = split_policies(text)
    if not names:
        raise UsageError("--policy: no name", hint="write --policy breadth_first,opic, or --policy all")
    return list(names)


def shares(option: str, text: str) -> list[float]:
    """The shares of `--budget`."""
    found = [_share(part.strip()) for part in text.split(",") if part.strip()]
    if not found:
        raise UsageError(f"{option}: no share", hint=f"write {option} 0.01,0.05")
    return sorted(set(found))


def _share(text: str) -> float:
    hint = "write shares above 0, up to 1, such as --budget 0.01,0.05 or 5%"
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError as error:
        raise UsageError(f"--budget {text[:40]}: no number", hint=hint) from error
    if not 0 < share <= 1:
        raise UsageError(f"--budget {text[:40]}: no share of the pages", hint=hint)
    return share


def counts(option: str, text: str) -> list[int]:
    """The numbers of an option that takes several, with a prefix or without: `1,64` or `2M,200k`."""
    from periplus.collection.config.fields import parse_size
    from periplus.model import ConfigError

    try:
        found = [parse_size(part) for part in text.split(",") if part.strip()]
    except ConfigError as error:
        raise UsageError(f"{option}: {error}", hint=f"write {option} 1,64 or {option} 2M,200k") from error
    if not found or min(found) < 1:
        raise UsageError(f"{option} {text[:40]}: above 0", hint=f"write {option} 1,64")
    return found


def duration(option: str, text: str) -> float:
    """The seconds of an option that takes a length of time."""
    from periplus.collection.config.fields import parse_duration
    from periplus.model import ConfigError

    try:
        return parse_duration(text)
    except ConfigError as error:
        raise UsageError(f"{option}: {error}", hint=error.hint) from error


def bandwidth(option: str, text: str) -> float:
    """The bytes a second of one line."""
    found = counts(option, text)
    if len(found) > 1:
        raise UsageError("--bandwidth: one here", hint="periplus simulate speedup compares several")
    return float(found[0])


def _path(_: str, path: Path) -> str:
    return str(path)


# what is compared

POLICY = RunOption(
    "--policy", "A,B,...", "Policies to compare, with settings: batch:every=5000. Or: all. Your own: module:function.",
    sets="experiment.policies", read=policies,
)  # fmt: skip
ONE_POLICY = replace(POLICY, metavar="NAME", help="The ordering; by default largest_site.")
BUDGET = RunOption(
    "--budget", "X,Y,...", "Shares of the pages at which to compare: 0.01,0.05.", sets="experiment.budgets", read=shares
)
DAILY_BUDGET = replace(BUDGET, help="Shares of the pages to fetch a day: 0.05,0.2.")
QUALITIES = RunOption(
    "--quality", "A,B,...", "Qualities of signals: good, mixed, late, poor, useless. By default all.", read=policies
)
VARY = RunOption("--vary", "WHAT", "Vary precision, recall or delay; all else is good.")
AGAINST = RunOption("--against", "POLICY", "Show the gain in freshness over this policy: uniform.")
BATCH_SIZE = RunOption(
    "--size", "PAGES", "Pages of the batch; by default a tenth of the web.", None, int, "experiment.batch", 1
)

# the web

_WEB = "The web"
GRAPH = RunOption("--graph", "FILE", "Read the web from a link file.", _WEB, Path, "input.graph", read=_path)
HOSTS = RunOption(
    "--hosts", "FILE", "A file with the host of each page of the graph.", _WEB, Path, "input.hosts", read=_path
)
PAGES_PER_SITE = RunOption(
    "--pages-per-site", "N", "Group neighbours of a graph without names into sites of N pages.", _WEB, int,
    "input.pages_per_site", 1,
)  # fmt: skip
COLLECTION = RunOption("--collection", "DIR", "Replay a finished crawl.", _WEB, Path, "input.collection", read=_path)
PAGES = RunOption("--pages", "N", "Pages of a generated web.", _WEB, int, "web.pages", 1)
SITES = RunOption("--sites", "N", "Its sites; by default N/50.", _WEB, int, "web.sites", 1)
WEB = (GRAPH, HOSTS, PAGES_PER_SITE, COLLECTION, PAGES, SITES)
HISTORY = RunOption(
    "--history", "PATH", "Read when pages changed: a file, or a folder of Microsoft's crawl set.", _WEB, Path,
    "input.history", read=_path,
)  # fmt: skip
SIGNALS = RunOption(
    "--signals", "QUALITY", "Add change signals: good, mixed, late, poor or useless.", _WEB, sets="experiment.signals"
)
DAYS = RunOption("--days", "N", "The last N days; by default all (100).", _WEB, int, "experiment.days", 1)
HISTORY_PAGES = replace(PAGES, help="Pages of a generated history.", sets="history.pages")
HISTORY_SITES = replace(SITES, help="Sites that share them.", sets="history.sites")
SIGNAL_DAYS = replace(DAYS, help="Days; by default 100.", sets="")
SIGNAL_PAGES = replace(PAGES, help="Pages of each site; by default 50.", sets="")
SIGNAL_SITES = replace(SITES, help="Sites; by default 20.", sets="")

# the network

NETWORK = "The network"
CONNECTIONS = RunOption(
    "--connections", "R", "Fetches at once; at most one to a site.", NETWORK, int, "network.connections", 1
)
SEVERAL_CONNECTIONS = RunOption(
    "--connections", "R,...", "Fetches at once: 1,64,256.", NETWORK, sets="experiment.connections", read=counts
)
DELAY = RunOption(
    "--delay", "TIME", "Seconds between two visits of a site: 15s.", NETWORK, sets="network.delay", read=duration
)
PAGES_PER_VISIT = RunOption(
    "--pages-per-visit", "K", "Pages on one connection.", NETWORK, int, "network.pages_per_visit", 1
)
SEVERAL_PAGES_PER_VISIT = RunOption(
    "--pages-per-visit", "K,...", "Pages on one connection: 1,100.", NETWORK, sets="experiment.pages_per_visit",
    read=counts,
)  # fmt: skip
BANDWIDTH = RunOption(
    "--bandwidth", "BYTES", "Bytes a second of the crawler's line: 2M.", NETWORK, sets="network.bandwidth",
    read=bandwidth,
)  # fmt: skip
SEVERAL_BANDWIDTHS = RunOption(
    "--bandwidth", "BYTES,...", "Bytes a second: 20M,2M,200k.", NETWORK, sets="experiment.bandwidths", read=counts
)

# the run, and what is written

_RUN = "How it is done"
_OUT = "What is written"
LIMIT = RunOption("--limit", "PAGES", "Maximum number of pages of a run.", _RUN, int, "experiment.limit", 1)
SEED = RunOption("--seed", "N", "The same seed, the same results.", _RUN, int, "experiment.seed", 0)
REPETITIONS = RunOption(
    "--repetitions", "N", "Repeat with other seeds, for intervals (95 %).", _RUN, int, "experiment.repetitions", 1
)
WORKERS = RunOption(
    "--workers", "N", "Processes; by default one for each core.", _RUN, int, "experiment.workers", 1, 256
)
CONFIG = RunOption("--config", "FILE", "Settings in TOML; options override them.", _RUN, Path)
JSON = RunOption("--json", None, "Print a JSON line for each result.", _OUT, bool, default=False)
PLOT = RunOption("--plot", "FILE.svg", "Draw the curves as SVG.", _OUT, Path)
CSV = RunOption("--csv", "FILE", "Write the results as a table.", _OUT, Path)
TABLES = RunOption("--tables", "DIR", "The tables of each policy's first run, as Parquet.", _OUT, Path)


def scenario_of(
    config: Path | None, options: Mapping[str, object], first_web: Mapping[str, object] | None = None
) -> Scenario:
    """The settings of a file, overridden by options. `first_web` is generated where neither names a web."""
    from periplus_lab.simulate.scenario import Scenario

    names = ("input.graph", "input.collection", "web.pages", "web.sites")
    if first_web and config is None and not any(options.get(name) for name in names):
        options = {**options, **first_web}
    return (Scenario.load(config) if config else Scenario()).with_options(with_sites(options))


def with_sites(options: Mapping[str, object]) -> Mapping[str, object]:
    """The settings, with sites in proportion where only the pages of a web are given."""
    from periplus_lab.simulate.scenario import PAGES_A_SITE

    pages = options.get("web.pages")
    if isinstance(pages, int) and options.get("web.sites") is None:
        return {**options, "web.sites": max(1, pages // PAGES_A_SITE)}
    return options
