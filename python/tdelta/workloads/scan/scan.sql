-- The column is in no index, so every page of the clustered key is read; its length costs little beside that.
SELECT SUM(LENGTH(c)) FROM sbtest1;
