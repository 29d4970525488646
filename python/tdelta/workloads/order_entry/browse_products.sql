-- A customer signs in, leafs through a category or two with what is in stock, and opens some popular products.
\set customer_id 1 + permute(random_exponential(1, :rows_customers, 3.0) - 1, :rows_customers)
\set warehouse_id random(1, :rows_warehouses)
\set categories random(1, 2)
\set products random(1, 4)
SELECT customer_id, first_name, last_name, email, customer_class, preferred_address_id
FROM customers WHERE customer_id = :customer_id;
\repeat :categories
\set category_id random(1, 100)
SELECT p.product_id, p.product_name, p.list_price_cents, p.product_status, i.quantity_on_hand
FROM products p JOIN inventories i ON i.product_id = p.product_id
WHERE p.category_id = :category_id AND i.warehouse_id = :warehouse_id
ORDER BY p.product_name, p.product_id;
\endrepeat
\repeat :products
\set product_id 1 + permute(random_zipfian(1, :rows_products, 1.1) - 1, :rows_products)
SELECT p.product_id, p.product_name, p.product_description, p.weight_kg, p.warranty_months, p.list_price_cents,
    p.catalog_url, i.quantity_on_hand
FROM products p JOIN inventories i ON i.product_id = p.product_id
WHERE p.product_id = :product_id AND i.warehouse_id = :warehouse_id;
\endrepeat
