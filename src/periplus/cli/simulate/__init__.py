"""`periplus simulate`: `command` is the group, `options` its shared options, `output` its tables and files.

One file an experiment: `ordering` (`focused`, too), `freshness` (signals, too), `batch`, `speedup`, `scaling`;
`reproduce` runs those of a paper. Nothing of `apps.simulate` is imported before an experiment starts.
"""
