"""Descriptions of the profiles of sites, for the front page and the documentation."""

from __future__ import annotations

PROFILES = {
    "shop": (
        "amazon.com",
        "an index of many files, log-structured: each day a new file of new and changed URLs; old files never change",
        "complete and honest for products, silent on the rest",
    ),
    "news": ("cnn.com", "small files: hours, week, month, hubs; no overlap", "honest, canonical URLs, fast"),
    "archive": (
        "pubmedcentral",
        "an index of 50 and more files, rewritten daily in bursts; changefreq monthly everywhere",
        "lastmod often wrong, unique URLs",
    ),
    "build": ("static generators", "one file; lastmod is the build of the whole site", "moves for all pages at once"),
    "always-now": ("many CMSs", "lastmod is the time of the request", "worthless"),
    "partial": ("microsoft.com", "a small part of the site", "honest for that part"),
    "stale": ("the forgotten", "written once; dead URLs, redirects, noindex pages", "worthless"),
    "dirty": (
        "the Berkeley survey",
        "angle brackets in robots.txt, .xml and .xml.gz twins, nested and looping indexes, 60,000 URLs in a file, "
        "wrong charset, truncated gzip, cross-host",
        "readable with care",
    ),
    "none": ("most of the web", "none; perhaps a feed", "only links"),
}
"""For each: the site it is modelled on, its sitemaps, and how far they can be trusted."""
