"""Periplus beside its peers, in one run on one machine. `python -m bench --help` says how."""
