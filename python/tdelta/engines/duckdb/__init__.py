"""DuckDB, embedded and analytic."""
