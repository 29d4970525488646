"""Servers that are reached by a driver of Python's (PEP 249), under the load loop that drives all others."""
