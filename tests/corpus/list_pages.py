"""The next pages of real lists, against what people marked, by folds of whole sites; and the weights of the evidence.

`content.pagination` weighs what speaks for a page to be the next one. The weights are learnt here, from the pages of
`pagination_autopager` (see the corpus), by logistic regression over the pages that links lead to. They are judged on
sites that they were not learnt from: for each site with the weights of all others.

    python -m tests.corpus.list_pages FOLDER

A page that declares its next one (`rel=next` in its head) is counted with what it declares, though not all readers see
that; how many do is printed, and the figures of the others.
"""

from __future__ import annotations

import argparse
import json
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.content import read_page
from periplus.content.pagination import LEAST, WEIGHTS, Evidence, evidence_of, next_page, weight_of
from periplus.content.scan import scan
from periplus.model import Url
from periplus.urls import canonical, domain_of, resolve_all

PENALTY: Final = 0.3
"""Of the squares of weights: there are few pages, and the same weights are to hold on other sites."""
LENIENCE: Final = 2.2
"""By how much less evidence than for even odds is enough. So numbers are, which no page of the corpus has alone."""

Weights = tuple[Sequence[float], float]
"""The weights of the evidence, and what they have to exceed."""


class ListPage(Struct, frozen=True):
    """A page with the URLs that people marked as its next page, and what we know."""

    url: Url
    site: str
    wanted: frozenset[str]
    declared: Url | None
    """The next page by `rel`."""
    evidence: dict[Url, Evidence]

    def found(self, weights: Weights) -> Url | None:
        """The next page by these weights; what is declared goes before."""
        if self.declared is not None:
            return self.declared
        best = max(self.evidence, key=lambda target: weight_of(self.evidence[target], weights[0]), default=None)
        return best if best is not None and weight_of(self.evidence[best], weights[0]) > weights[1] else None


class Figures(Struct, frozen=True):
    """How many next pages were found, rightly, and wanted."""

    right: int
    found: int
    wanted: int

    @property
    def precision(self) -> float:
        """The share of what was found that people marked."""
        return self.right / self.found

    @property
    def recall(self) -> float:
        """The share of what people marked that was found."""
        return self.right / self.wanted


def list_pages(corpus: Path) -> Iterator[ListPage]:
    """The pages of the corpus with their evidence."""
    folder = corpus / "pagination_autopager"
    with tarfile.open(folder / "pages.tar.gz") as archive:
        for row in json.loads((folder / "annotations.json").read_text(encoding="utf-8")):
            file = archive.extractfile(row["page"])
            assert file is not None
            wanted = frozenset(url for each in row["next"] if (url := canonical(each)))
            yield list_page(file.read(), row["url"], row["encoding"], wanted)


def list_page(body: bytes, url: str, encoding: str, wanted: frozenset[str] = frozenset()) -> ListPage:
    """One page with its evidence."""
    page = read_page(body, url, f"text/html; charset={encoding}")
    columns = scan(body.decode(page.charset, "replace").encode("utf-8", "replace"), page.url)
    urls = [None if target is None else Url(target) for target in columns.urls]
    places = [place for place, _ in columns.unresolved]
    for place, target in zip(places, resolve_all([href for _, href in columns.unresolved], page.base), strict=True):
        urls[place] = target
    relations = page.relations
    declared = relations.next if relations.is_next_declared else next_page(page.url, urls, [], columns.rels, {})
    evidence = evidence_of(page.url, urls, columns.anchors, columns.marks)
    return ListPage(page.url, domain_of(page.url) or page.url, wanted, declared, evidence)


def learnt(pages: Sequence[ListPage]) -> Weights:
    """Weights by logistic regression over all pages that may be next ones (Newton's method)."""
    rows = [(evidence, target in page.wanted) for page in pages for target, evidence in page.evidence.items()]
    features: NDArray[np.float64] = np.array([[1.0, *evidence] for evidence, _ in rows])
    labels = np.array([is_wanted for _, is_wanted in rows], dtype=np.float64)
    penalties = np.diag([0.01, *[PENALTY] * len(Evidence._fields)])
    weights = np.zeros(features.shape[1])
    for _ in range(30):
        odds = 1 / (1 + np.exp(-features @ weights))
        curvature = (features * (odds * (1 - odds))[:, None]).T @ features + penalties
        weights -= np.linalg.solve(curvature, features.T @ (odds - labels) + penalties @ weights)
    return [round(float(weight), 2) for weight in weights[1:]], round(-float(weights[0]) - LENIENCE, 2)


def judged(pages: Sequence[ListPage], found: Sequence[Url | None]) -> Figures:
    """How many next pages were found."""
    right = sum(ours in page.wanted for page, ours in zip(pages, found, strict=True))
    return Figures(right, sum(ours is not None for ours in found), sum(bool(page.wanted) for page in pages))


def left_out(pages: Sequence[ListPage]) -> list[Url | None]:
    """The next page of each page, by weights that were learnt without its site."""
    weights = {site: learnt([page for page in pages if page.site != site]) for site in {page.site for page in pages}}
    return [page.found(weights[page.site]) for page in pages]


def main() -> None:
    """Print the figures, and the weights."""
    parser = argparse.ArgumentParser(description="Judge how next pages of lists are found, and learn weights.")
    parser.add_argument("corpus", type=Path, help="folder of the corpus")
    pages = list(list_pages(parser.parse_args().corpus))
    rows = {"sites left out": left_out(pages), "weights in use": [page.found((WEIGHTS, LEAST)) for page in pages]}
    sys.stdout.write(f"{len(pages)} pages of {len({page.site for page in pages})} sites\n")
    for name, found in rows.items():
        undeclared = [place for place, page in enumerate(pages) if page.declared is None]
        all_pages = judged(pages, found)
        others = judged([pages[place] for place in undeclared], [found[place] for place in undeclared])
        sys.stdout.write(
            f"{name}: precision {all_pages.precision:.3f}, recall {all_pages.recall:.3f}; "
            f"of {len(undeclared)} pages without rel=next {others.precision:.3f}, {others.recall:.3f}\n"
        )
    weights, least = learnt(pages)
    sys.stdout.write(f"WEIGHTS: Final = {tuple(weights)}\nLEAST: Final = {least}\n")


if __name__ == "__main__":
    main()
