"""ultimate-sitemap-parser, end to end: robots.txt, the index and every sitemap of one host over HTTP.

    sitemaps_read.py HOMEPAGE

Prints how many URLs it found. Runs in a virtual environment of its own.
"""

# mypy: ignore-errors

from __future__ import annotations

import json
import logging
import sys

from usp.tree import sitemap_tree_for_homepage


def main() -> None:
    """Read the whole tree, then walk it: pages are only made when asked for."""
    logging.disable(logging.CRITICAL)
    tree = sitemap_tree_for_homepage(sys.argv[1], use_known_paths=False)
    print(json.dumps({"urls": sum(1 for _ in tree.all_pages())}))


if __name__ == "__main__":
    main()
