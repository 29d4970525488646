-- Rows lie in a heap beside the key's index, and both are rebuilt. Basic compression is the nearest to page compression, and
-- has no licence of its own.
ALTER TABLE fact_sales MOVE ROW STORE COMPRESS BASIC;
ALTER INDEX fact_sales_pk REBUILD;
