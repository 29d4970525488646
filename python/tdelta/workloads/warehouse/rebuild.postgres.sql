-- Rows are written anew in the order of the key, and the key's index with them. PostgreSQL does not keep that order, and
-- compresses no pages.
CLUSTER fact_sales USING fact_sales_pk;
