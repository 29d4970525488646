-- A customer looks at the latest orders and opens the last one.
\set customer_id 1 + permute(random_exponential(1, :rows_customers, 3.0) - 1, :rows_customers)
SELECT customer_id, first_name, last_name, customer_class FROM customers WHERE customer_id = :customer_id;
SELECT order_id, order_date, order_mode, order_status, order_total_cents, delivery_type
FROM orders WHERE customer_id = :customer_id
ORDER BY order_id DESC
LIMIT 10;
SELECT COALESCE(MAX(order_id), 0) AS order_id FROM orders WHERE customer_id = :customer_id \gset
SELECT o.line_item_id, p.product_name, o.unit_price_cents, o.quantity, o.dispatch_date
FROM order_items o JOIN products p ON p.product_id = o.product_id
WHERE o.order_id = :order_id
ORDER BY o.line_item_id;
