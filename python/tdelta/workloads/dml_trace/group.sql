-- A group: a hundred rows by one statement, for want of arrays; deleted if its number is odd, else updated; selected.
\set grp :rows_batches + :op
\set ts 1704067200 + :op
\set name random_string(60, 100)
BEGIN;
INSERT INTO dml_trace (grp, id, name, ts) SELECT :grp, id, name, :ts FROM hundred ORDER BY id;
\if :op % 2 = 1
DELETE FROM dml_trace WHERE grp = :grp;
\else
UPDATE dml_trace SET name = :name WHERE grp = :grp;
\endif
SELECT grp, id, name, ts FROM dml_trace WHERE grp = :grp ORDER BY id;
COMMIT;
