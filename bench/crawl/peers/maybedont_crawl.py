"""A breadth-first crawl with MaybeDont, by its own rules (`AvoidDupContentMiddleware`), of a web at the end of a pipe.

Run by `bench.dust` with an interpreter that has MaybeDont 0.1.1; nothing of Periplus is imported here. Standard input
has the first URL, then for each URL that is printed its text and its links. The model begins after 40 pages, not 300 as
by default: the sites have 400. It drops what is a duplicate with a probability of .98, and fetches 5 % of these anyway,
both as by default.
"""

from __future__ import annotations

import json
import random
import sys
from collections import deque
from collections.abc import Iterable

from maybedont import DupePredictor, predict  # type: ignore[import-not-found]

BEGINS_AFTER, THRESHOLD, EXPLORED = 40, 0.98, 0.05


class _Sampling:
    """`random`, with a `sample` that takes sets, as it did when MaybeDont was written."""

    @staticmethod
    def sample(population: Iterable[str], size: int) -> list[str]:
        """Of a sorted list: the same in every run."""
        return random.sample(sorted(population), size)


def main() -> None:
    """Crawl until nothing is left."""
    random.seed(1)
    predict.random = _Sampling
    first = json.loads(sys.stdin.readline())
    waiting, known, texts, model = deque([first]), {first}, [], None
    while waiting:
        url = waiting.popleft()
        if model is not None and model.get_dupe_prob(url) > THRESHOLD and random.random() >= EXPLORED:
            continue
        print(json.dumps(url), flush=True)
        page = json.loads(sys.stdin.readline())
        if model is not None:
            model.update_model(url, page["text"])
        else:
            texts.append((url, page["text"]))
            if len(texts) >= BEGINS_AFTER:
                model = DupePredictor(texts_sample=[text for _, text in texts])
                for each, text in texts:
                    model.update_model(each, text)
        for link in page["links"]:
            if link not in known:
                known.add(link)
                waiting.append(link)


if __name__ == "__main__":
    main()
