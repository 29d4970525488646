SELECT product_key, SUM(order_quantity) AS quantity, SUM(sales_amount - total_product_cost) AS margin
FROM fact_sales
GROUP BY product_key
ORDER BY quantity DESC, product_key
LIMIT 10;
