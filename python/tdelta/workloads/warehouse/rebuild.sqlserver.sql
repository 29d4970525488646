-- As published, pages are compressed. The published table had a clustered key; here rows lie in a heap, as they were loaded.
ALTER TABLE fact_sales REBUILD WITH (DATA_COMPRESSION = PAGE);
