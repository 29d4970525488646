\set first random(1, 1370)
\set last :first + 90
SELECT currency_key, COUNT(*) AS line_count, SUM(extended_amount) AS amount, SUM(discount_amount) AS discount
FROM fact_sales
WHERE order_date_key BETWEEN :first AND :last AND promotion_key = 1
GROUP BY currency_key
ORDER BY currency_key;
