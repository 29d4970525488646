-- Oracle moves the rows of a table to new blocks; basic compression is its nearest to page compression, and has no licence of its own.
ALTER TABLE fact_sales MOVE ROW STORE COMPRESS BASIC;
