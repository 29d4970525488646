-- The rows in the order of the published key. ClickHouse compresses each block of each column, here as in the load.
CREATE TABLE rebuilt ENGINE = MergeTree ORDER BY (sales_order_number, sales_order_line_number, order_date_key)
AS SELECT * FROM fact_sales ORDER BY sales_order_number, sales_order_line_number, order_date_key;
DROP TABLE fact_sales SYNC;
RENAME TABLE rebuilt TO fact_sales;
