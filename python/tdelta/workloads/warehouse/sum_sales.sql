-- The published query.
SELECT SUM(sales_amount) AS sales FROM fact_sales;
