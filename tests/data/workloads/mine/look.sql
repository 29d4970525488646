\set id random(1, :rows_parents)
SELECT name FROM parents WHERE id = :id;
