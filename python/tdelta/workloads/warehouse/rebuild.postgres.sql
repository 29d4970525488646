-- The nearest to a rebuild: the table is written anew. PostgreSQL has no clustered key that it keeps, and compresses no pages.
VACUUM FULL fact_sales;
