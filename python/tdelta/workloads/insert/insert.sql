-- The statement of sysbench's oltp_insert, its keys made certain.
\set id :rows_sbtest1 + :op
\set k random(1, :rows_sbtest1)
\set c random_string(119, 119)
\set pad random_string(59, 59)
INSERT INTO sbtest1 (id, k, c, pad) VALUES (:id, :k, :c, :pad);
