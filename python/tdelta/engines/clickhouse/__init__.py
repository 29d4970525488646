"""ClickHouse within a process (chDB): analytic, on an encrypted disk. Only its worker imports it."""
