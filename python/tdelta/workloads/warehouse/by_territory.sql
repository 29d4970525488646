SELECT sales_territory_key, COUNT(*) AS line_count, SUM(sales_amount) AS sales, SUM(tax_amt) AS tax, SUM(freight) AS freight
FROM fact_sales
GROUP BY sales_territory_key
ORDER BY sales_territory_key;
