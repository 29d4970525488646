"""A toy: a database in memory that is a file between trials, plain or XORed with a key."""
