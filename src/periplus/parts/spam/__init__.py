"""Spam: features of pages and hosts, an additive model, and what follows from its probability.

1. `features` has what the text and links of a page show, and the name of a host; `link_features` what its place among
   others shows.
2. `model` adds a curve for each feature and explains every verdict by the loudest of them; `training` makes a model
   from labels and measures it on examples that it does not know; `scores` is what a crawl loads.
3. `verdict` turns a probability into multipliers. Nothing is refused because of it.

`job` judges a collection; `part` has the crawl follow its result, a learnt file.
"""
