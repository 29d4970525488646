\set aid random(1, :rows_pgbench_accounts)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
