"""How often each kind of verdict is right, and how much it finds, on data that it was not tuned on.

    python -m bench.verdicts                                  # all kinds, for docs/verdicts.md
    python -m bench.verdicts rules traps                      # some
    python -m bench.verdicts --corpus FOLDER --docs FOLDER    # with labelled corpora, and HTML manuals by project

Precision is the share of the verdicts that are right, recall the share of what there is that was found. Data: sites of
a generator of its own (`spelled_sites`), worlds of the lab from a seed that is used nowhere else, halves of corpora
that nothing was trained on, and manuals.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Final

from msgspec import Struct

from bench.mirrors import absence, cloaking, mirrors
from bench.spam import documentation, farm_shares
from bench.spam_hosts import features_of
from bench.spelled_sites import HOME, SpelledSite, TrapSite, spellings, text
from bench.world_crawl import WorldCrawl, hurried
from periplus.content import read_page, resemblance, sketch_of
from periplus.model import Url
from periplus.parts.spam.model import probability, shipped
from periplus.parts.spam.training import Example, train
from periplus.policy.duplicates import Hint, HintKind, HintTarget, believe
from periplus.policy.settings import DuplicateSettings
from periplus.urls import canonical, domain_of
from periplus_lab.spam_web.judged_hosts import PARKED

SEED: Final = 20_261
"""A seed of the lab that no test and no other bench uses."""
SITES: Final = 3
"""Sites of each spelling and trap."""
_TRAPPED: Final = 700
"""Requests beyond its honest pages after which a crawl has not got out of a trap."""


class Rate(Struct, frozen=True):
    """Verdicts: how many are right, of how many that were made and how many there ought to be."""

    kind: str
    data: str
    right: int
    made: int
    true: int

    @property
    def precision(self) -> float:
        """The share of the verdicts that are right; 1 if there are none."""
        return self.right / self.made if self.made else 1.0

    @property
    def recall(self) -> float:
        """The share of what there is that was found."""
        return self.right / self.true if self.true else 1.0

    def row(self) -> str:
        """The rate as a row of a table; `-` where there is nothing to be right about, or to be found."""
        precision = f"{self.precision:.3f}" if self.made else "-"
        recall = f"{self.recall:.3f}" if self.true else "-"
        return f"| {self.kind} | {self.data} | {self.true:,} | {self.made:,} | {precision} | {recall} |"


class Sources(Struct, frozen=True):
    """Where data is: folders of corpora and of manuals; `None`: what needs them is left out."""

    corpus: Path | None = None
    docs: Path | None = None


def rules(_: Sources, sites: int = SITES, pages: int = 120) -> Iterator[Rate]:
    """Rules for duplicate URLs, by site: right if all URLs that are renamed show what their new names show."""
    deceptive = wrong = lost = 0
    for name, spelling in spellings().items():
        right = made = requests = there = 0
        for number in range(sites):
            site = SpelledSite(f"{name} {number}", pages + 30 * number, spelling)
            crawl = _crawled(site, is_on=True)
            renamed, shown = crawl.renamed(), {site.shown(url) for url, _ in crawl.fetched}
            made += bool(renamed)
            right += bool(renamed) and all(site.shown(old) == site.shown(new) for old, new in renamed)
            requests, there = requests + len(crawl.fetched), there + len(shown)
            if not spelling.is_idle:
                lost += len({site.shown(url) for url, _ in _crawled(site, is_on=False).fetched} - shown)
        if spelling.is_idle:
            yield Rate(f"rule: {name}", f"{sites} sites; {requests / there:.2f} requests a page", right, made, sites)
        else:
            deceptive, wrong = deceptive + sites, wrong + made
    yield Rate("rule where none is true", f"{deceptive} deceptive sites; {lost} pages lost", 0, wrong, 0)


def _crawled(site: SpelledSite, *, is_on: bool) -> WorldCrawl:
    return WorldCrawl(site, [HOME], hurried(scope__kind="host", dust__enabled=is_on), limit=30 * site.pages).run()


def traps(_: Sources, sites: int = SITES) -> Iterator[Rate]:
    """Traps are left, and no honest page beside them is lost; an archive that ends is not a trap."""
    for trap in ("calendar", "same text", "archive"):
        left = lost = 0
        for number in range(sites):
            site = TrapSite(f"{trap} {number}", 60 + 20 * number, trap)
            honest = {HOME + path[1:] for path in site.honest()}
            crawl = WorldCrawl(site, [HOME], hurried(scope__kind="host"), limit=len(honest) + _TRAPPED).run()
            fetched = {url for url, _ in crawl.fetched}
            left += len(crawl.fetched) < len(honest) + _TRAPPED
            lost += len(honest - fetched)
        data = f"{sites} sites; {lost} honest pages lost"
        if trap == "archive":
            yield Rate("trap where none is", data, 0, lost, 0)
        else:
            yield Rate(f"trap: {trap}", data, left, left + lost, sites)


def canonicals(sources: Sources, pages: int = 200) -> Iterator[Rate]:
    """Canonical links: right ones (with a parameter, printed) and wrong ones (home, next page, error, elsewhere)."""
    texts = [text(f"canonical {number}", 150) for number in range(pages)]
    if sources.docs is not None:
        found = [each for some in documentation(sources.docs, trains=False).values() for each in some]
        read = [read_page(body, url, "text/html").main_text for url, body in found[: 2 * pages]]
        texts = list(dict.fromkeys(each for each in read if len(each) > 500))
    sketches = [sketch_of(each) for each in texts]
    settings, right, made, site = DuplicateSettings(), 0, 0, "http://hints.test"
    for number, sketch in enumerate(sketches):
        other = sketches[(number + 1) % len(sketches)]
        copy = sketch_of(texts[number] + " Printed from our site.")
        cases = (
            (f"{site}/p/{number}", copy, False, True),
            (f"{site}/", sketches[0], False, number == 0),
            (f"{site}/p/{number + 1}", other, False, False),
            (f"{site}/gone", None, True, False),
            (f"http://elsewhere.test/p/{number}", None, False, False),
        )
        for target, known, is_gone, is_true in cases:
            likes = None if known is None else resemblance(sketch, known) >= settings.least_likeness
            facts = HintTarget(known is not None or is_gone, likes, is_gone)
            hint = Hint(Url(f"{site}/p/{number}?view=1"), Url(target), HintKind.CANONICAL)
            is_believed = believe(hint, facts).is_believed
            made += is_believed
            right += is_believed and is_true
    data = f"{len(texts)} pages of manuals" if sources.docs is not None else f"{pages} generated pages"
    yield Rate("canonical link is believed", f"{data}, five links each", right, made, len(texts) + 1)


def near_duplicates(sources: Sources) -> Iterator[Rate]:
    """Planted pairs among news articles, at the shipped threshold."""
    if sources.corpus is None:
        return
    folder = sources.corpus / "neardup"
    lines = gzip.decompress((folder / "articles_1000.train.gz").read_bytes()).decode("utf-8", "replace").splitlines()
    truth = gzip.decompress((folder / "articles_1000.truth.gz").read_bytes()).decode().splitlines()
    planted = {frozenset(line.split()) for line in truth if line.strip()}
    sketches = {name: sketch_of(words) for name, words in (line.split(" ", 1) for line in lines)}
    least = DuplicateSettings().least_likeness
    made = {frozenset(p) for p in combinations(sketches, 2) if resemblance(*(sketches[n] for n in p)) >= least}
    yield Rate("near-duplicate", "1,000 news articles", len(made & planted), len(made), len(planted))


def spam(sources: Sources) -> Iterator[Rate]:
    """Hosts of WEBSPAM-UK2006: trained on one half of the domains, judged on the other; and farms and manuals."""
    farm, honest = farm_shares(shipped(), Random(SEED), adapts=True, hosts=100)
    found = round(100 * farm)
    yield Rate("link farm, by ten pages", "100 generated, 100 honest hosts", found, found + round(100 * honest), 100)
    if sources.docs is not None:
        pages = [each for some in documentation(sources.docs, trains=False).values() for each in some]
        accused = sum(probability(shipped().page_logit(features_of(url, body))) > 0.5 for url, body in pages)
        yield Rate("spam page", f"{len(pages):,} honest pages of manuals", 0, accused, 0)
    if sources.corpus is None:
        return
    with gzip.open(sources.corpus / "spam_uk2006" / "hosts.csv.gz", "rt") as file:
        rows = [row for row in csv.DictReader(file) if row["class"] in ("spam", "nonspam")]
    names = ("words", "title_words", "word_length", "anchor_share", "visible_share", "compression")
    hosts = [Example(row["host"], row["class"] == "spam", ({n: float(row[n]) for n in names},)) for row in rows]
    halves: list[list[Example]] = [[], []]
    for each in hosts:
        halves[sha256((domain_of(each.host) or each.host).encode()).digest()[0] % 2].append(each)
    model = train(halves[0])
    judged = [(each.is_spam, probability(model.host_logit(each.host, {}, each.pages))) for each in halves[1]]
    for least in (0.5, 0.9):
        accused_labels = [is_spam for is_spam, score in judged if score > least]
        data = f"{len(judged):,} hosts of WEBSPAM-UK2006, other domains"
        true = sum(is_spam for is_spam, _ in judged)
        yield Rate(f"spam host above {least}", data, sum(accused_labels), len(accused_labels), true)


def paging(sources: Sources) -> Iterator[Rate]:
    """Next pages of lists, as people have annotated them."""
    if sources.corpus is None:
        return
    folder = sources.corpus / "pagination_autopager"
    right = made = true = 0
    with tarfile.open(folder / "pages.tar.gz") as pages:
        for page in json.loads((folder / "annotations.json").read_text()):
            file = pages.extractfile(page["page"])
            body = b"" if file is None else file.read()
            ours = read_page(body, page["url"], f"text/html; charset={page['encoding']}").relations.next
            right += ours is not None and ours in {canonical(url) for url in page["next"]}
            made += ours is not None
            true += bool(page["next"])
    yield Rate("next page of a list", "annotated pages (autopager)", right, made, true)


def hosts(_: Sources) -> Iterator[Rate]:
    """Mirrors and parked domains, soft 404s and cloaking on a world of the lab that nothing was tuned on."""
    data = f"lab, seed {SEED}"
    found = mirrors(SEED)
    right = round(found["recall at the end"] * found["pairs"])
    yield Rate("mirror", data, right, round(right / found["precision"]) if right else 0, found["pairs"])
    right = round(found["parked recall"] * len(PARKED))
    yield Rate("parked domain", data, right, right + found["parked false"], len(PARKED))
    for name, each in absence(SEED).items():
        right = round(each["recall"] * each["true"])
        yield Rate("soft 404", f"{data}, {name}", right, right + each["false"], each["true"])
    accused = cloaking(SEED)
    right = round(accused["recall of hosts"] * accused["cloaking hosts"])
    yield Rate("cloaking host", data, right, right + accused["false hosts"], accused["cloaking hosts"])


KINDS: Final[dict[str, Callable[[Sources], Iterator[Rate]]]] = {
    "rules": rules,
    "traps": traps,
    "canonicals": canonicals,
    "near-duplicates": near_duplicates,
    "spam": spam,
    "paging": paging,
    "hosts": hosts,
}
"""What can be measured, by name."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.verdicts", description="Measure every kind of verdict.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"some of {', '.join(KINDS)}; by default all")
    parser.add_argument("--corpus", type=Path, help="the folder of corpora")
    parser.add_argument("--docs", type=Path, help="HTML manuals, a folder for each project")
    asked = parser.parse_args(arguments)
    print("| verdict | data | true | made | precision | recall |\n|---|---|---|---|---|---|")
    for kind in asked.kinds or KINDS:
        for rate in KINDS[kind](Sources(asked.corpus, asked.docs)):
            print(rate.row(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
