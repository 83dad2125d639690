"""`periplus crawl`: make a collection from seeds, or continue one.

This file turns what was typed into settings; `running` runs the crawl that `collection` makes of them while `live`
shows it, and `summary` prints at the end what there is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from click.exceptions import Exit

from .. import options
from ..consoles import stderr_console
from ..setting_options import takes_settings, typed_settings

if TYPE_CHECKING:
    from periplus.collection.collection import CollectionSetup
    from periplus.library import Page
    from periplus.library.extracting import Extraction


@takes_settings("crawl")
def crawl(
    out: options.Out,
    seeds: options.Seeds = None,
    *,
    seed_file: options.SeedFile = None,
    want: options.Want = None,
    score: options.Score = None,
    extract: options.Extract = None,
    login: options.Login = None,
    cookies: options.Cookies = None,
    cluster: options.Cluster = None,
    config: options.SettingsFile = None,
    dry_run: options.DryRun = False,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Make a collection from seeds, or continue one: the same command on the same DIR goes on where it stopped.

    Example: periplus crawl https://docs.example.org -o docs --limit 1000
    """
    from periplus.apps.mapping.cost import estimate
    from periplus.collection.collection import (  # all that a crawl needs is loaded after the options are read
        held,
        planned,
    )
    from periplus.collection.crawl_parts import prepared
    from periplus.collection.seeds import read_seeds
    from periplus.engine.plugins import own_parts

    from .resizing import gathering
    from .running import exit_code, run, signed_in
    from .summary import print_end, print_plan

    asked = typed_settings("crawl", given)
    parts = own_parts(want, score, given["order"])
    extractor = _extractor(extract)
    collection = planned(
        out,
        typed=seeds or [],
        typed_lines=read_seeds(seed_file) if seed_file else (),
        settings=config,
        options=asked,
        has_own_ordering=parts.scores is not None,
    )
    collection, parts = signed_in(collection, parts, login, cookies)
    if dry_run:
        print_plan(collection, estimate(collection) if collection.config.media.types else None, is_json=json)
        return
    with held(out), gathering(cluster, collection) as (collection, gather, most):
        collection = prepared(collection)
        collection.save()
        extraction = extractor(collection)
        summary = run(
            collection,
            stderr_console(),
            gather=gather,
            most=most,
            parts=parts,
            follow=extraction.follow if extraction else None,
        )
        if extraction is not None:
            extraction.finish()
    print_end(summary, is_json=json)
    raise Exit(exit_code(summary))


def _extractor(name: str | None) -> Callable[[CollectionSetup], Extraction | None]:
    """A function that starts the extraction of a collection; it is loaded now, so that a mistake is found at once."""
    if name is None:
        return lambda _collection: None
    from periplus.engine.plugins import EXTRACTORS, load_plugin
    from periplus.library.extracting import Extraction  # loads more than a crawl needs

    function = cast("Callable[[Page], Any]", load_plugin(EXTRACTORS, name))
    return lambda collection: Extraction(collection.layout, function)
