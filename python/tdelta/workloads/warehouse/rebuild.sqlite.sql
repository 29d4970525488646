-- The nearest to a rebuild: every page is written anew, rows in the order of their key. SQLite does not compress.
VACUUM;
