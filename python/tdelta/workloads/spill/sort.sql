-- All rows in the order of their notes, which is none that they lie in; one row of it goes to the client.
SELECT COUNT(*) AS rises
FROM (SELECT paid, LAG(paid) OVER (ORDER BY note, id) AS earlier FROM visits) AS sorted
WHERE paid > earlier;
