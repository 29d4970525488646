-- One transaction of sysbench's oltp_read_only, with its defaults: --point_selects=10 --range_size=100.
\set id1 random(1, :rows_sbtest1)
\set id2 random(1, :rows_sbtest1)
\set id3 random(1, :rows_sbtest1)
\set id4 random(1, :rows_sbtest1)
\set id5 random(1, :rows_sbtest1)
\set id6 random(1, :rows_sbtest1)
\set id7 random(1, :rows_sbtest1)
\set id8 random(1, :rows_sbtest1)
\set id9 random(1, :rows_sbtest1)
\set id10 random(1, :rows_sbtest1)
\set plain_lo random(1, :rows_sbtest1)
\set plain_hi :plain_lo + 99
\set sum_lo random(1, :rows_sbtest1)
\set sum_hi :sum_lo + 99
\set order_lo random(1, :rows_sbtest1)
\set order_hi :order_lo + 99
\set distinct_lo random(1, :rows_sbtest1)
\set distinct_hi :distinct_lo + 99
BEGIN;
SELECT c FROM sbtest1 WHERE id = :id1;
SELECT c FROM sbtest1 WHERE id = :id2;
SELECT c FROM sbtest1 WHERE id = :id3;
SELECT c FROM sbtest1 WHERE id = :id4;
SELECT c FROM sbtest1 WHERE id = :id5;
SELECT c FROM sbtest1 WHERE id = :id6;
SELECT c FROM sbtest1 WHERE id = :id7;
SELECT c FROM sbtest1 WHERE id = :id8;
SELECT c FROM sbtest1 WHERE id = :id9;
SELECT c FROM sbtest1 WHERE id = :id10;
SELECT c FROM sbtest1 WHERE id BETWEEN :plain_lo AND :plain_hi;
SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN :sum_lo AND :sum_hi;
SELECT c FROM sbtest1 WHERE id BETWEEN :order_lo AND :order_hi ORDER BY c;
SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN :distinct_lo AND :distinct_hi ORDER BY c;
COMMIT;
