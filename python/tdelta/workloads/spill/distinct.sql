-- No two rows are alike, which only a table of all of them shows.
SELECT COUNT(*) AS different, SUM(paid) AS paid
FROM (SELECT DISTINCT note, visitor, paid FROM visits) AS d;
