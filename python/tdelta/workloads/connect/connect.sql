-- As pgbench -C: a connection of its own for each piece of work.
\set id random(1, :rows_sbtest1)
\connect
SELECT c FROM sbtest1 WHERE id = :id;
