"""Crawl a site and write every page as a line of JSON while it arrives.

    python examples/crawl_to_jsonl.py https://docs.example.org docs docs.jsonl

Run it again to continue: the next run appends the pages that this one did not write.
"""

import json
import sys
from pathlib import Path
from typing import Any

import periplus


def main(seed: str, folder: str, target: str, **options: Any) -> int:
    """Crawl into a folder; the number of lines written."""
    with periplus.crawl(seed, out=folder, **options) as crawl, Path(target).open("a", encoding="utf-8") as lines:
        lines.writelines(json.dumps(page.as_dict(), ensure_ascii=False) + "\n" for page in crawl)
    return crawl.summary.this_run.pages


if __name__ == "__main__":
    written = main(*sys.argv[1:], limit=1000, contact="you@example.org")
    sys.stdout.write(f"{written} pages\n")
