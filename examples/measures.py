"""The measures of a collection in a notebook: open this file in Jupyter, VS Code or Spyder, a cell at a time.

Needs `pip install pandas`.

python examples/measures.py docs
"""

# %% Open a collection. It may be crawled at the same time.
import sys

import periplus

docs = periplus.open(sys.argv[1])

# %% What sitemaps and links each found, and how much of it was worth fetching
measures = docs.query("select * from site_measures order by seen desc limit 20").df()
sys.stdout.write(measures.to_string() + "\n")

# %% How requests ended
answers = docs.query(
    "select outcome, status, count(*) as requests from fetches group by all order by requests desc"
).df()
sys.stdout.write(answers.to_string() + "\n")

# %% The pages that most links lead to
pages = docs.query("select url, inlinks, pagerank from urls where is_page order by pagerank desc limit 10").df()
sys.stdout.write(pages.to_string() + "\n")
