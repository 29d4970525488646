"""MySQL and Percona Server."""
