"""Experiments in virtual time: the scheduler that really crawls, against webs that are arrays.

A `Web` says what lies where and what links to what; a run lends its pages to a `CrawlScheduler` and answers after as
much virtual time as the network model says. So a policy is measured before it crawls, and what was measured is what
crawls (Castillo et al. 2004; Brandman et al. 2000).
"""

from .web import Web

__all__ = ["Web"]
