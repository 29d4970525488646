"""``tdelta check-servers``: every ability of an engine's adapter, tried on a real pair of servers."""
