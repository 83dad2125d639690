"""The index of plain files against the server: sixty queries on two manuals, in Chromium, by a plain file server.

    python -m bench.static_search

Of each manual an index is made and written as files. A query counts what a first visit loads for it: the scripts, the
directory, words, postings and passages. The answers are those of `search_queries.json`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.apps.serve.manual import PLAIN, plain_host
from tests.lab.chromium_page import Chromium

from bench.search import ManualQuery, manual_documents, manual_queries
from periplus.apps.search import Index
from periplus.apps.search.static_index import write_static_index

ASK = (
    "import('/search/static.js').then((each) => each.open(new URL('/search/', location)))"
    ".then((each) => each.search({}, 8))"
)
SCRIPT = '<link rel=icon href="data:,"><script src="/search/search.js" data-index defer></script>'


def main() -> None:
    """Print the figures of each manual and of both."""
    same = first = three = section = number = 0
    loaded: list[int] = []
    asked = manual_queries()
    with tempfile.TemporaryDirectory() as scratch, Chromium(Path(scratch) / "profile") as browser:
        browser("Network.setCacheDisabled", cacheDisabled=True)
        for manual in sorted({each.manual for each in asked}):
            place = Path(scratch) / manual
            with Index.open(place / "index") as index:
                index.add(manual_documents(manual))
                index.commit()
                done = write_static_index(index, place / "search")
                print(f"{manual}: {done.pages} pages, {done.files:,} files, {done.bytes:,} bytes")
                (place / "index.html").write_text(PLAIN.format(script=SCRIPT))
                with plain_host(place) as (origin, sent):
                    for query in (each for each in asked if each.manual == manual):
                        sent.clear()
                        browser.visit(f"{origin}/", 1000)
                        found = browser.run(ASK.format(json.dumps(query.query)))["results"]
                        loaded.append(sum(size for path, size in sent if path != "/"))
                        urls = [each["url"] for each in found]
                        own = [hit.url for hit in index.search(query.query, 8)]
                        same += bool(own) and urls[:1] == own[:1]
                        first += _is_right(query, urls[:1])
                        three += _is_right(query, urls[:3])
                        if query.sections and _is_right(query, urls[:1]):
                            section += found[0]["sections"][:1] != [] and (
                                found[0]["sections"][0]["anchor"] in query.sections
                            )
                            number += 1
    loaded.sort()
    print(f"{len(loaded)} queries: first as on the server {same}; right {first}, in the first three {three}")
    print(f"right section {section} of {number}; bytes {loaded[len(loaded) // 2]:,} (median), {loaded[-1]:,} (most)")


def _is_right(query: ManualQuery, urls: list[str]) -> bool:
    return any(url.endswith(f"/{page}") for url in urls for page in query.pages)


if __name__ == "__main__":
    main()
