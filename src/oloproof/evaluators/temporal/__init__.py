"""Temporal rules: a sentence about the calls of a run, decided in one pass over them.

text → ``parser`` → a tree of ``syntax`` → ``letters``, what a call can be to the rule → ``automaton`` → ``monitor``.
"""
