"""`periplus crawl`: make a collection from seeds, or continue one.

This file turns what was typed into settings, runs the crawl that `assembly` makes of them while `live` shows it, and
says at the end what there is. Signals: the first Ctrl-C (or SIGTERM) lets what is under way end and keeps everything;
the second ends at once, which loses nothing either but what was under way.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from msgspec.structs import replace
from rich.console import Console

from periplus.assembly import MAX_SHARDS
from periplus.assembly.collection import Collection, held, planned
from periplus.assembly.estimating import estimate
from periplus.assembly.harvest import dried_up
from periplus.assembly.options import crawl_settings, wire_settings
from periplus.assembly.parts import NO_PARTS, OwnParts, own_parts
from periplus.assembly.progress import Progress
from periplus.assembly.running import CrawlRun
from periplus.assembly.seed_files import read_seeds
from periplus.assembly.summary import Summary
from periplus.assembly.topic_examples import with_examples
from periplus.crawl.shard import Status
from periplus.crawl.sharding import Crawl, Gather, tune_garbage_collection

from .. import options
from ..app import INTERRUPTED
from ..consoles import stderr_console
from .live import PAGES, Display, SeedFailures, View, words_of
from .resizing import gathering, resized, until_asked
from .summary import say_end, say_plan

if TYPE_CHECKING:
    from periplus.library.extracting import Extraction

NOTHING_FETCHED = 1


def crawl(
    out: options.Out,
    seeds: options.Seeds = None,
    limit: options.Limit = None,
    media: options.Media = None,
    max_bytes: options.MaxBytes = None,
    depth: options.Depth = None,
    scope: options.Scope = None,
    include: options.Include = None,
    exclude: options.Exclude = None,
    for_: options.For = None,
    seed_file: options.SeedFile = None,
    order: options.Order = None,
    order_by: options.OrderBy = None,
    topic: options.Topic = None,
    like: options.Like = None,
    unlike: options.Unlike = None,
    topic_by: options.TopicBy = None,
    want: options.Want = None,
    score: options.Score = None,
    extract: options.Extract = None,
    sitemap: options.Sitemap = None,
    sitemaps: options.Sitemaps = None,
    render: options.Render = None,
    forms: options.Forms = None,
    delay: options.Delay = None,
    rate: options.Rate = None,
    contact: options.Contact = None,
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    config: options.SettingsFile = None,
    resolve: options.Resolve = None,
    allow_private: options.AllowPrivate = None,
    proxy: options.Proxy = None,
    ca_file: options.CaFile = None,
    dry_run: options.DryRun = False,
    json: options.Json = False,
) -> None:
    """Make a collection from seeds, or continue one: the same command on the same DIR goes on where it stopped.

    Example: periplus crawl https://docs.example.org -o docs --limit 1000
    """
    asked = {
        **crawl_settings(
            limit=limit,
            media=media,
            max_bytes=max_bytes,
            depth=depth,
            scope=scope.value if scope else None,
            include=include,
            exclude=exclude,
            for_=for_,
            order=order,
            order_by=order_by,
            topic=topic,
            like=like,
            unlike=unlike,
            topic_by=topic_by,
            sitemap=sitemap,
            sitemaps=sitemaps,
            render=render.value if render else None,
            forms=forms,
            rate=rate,
            workers=workers,
        ),
        **wire_settings(contact, delay, resolve, allow_private, proxy, ca_file),
    }
    parts = own_parts(want, score, order)
    extractor = _extractor(extract)
    collection = planned(
        out, seeds=seeds or [], seed_lines=read_seeds(seed_file) if seed_file else (), settings=config, options=asked
    )
    if dry_run:
        say_plan(collection, estimate(collection) if collection.config.media.types else None, is_json=json)
        return
    with held(out), gathering(cluster, collection) as (collection, gather, most):
        collection = with_examples(collection)
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
    say_end(summary, is_json=json)
    raise typer.Exit(exit_code(summary))


def run(
    collection: Collection,
    console: Console,
    *,
    title: str = "",
    view: View = PAGES,
    watches: bool = False,
    revisits_only: bool = False,
    gather: Gather | None = None,
    most: int = MAX_SHARDS,
    parts: OwnParts = NO_PARTS,
    tell: Callable[[Progress], None] = lambda _progress: None,
    follow: Callable[[Sequence[Status]], None] | None = None,
) -> Summary:
    """Crawl, and show the progress. The caller holds the lock of the collection. `tell` is called with all progress.

    `gather` runs the shards, by default as processes of this machine; `most` is the maximum number of shards.
    `follow` is called with the statuses of all shards after each commit.
    """
    parts = replace(parts, credentials=collection.credentials)
    running = CrawlRun(
        collection, watches=watches, revisits_only=revisits_only, gather=gather, parts=parts, work=view.work
    )
    tune_garbage_collection()
    title = title or title_of("crawl", collection)
    failures = SeedFailures(collection.seeds)
    asked: Collection | None = collection
    is_dry = False
    with running, Display(console, title, _aside(collection), view) as display:
        display.show(running.progress)
        while asked is not None:
            collection = asked
            display.name_aside(_aside(collection))
            crawl = running.open(collection)
            with _stoppable(crawl, display, console):
                for statuses in until_asked(crawl, collection.layout, most, console):
                    if statuses:
                        progress = running.read(statuses)
                        display.show(progress)
                        for setback in failures.new(progress.setbacks, has_pages=progress.tally.pages > 0):
                            display.report(words_of(setback, progress.at, is_last=crawl.is_unreachable))
                        if not is_dry and (warning := dried_up(progress.tally)):
                            is_dry = True
                            display.report(warning)
                        tell(progress)
                        if follow is not None:
                            follow(statuses)
            asked = None if crawl.is_interrupted else resized(collection, lambda: running.elapsed, console)
    return running.end()


def _extractor(name: str | None) -> Callable[[Collection], Extraction | None]:
    """What begins the extraction of a collection; the function is loaded now, so that a mistake is found at once."""
    if name is None:
        return lambda _collection: None
    from periplus.library.extracting import Extraction, load_extractor  # loads more than a crawl needs

    function = load_extractor(name)
    return lambda collection: Extraction(collection.layout, function)


def exit_code(summary: Summary) -> int:
    """Return 130 if it was interrupted, 1 if nothing could be fetched, else 0."""
    if summary.ended == "interrupted":
        return INTERRUPTED
    return 0 if summary.pages else NOTHING_FETCHED


@contextmanager
def _stoppable(crawl: Crawl, display: Display, console: Console) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM stop the crawl: first gently, then at once."""

    def on_signal(*_: object) -> None:
        if crawl.is_interrupted:
            _end_at_once(console)
        crawl.stop()
        display.stopping()

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, on_signal) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _end_at_once(console: Console) -> None:
    """As if killed, which the collection is made to survive; the shards with us, so that it is not in use any more."""
    for child in multiprocessing.active_children():
        child.kill()
    console.show_cursor(True)
    os.write(sys.stderr.fileno(), b"\nstopped at once; the same command continues\n")
    os._exit(INTERRUPTED)


def title_of(verb: str, collection: Collection) -> str:
    """Return the command line of a crawl, shortened."""
    first, *others = collection.seeds
    more = f" and {len(others):,} more" if others else ""
    return f"periplus {verb} {first}{more} -o {collection.folder}"


def _aside(collection: Collection) -> str:
    workers = collection.workers
    delay = f"{collection.config.politeness.delay:g} s a host"
    return f"{workers} shard{'s' if workers > 1 else ''} · polite: {delay}"
