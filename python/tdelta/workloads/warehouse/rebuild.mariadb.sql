-- InnoDB's tables are clustered; without a key of their own by a hidden one. Compressed pages are the nearest to page compression.
ALTER TABLE fact_sales ROW_FORMAT=COMPRESSED, KEY_BLOCK_SIZE=8, FORCE;
