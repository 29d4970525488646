"""SQL Server, on two instances of the user's. Never run by us on a real server."""
