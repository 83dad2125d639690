"""What every implementation of a port promises.

In memory, on disk and on a cluster: the ports of `model/ports.py` and `store/crawl_state.py`, the transports between
shards, executors, and the engines of `apps/search`.
"""
