"""DuckDB: embedded and analytic. Only its worker and what runs in it import DuckDB."""
