"""One way to show facts: on a terminal, as JSON, as CSV, in a browser, and as a picture.

What people look at is declared once, as a value: a `Sheet` (columns with a kind, and rows) or `FactSheet` (lines of
a label and a text) of `values`, a `Finding` (something to act on) of `findings`, or a chart of `charts`. A value
knows nothing of where it is shown; msgspec writes it as JSON. `wording` writes numbers, sizes, times and text of
strangers; `terminal` prints with rich, `html` writes pages and their tables, `csv_text` rows for spreadsheets.
"""
