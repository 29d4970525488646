"""A toy server of a user's: files of SQLite that are reached by a DSN."""
