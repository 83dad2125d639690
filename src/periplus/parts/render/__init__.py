"""Pages that need their scripts: which they are, and the browser that opens them.

`pages` scores a page as the server sent it, reads what such a page has for its scripts, so that some need no browser,
has the URLs of pages that an application keeps behind `#!`, and completes what was read from a browser's document, or
with such data; `templates` decides for all pages of a template, after some were rendered; `part` learns that in a
crawl. `settings` is the table `[render]`, `rows` a question about the verdicts. These are pure.

`RenderingWire` (`wire`) stands in front of the wire that fetches. It hands pages that need their scripts to a
`BrowserPool` (`pool`), which runs Chromium in a thread of its own. The browser shows the document that was fetched
already; whatever else it asks for is judged by `interception` (kinds, budgets, a cache of scripts) and leaves this
machine only through the `gate`, a proxy on loopback with our resolver and our rules for private addresses. `session`
decides when a page is complete, `browser` finds and starts the browser and measures its memory. A page that hangs,
crashes or never ends costs its time limit, and the page is then read as the server sent it.
"""
