"""The program from its arguments to its exit code, mostly as a process of its own.

Every verb of `cli`; control, repair and resizing; kills at any moment; clusters. Covers `collection`, `engine/sharding`
and `bridges/ray` as users meet them.
"""
