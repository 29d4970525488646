-- A warehouse takes the order that has waited longest, lists what to pack, and marks it processed. It may find none.
\set warehouse_id random(1, :rows_warehouses)
\set now 1704067200 + :op
BEGIN;
SELECT COALESCE(MIN(order_id), 0) AS order_id FROM orders WHERE warehouse_id = :warehouse_id AND order_status = 1 \gset
\if :order_id > 0
SELECT line_item_id, product_id, quantity, gift_wrap, supplier_id FROM order_items WHERE order_id = :order_id;
UPDATE orders SET order_status = 4 WHERE order_id = :order_id;
UPDATE order_items SET dispatch_date = :now WHERE order_id = :order_id;
\endif
COMMIT;
