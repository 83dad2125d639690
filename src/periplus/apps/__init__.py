"""What is built on crawls and collections, one folder each; an app imports what it shows.

`report`, `audit`, `survey`, `changes` and `ulinks` answer questions about a collection; `search` indexes one, `export`
writes it in other formats and `serve` shows it in a browser.
"""
