"""The features of a crawl, one folder each. A part decides from values that it is given; the engine calls it.

`sitemaps` reads what sites publish about themselves, `revisit` visits pages again, `forms` submits searches, `focus`
follows a topic, and `render` opens pages in a browser. `dust` learns which URLs are the same page; `absence`,
`cloaking`, `mirrors` and `spam` judge pages and hosts; `reputation` gives domains their budgets. The docstring of each
folder says what the part does, after which paper, and what it costs.

A part imports the protocol of the engine and what is below it, never another part (`engine/part.py`).
"""
