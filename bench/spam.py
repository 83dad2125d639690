"""The shipped spam model: trained here from generated hosts and documentation, and measured on what it does not know.

`python -m bench.spam --write` writes the weights of the package; without it the figures are printed. Half of the
documentation's projects (by a hash of the name) train, the other half is judged.
"""

from __future__ import annotations

import argparse
from hashlib import sha256
from pathlib import Path
from random import Random

import numpy as np
from tests.parts.spam.spam_hosts import farm_graph, farm_host, features_of, honest_host, stuffed_host

from periplus.parts.spam.features import Features
from periplus.parts.spam.link_features import DomainGraph, link_features
from periplus.parts.spam.model import Model, encoded, probability, shipped, shrinkage
from periplus.parts.spam.training import Example, TrainingSettings, train
from periplus_lab.world import World

DOCS = Path(__file__).parent / ".peers" / "docs"
WEIGHTS = Path(__file__).parent.parent / "src" / "periplus" / "parts" / "spam" / "weights.json"
DOCS_HOST = ".docs.test"
"""How the hosts of documentation end."""
HOSTS = 900
"""Generated hosts of each kind."""
STUFFED_HOSTS = 220
"""Hosts besides these that repeat few key words."""
PAGES_A_PROJECT = 120
PAGES_A_HOST = 12
NOISE = 0.02
"""Share of labels that are turned around in training: generated spam is too easy, and no feature may be certain."""
PENALTY = 1.0
SMOOTHNESS = 0.5
"""Less than for labels of people: generated hosts have less noise."""
PRIOR = 0.138
"""The share of spam to assume: that of the 17,168 pages that Ntoulas et al. judged."""
FEATURES = (
    "title_words", "anchor_share", "compression", "distinct_share", "common_share", "stuffing", "hidden_share",
    "link_density", "title_repeats", "outgoing_domains", "anti_trust_rank",
)  # fmt: skip
"""What generated hosts can teach: not the length of words and pages nor names, which are those of the generator; and
not the shape of the graph, of which a crawl knows a part: few links back acquitted a farm that was not read yet."""


