"""`periplus simulate`: `command` is the group, `options` its shared options, `output` its tables and files.

`experiment` is what an experiment is: options, run, table and plot, declared in one class, from which its command is
made. They are in `ordering` (`focused`, too), `freshness` (signals, too), `batch`, `speedup`, `shares` (balance,
reputation) and `scaling`; `reproduce` runs those of a paper. Nothing of `periplus_lab.simulate` is imported before an
experiment starts.
"""
