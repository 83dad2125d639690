"""Experiments in virtual time: the crawler's own state machine on webs that are arrays.

A `Web` (`web`) has pages, sites and links; it is generated (`generated`), read from a file (`graph_files`) or from a
collection (`recording`). A run (`crawl`) answers the machine's fetches after the virtual time of the network model
(`network`). So a policy is measured before it crawls, with the code that crawls.

Experiments: `orderings`, `speedup`, `batches`, `freshness`, `noisy_refresh`, `balance`, `reputation` and `scaling`;
`scenario` has their settings and `results` their rows. Papers: `castillo` (2004), `brandman` (2000) and `schonfeld`
(2009), each value with a verdict (`findings`). `plots` draws curves.
"""

from .web import Web

__all__ = ["Web"]
