-- Every page is written anew, rows in the order of the load. SQLite does not compress.
VACUUM;
