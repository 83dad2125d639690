"""Titles and prices of a shop: Periplus."""

# mypy: ignore-errors

import csv
import sys

import periplus

crawl = periplus.crawl(sys.argv[1], out="shop", delay=0.1, contact="you@example.org", allow_private=["127.0.0.1"])
with crawl, open("items.csv", "w", newline="") as file:
    rows = csv.writer(file)
    for page in crawl:
        if price := page.select_text(".price"):
            rows.writerow([page.select_text("h1"), price])
