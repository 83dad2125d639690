"""The features of a crawl, one folder each. A part decides from values that it is given; the engine calls it.

`FEATURES` names all of them, in the order in which the machine calls their parts. The docstring of each folder says
what the part does, after which paper, and what it costs. A part imports the protocol of the engine (`engine/part.py`)
and what is below it, never another part, and is not imported in a crawl whose settings do not ask for it.

An installed package adds a feature with an entry point of the group `periplus.parts` that is such a `Feature`. Its
part may have tables of settings, and of rows: `settings` is a struct whose fields are the tables of settings, `rows` a
module that declares tables, views and questions (`model/rows.py`).
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from types import ModuleType

    from periplus.engine.part import Part
    from periplus.model.flags import Settings

GROUP = "periplus.parts"
"""Entry points of features."""


class Feature(NamedTuple):
    """A feature. Where none of the settings in `when` is given, its part is not loaded; without any it always is.

    `part` is `module:class`, `settings` `module:struct`, and `rows` a module.
    """

    part: str
    about: str
    when: tuple[str, ...] = ()
    rows: str = ""
    settings: str = ""

    def is_wanted(self, settings: Settings) -> bool:
        """Whether a crawl with these settings may use it."""
        return not self.when or any(settings.value(name) for name in self.when)

    def load(self) -> type[Part]:
        """The class of its part."""
        kind: type[Part] = _loaded(self.part)
        return kind

    def tables(self) -> Any:
        """The struct of its tables of settings."""
        return _loaded(self.settings)


FEATURES = (
    Feature("periplus.parts.deltas.part:Deltas", "fetches pages as differences (RFC 9842)", ("deltas.offer",)),
    Feature("periplus.parts.dust.part:DustLearner", "learns which URLs are the same page"),
    Feature("periplus.parts.render.part:ScriptNeeds", "opens pages in a browser", rows="periplus.parts.render.rows"),
    Feature("periplus.parts.absence.part:AbsenceJudge", "finds error pages that are sent with status 200"),
    Feature("periplus.parts.cloaking.part:CloakingJudge", "compares pages with what browsers get"),
    Feature("periplus.parts.forms.part:Forms", "submits searches", rows="periplus.parts.forms.rows"),
    Feature("periplus.parts.mirrors.part:Mirrors", "leaves out mirrors and parked domains"),
    Feature("periplus.parts.spam.part:SpamFollower", "visits spam last", ("spam.enabled",)),
    Feature("periplus.parts.reputation.part:ReputationFollower", "gives domains budgets by their links"),
    Feature("periplus.parts.focus.part:FocusPart", "follows a topic", ("topic.words", "topic.like", "topic.program")),
    Feature("periplus.parts.targets.part:TargetsPart", "follows links that lead to files", ("media.types",)),
    Feature(
        "periplus.parts.permissions.part:PermissionLedger", "records what pages may be used for",
        ("permissions.ledger",), "periplus.parts.permissions.rows",
    ),
    Feature("periplus.parts.webhooks.part:Webhooks", "reports what happened", ("webhooks.urls",)),
    Feature("periplus.parts.identity.part:CrawlerSigning", "signs requests (RFC 9421)", ("identity.key",)),
    Feature("periplus.parts.requisites.part:Requisites", "fetches the files that pages need", ("requisites.enabled",)),
    Feature("periplus.parts.requisites.part:EmbeddedMedia", "finds embedded files of wanted types", ("media.types",)),
)  # fmt: skip
_ROWS_OF_THE_CORE = ("periplus.engine.revisit.rows", "periplus.engine.sitemaps.rows")


@cache
def others() -> tuple[Feature, ...]:
    """The features of other installed packages, by the names of their entry points."""
    if not any(map(_has_features, sys.path)):
        return ()
    from importlib.metadata import entry_points  # takes longer than the look at its files

    return tuple(each.load() for each in sorted(entry_points(group=GROUP), key=lambda each: each.name))


def _has_features(place: str) -> bool:
    """Whether a package that is installed here names a feature among its entry points."""
    return any(GROUP.encode() in path.read_bytes() for path in Path(place).glob("*.dist-info/entry_points.txt"))


def kinds(settings: Settings) -> list[type[Part]]:
    """The classes of the parts that a crawl with these settings may use, in the order in which they are called."""
    return [feature.load() for feature in (*FEATURES, *others()) if feature.is_wanted(settings)]


def rows() -> list[ModuleType]:
    """The modules that declare tables and views besides those of every crawl."""
    own = [*sorted(each.rows for each in FEATURES if each.rows), *_ROWS_OF_THE_CORE]
    return [import_module(name) for name in (*own, *(each.rows for each in others() if each.rows))]


def _loaded(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
