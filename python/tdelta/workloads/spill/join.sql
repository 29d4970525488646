-- Nearly as many groups as rows, each with a note, joined to the rows that they were made of.
SELECT COUNT(*) AS last_visits, SUM(v.paid) AS paid
FROM visits AS v
JOIN (SELECT visitor, MAX(note) AS last_note, COUNT(*) AS visits FROM visits GROUP BY visitor) AS g ON g.visitor = v.visitor
WHERE v.note = g.last_note;
