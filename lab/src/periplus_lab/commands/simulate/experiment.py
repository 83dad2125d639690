"""What an experiment of `periplus simulate` is: the options that it takes, its run, its table and its figure.

`command` makes the command of one, so that options, JSON, CSV, plots and Ctrl-C are the same in all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Signature
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from periplus.cli.consoles import stdout_console
from periplus.view.terminal import print_table
from periplus.view.values import Sheet

from .options import RunOption, scenario_of
from .output import Files, print_json, stoppable

if TYPE_CHECKING:
    from periplus.view.figures import Figure
    from periplus_lab.simulate.network import NetworkSettings
    from periplus_lab.simulate.results import ResultRow

R = TypeVar("R", bound="ResultRow")


class Experiment(Generic[R]):
    """An experiment with what was `given` for its options. Its name is the verb, its docstring the help."""

    options: ClassVar[tuple[RunOption, ...]]
    rows: Sequence[R]

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given
        first = given.get("seed") or 0
        self.seeds = range(first, first + (given.get("repetitions") or 1))

    @property
    def settings(self) -> dict[str, object]:
        """The settings that its options stand for; `None` where nothing was typed."""
        return {option.sets: self.given[option.name] for option in self.options if option.sets}

    def run(self) -> Sequence[R]:
        """Run it; return a row for each result."""
        raise NotImplementedError

    def sheet(self) -> Sheet:
        """The rows as a table."""
        raise NotImplementedError

    def plot(self) -> Figure:
        """The figure of `--plot`."""
        raise NotImplementedError

    def finish(self, files: Files) -> None:
        """Write what else was asked for."""

    @property
    def seeds_words(self) -> str:
        """Which chance it was."""
        first, last = self.seeds[0], self.seeds[-1]
        return f"seed {first}" if first == last else f"seeds {first} to {last}"


class ScenarioExperiment(Experiment[R]):
    """An experiment whose settings may be in a file. `first_web` is generated where no web is named."""

    first_web: ClassVar[dict[str, object]] = {}

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__(given)
        self.scenario = scenario_of(given["config"], self.settings, self.first_web)
        self.seeds = self.scenario.seeds

    @property
    def seeds_words(self) -> str:
        """Which chance it was, and how often."""
        words = super().seeds_words
        return words if len(self.seeds) == 1 else f"{len(self.seeds)} repetitions, {words}"


def command(kind: type[Experiment[Any]]) -> Callable[..., None]:
    """The command of an experiment, with its name and its options."""

    def run(**typed: Any) -> None:
        given = {option.name: option.value(typed[option.name]) for option in kind.options}
        experiment = kind(given)
        files = Files()
        with stoppable(files):
            experiment.rows = experiment.run()
            _write(experiment, files)
            if given["json"]:
                print_json(experiment.rows)
            else:
                print_table(stdout_console(), experiment.sheet())
            experiment.finish(files)

    parameters = [option.parameter for option in kind.options]
    run.__name__ = kind.__name__.removesuffix("Experiment").lower()
    run.__doc__ = kind.__doc__
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _write(experiment: Experiment[Any], files: Files) -> None:
    """Put results into the files that were asked for."""
    from periplus_lab.simulate.results import csv_text

    if path := experiment.given.get("csv"):
        files.write(path, csv_text(experiment.rows))
    if path := experiment.given.get("plot"):
        from periplus.view.figures import draw

        files.write(path, draw(experiment.plot()))


def network_words(network: NetworkSettings) -> str:
    """The network in the letters of the paper."""
    line = f", {network.bandwidth:,.0f} bytes/s" if network.bandwidth < float("inf") else ""
    return f"r = {network.connections}, w = {network.delay:g} s, k = {network.pages_per_visit}{line}"
