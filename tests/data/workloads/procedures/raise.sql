
\set id random(:min_orders, :max_orders)
BEGIN;
\raw writes
CALL raise_total(:id);
SELECT total FROM orders WHERE id = :id;
COMMIT;
