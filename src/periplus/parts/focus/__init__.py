"""Focused crawls: what a crawl for a topic looks for, how relevant a page is, and which link comes next.

Read in this order: `words` finds the terms of a topic in a text and makes a relevance of them; `classifier` and
`examples` do it by example pages, and `classifier` measures how far a page is from the topic, for simulations; `topic`
combines them for a crawl, with the words of links; `learning` predicts the relevance of URLs from the pages read
before; `ordering` decides which URL is fetched next; `part` is all that in a crawl. Chakrabarti, van den Berg & Dom
(1999) is the paper on crawls with a classifier, Hersovici et al. (1998) the one on anchors.

Everything here is a function of its arguments and of a state that the crawl commits, so that a crawl can be replayed.
"""
