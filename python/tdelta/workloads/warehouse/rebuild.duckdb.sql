-- The rows in the order of the published key. DuckDB compresses each column of each block, here as in the load.
CREATE TABLE rebuilt AS SELECT * FROM fact_sales ORDER BY sales_order_number, sales_order_line_number, order_date_key;
DROP TABLE fact_sales;
ALTER TABLE rebuilt RENAME TO fact_sales;
