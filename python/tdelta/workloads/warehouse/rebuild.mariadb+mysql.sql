-- The table is clustered by its key. Compressed pages are the nearest to page compression.
ALTER TABLE fact_sales ROW_FORMAT=COMPRESSED, KEY_BLOCK_SIZE=8, FORCE;
