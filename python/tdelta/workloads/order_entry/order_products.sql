-- A customer signs in, looks at some products, and orders one to five of them; stock goes down as they are taken.
\set customer_id 1 + permute(random_exponential(1, :rows_customers, 3.0) - 1, :rows_customers)
\set warehouse_id random(1, :rows_warehouses)
\set order_id :rows_orders + :op
\set now 1704067200 + :op
\set estimated :now + 259200
\set items random(1, 5)
\set delivery random(0, 2500)
\set card_id random(1, 1000000000)
\set total 0
\set line 0
SELECT customer_class, preferred_address_id FROM customers WHERE customer_id = :customer_id \gset
BEGIN;
INSERT INTO orders (
    order_id, order_date, order_mode, customer_id, order_status, order_total_cents, sales_rep_id, promotion_id,
    warehouse_id, delivery_type, delivery_cents, delivery_address_id, customer_class, card_id
) VALUES (
    :order_id, :now, 'online', :customer_id, 1, 0, NULL, NULL,
    :warehouse_id, 'Standard', :delivery, :preferred_address_id, :customer_class, :card_id
);
\repeat :items
\set line :line + 1
\set product_id 1 + permute(random_zipfian(1, :rows_products, 1.1) - 1, :rows_products)
\set quantity random(1, 8)
SELECT p.list_price_cents AS price, p.supplier_id, i.quantity_on_hand AS stock
FROM products p JOIN inventories i ON i.product_id = p.product_id
WHERE p.product_id = :product_id AND i.warehouse_id = :warehouse_id \gset
INSERT INTO order_items (
    order_id, line_item_id, product_id, unit_price_cents, quantity, dispatch_date, return_date, gift_wrap,
    item_condition, supplier_id, estimated_delivery
) VALUES (
    :order_id, :line, :product_id, :price, :quantity, NULL, NULL, 'None', 'New', :supplier_id, :estimated
);
\if :stock < 100
-- The shelf is nearly empty: goods have come in.
UPDATE inventories SET quantity_on_hand = quantity_on_hand + 10000 - :quantity
WHERE product_id = :product_id AND warehouse_id = :warehouse_id;
\else
UPDATE inventories SET quantity_on_hand = quantity_on_hand - :quantity
WHERE product_id = :product_id AND warehouse_id = :warehouse_id;
\endif
\set total :total + :quantity * :price
\endrepeat
\set charged :total + :delivery
UPDATE orders SET order_total_cents = :charged WHERE order_id = :order_id;
COMMIT;
