"""A toy server that a DSN names: a folder, whose files are its schemas, by Python's driver of SQLite."""
