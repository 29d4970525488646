"""SQLite in each of its libraries: SQLite3 Multiple Ciphers, SQLCipher, and any other by its path."""
