-- Without the key: DuckDB would keep it as an index in memory, which no query of these reads, and sqlglot cannot write it
-- as that of a clustered table of SQLite (WITHOUT ROWID). Rows lie as they were loaded.
CREATE TABLE fact_sales (
    product_key INTEGER NOT NULL,
    order_date_key INTEGER NOT NULL,
    due_date_key INTEGER NOT NULL,
    ship_date_key INTEGER NOT NULL,
    customer_key INTEGER NOT NULL,
    promotion_key INTEGER NOT NULL,
    currency_key INTEGER NOT NULL,
    sales_territory_key INTEGER NOT NULL,
    sales_order_number VARCHAR(20) NOT NULL,
    sales_order_line_number SMALLINT NOT NULL,
    revision_number SMALLINT NOT NULL,
    order_quantity SMALLINT NOT NULL,
    unit_price BIGINT NOT NULL,
    extended_amount BIGINT NOT NULL,
    unit_price_discount_pct DOUBLE PRECISION NOT NULL,
    discount_amount BIGINT NOT NULL,
    product_standard_cost BIGINT NOT NULL,
    total_product_cost BIGINT NOT NULL,
    sales_amount BIGINT NOT NULL,
    tax_amt BIGINT NOT NULL,
    freight BIGINT NOT NULL,
    carrier_tracking_number VARCHAR(25),
    customer_po_number VARCHAR(25)
);
