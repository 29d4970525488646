-- As published: the clustered key is built anew, its pages compressed. A sort is done in tempdb, which is encrypted where any
-- database of the instance is; rows that are in order need none. The degree of parallelism is the database's.
ALTER INDEX fact_sales_pk ON fact_sales REBUILD WITH (SORT_IN_TEMPDB = ON, DATA_COMPRESSION = PAGE);