def documentation(folder: Path, *, trains: bool) -> dict[str, list[tuple[str, bytes]]]:
    """Pages of the projects of one half, evenly spaced, by project: a URL and its HTML."""
    found = {}
    for project in sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else ():
        if (sha256(project.name.encode()).digest()[0] % 2 == 0) is trains:
            files = sorted(file for file in project.rglob("*.html") if file.is_file())
            some = files[:: max(1, len(files) // PAGES_A_PROJECT)][:PAGES_A_PROJECT]
            host = f"{project.name.replace('.', '')}{DOCS_HOST}"
            found[host] = [(f"http://{host}/{file.relative_to(project)}", file.read_bytes()) for file in some]
    return found


def examples(chance: Random, docs: Path) -> list[Example]:
    """Everything the shipped model learns from."""
    graph, honest_count = farm_graph(np.random.default_rng(chance.getrandbits(32))), 1000
    links = link_features(graph)
    hosts: list[tuple[str, bool, list[Features]]] = []
    made = [honest_host(chance) for _ in range(HOSTS)]
    made += [farm_host(chance, adapts=chance.random() < 0.3) for _ in range(HOSTS)]
    for host in made:
        hosts += [(host.name, host.is_spam, [features_of(url, html.encode()) for url, html in host.pages])]
    hosts += [(name, False, pages) for name, pages in _lab_hosts()]
    for name, some in documentation(docs, trains=True).items():
        read = [features_of(url, html) for url, html in some]
        hosts += [(name, False, read[at : at + PAGES_A_HOST]) for at in range(0, len(read), PAGES_A_HOST)]
    found = [_example(each, chance, links.of(_number(each[1], chance, graph, honest_count))) for each in hosts]
    return found + _stuffed(Random(3))


def _stuffed(chance: Random) -> list[Example]:
    """Pages that repeat few key words, as some farms have them."""
    found = []
    for _ in range(STUFFED_HOSTS):
        host = stuffed_host(chance)
        pages = tuple(features_of(url, html.encode()) for url, html in host.pages)[: chance.choice((1, 3, 6, 6))]
        found.append(Example(host.name, chance.random() > NOISE, pages, {}, shrinkage(len(pages))))
    return found


def with_single_pages(hosts: list[Example]) -> list[Example]:
    """The same, and single pages of them, without shrinkage: of documentation every other one, of others two a host."""
    docs = [_single(each, page) for each in hosts if each.host.endswith(DOCS_HOST) for page in each.pages]
    others = [_single(each, page) for each in hosts for page in each.pages[:2]]
    return hosts + docs[::2] + others


def _single(host: Example, page: Features) -> Example:
    return Example(host.host, host.is_spam, (page,))


def _number(is_spam: bool, chance: Random, graph: DomainGraph, honest: int) -> int:
    return chance.randrange(honest, graph.count) if is_spam else chance.randrange(honest)


def _example(host: tuple[str, bool, list[Features]], chance: Random, links: Features) -> Example:
    """With some features hidden, as of a host of which little is known, and some labels wrong."""
    name, is_spam, pages = host
    kept = pages[: chance.choice((0, 1, 3, 12, 12))]
    known = links if chance.random() < 0.5 else {}
    if chance.random() < 0.5:
        known = known | {"duplicate_share": min(1.0, chance.betavariate(2, 4) if is_spam else chance.betavariate(1, 8))}
    label = is_spam ^ (chance.random() < NOISE)
    return Example(name, label, tuple(kept), known, shrinkage(len(kept)))


def _lab_hosts() -> list[tuple[str, list[Features]]]:
    world = World(seed=11, sites=60, pages=2000)
    found = []
    for site in world.sites():
        urls = [url for url, _ in zip(world.urls(site.host, world.epoch), range(PAGES_A_HOST), strict=False)]
        found.append((site.host, [features_of(url, world.content(url, world.epoch)) for url in urls]))
    return found


def shares(model: Model, docs: dict[str, list[tuple[str, bytes]]]) -> tuple[int, float, float]:
    """Of documentation: pages judged, the share above .5, and the highest probability of a host."""
    pages = highest = spam = 0.0
    for host, some in docs.items():
        read = [features_of(url, html) for url, html in some]
        spam += sum(probability(model.page_logit(each)) > 0.5 for each in read)
        pages += len(read)
        highest = max(highest, probability(model.host_logit(host, {}, read)))
    return int(pages), spam / max(pages, 1), highest


def farm_shares(model: Model, chance: Random, *, adapts: bool, hosts: int = 200) -> tuple[float, float]:
    """Of new hosts with 10 pages: the share of farm hosts above .5, and of honest ones."""
    found = [
        sum(
            probability(model.host_logit(host.name, {}, [features_of(u, h.encode()) for u, h in host.pages])) > 0.5
            for host in made
        )
        / hosts
        for made in (
            [farm_host(chance, 10, adapts=adapts) for _ in range(hosts)],
            [honest_host(chance, 10) for _ in range(hosts)],
        )
    ]
    return found[0], found[1]


def main() -> None:
    """Train if asked, and print the figures of the shipped model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="train, and write the weights of the package")
    parser.add_argument("--docs", type=Path, default=DOCS, help="the folder of documentation")
    asked = parser.parse_args()
    if asked.write:
        said = "the lab's farm, generated hosts and documentation; no labels of people"
        settings = TrainingSettings(
            features=FEATURES,
            has_kinds=False,
            has_grams=False,
            penalty=PENALTY,
            smoothness=SMOOTHNESS,
            prior=PRIOR,
            trained_on=said,
        )
        learnt = train(with_single_pages(examples(Random(20), asked.docs)), settings)
        WEIGHTS.write_bytes(encoded(learnt) + b"\n")
    model = shipped()
    others = documentation(asked.docs, trains=False)
    print(
        "documentation of projects it was not trained on: pages, share above .5, highest host:", shares(model, others)
    )
    print("documentation it was trained on:", shares(model, documentation(asked.docs, trains=True)))
    for adapts in (False, True):
        print(
            "farm that adapts:" if adapts else "farm:", farm_shares(model, Random(7), adapts=adapts), "(farm, honest)"
        )


if __name__ == "__main__":
    main()
