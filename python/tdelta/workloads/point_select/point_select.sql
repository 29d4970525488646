\set id random(1, :rows_sbtest1)
SELECT c FROM sbtest1 WHERE id = :id;
