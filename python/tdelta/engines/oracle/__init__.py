"""Oracle Database, on two servers (or two pluggable databases) of the user's. Never run by us on a real server."""
