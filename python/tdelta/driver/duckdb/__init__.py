"""DuckDB's twins: each a file of its own in a worker of its own, driven by the load loop in Python.

Nothing here imports DuckDB but the worker (`tdelta.driver.duckdb.worker`) and what runs in it.
"""
