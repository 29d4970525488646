
\set id random(:min_orders, :max_orders)
\raw
CALL look(:id);
\raw into total
TABLE orders ORDER BY id LIMIT 1 \gset it_
SELECT :it_total;
